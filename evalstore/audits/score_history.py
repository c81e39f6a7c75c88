"""Grades runs under every release of an artifact: a matrix of the same outputs under each ruler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalstore.audits.rulers import OutputGrader, RunTotals, grade_with_judges, sum_results
from evalstore.audits.run_opening import open_stored_run
from evalstore.audits.version_path import VersionFinder
from evalstore.errors import EvalstoreError, RefError
from evalstore.judging import Judges, JudgeSession
from evalstore.model import parse_ref
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.listing import read_history


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One run under every version: its totals in the order of the versions, and the version that it recorded."""

    run: str
    model: str
    cells: tuple[RunTotals, ...]
    recorded: str | None
    recorded_totals: RunTotals


@dataclass(frozen=True, slots=True)
class ScoreHistory:
    """Runs by versions of one artifact, oldest version first; `calls` to judges would fill what is missing."""

    name: str
    versions: tuple[str, ...]
    runs: tuple[ScoredRun, ...]
    calls: int
    notes: tuple[str, ...] = ()


def build_history(
    ref: str, runs: Sequence[Path | str], store: ArtifactStore, *, judges: Judges | None = None
) -> ScoreHistory:
    """Grade the outputs of each run under every release that `ref` covers (no pin: all of them).

    Outputs that the artifact does not reach keep what was recorded. A release that cannot be read is left out with a
    note. Judges answer from kept replies, or as `judges` says.
    """
    versions, notes = resolve_releases(store, ref)

    def attempt(finder: VersionFinder, session: JudgeSession) -> list[ScoredRun]:
        found = [_score_run(run, versions, finder, session) for run in runs]
        notes.extend(note for note in finder.notes if note not in notes)
        return found

    scored, calls = grade_with_judges(store, judges or Judges(), attempt)
    name = parse_ref(ref).name
    return ScoreHistory(name, tuple(one.version for one in versions), tuple(scored), calls, tuple(notes))


def resolve_releases(store: ArtifactStore, ref: str) -> tuple[list[Resolved], list[str]]:
    """Return the releases that a reference covers, oldest first, and notes about those that cannot be read."""
    name, versions, notes = parse_ref(ref).name, [], []
    for release in reversed(read_history(store, parse_ref(ref)).releases):
        try:
            versions.append(store.resolve(f"{name}@{release.version}"))
        except EvalstoreError as error:
            notes.append(f"{name}@{release.version} is left out, because it cannot be read: {error.message}")
    if not versions:
        raise RefError(f"no release of {ref} can be read", hint="; ".join(notes))
    return versions, notes


def _score_run(
    run: Path | str, versions: Sequence[Resolved], finder: VersionFinder, session: JudgeSession
) -> ScoredRun:
    stored = open_stored_run(run, finder, session)
    rulers = OutputGrader(stored, finder, session)
    cells = tuple(sum_results(rulers.grade_under(version)) for version in versions)
    used = [stored.run.dataset, *stored.run.rubrics, *stored.run.judges]
    digests = {pinned.digest for pinned in used if pinned and parse_ref(pinned.ref).name == versions[0].name}
    recorded = [version.version for version in versions if version.digest in digests]
    exact = {pinned.version for pinned in used if pinned and parse_ref(pinned.ref).name == versions[0].name}
    # Two releases may have equal content; then the number decides.
    mark = next((version for version in recorded if version in exact), recorded[0] if recorded else None)
    return ScoredRun(str(run), stored.run.model, cells, mark, sum_results(rulers.recorded))
