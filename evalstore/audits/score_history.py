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
from evalstore.store.listing import ReleaseSummary, read_history


@dataclass(frozen=True, slots=True)
class ReadRelease:
    """One release: what its tag says, and its artifact."""

    summary: ReleaseSummary
    resolved: Resolved


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
    """Runs by releases of one artifact, the oldest first; `calls` to judges would fill what is missing."""

    name: str
    releases: tuple[ReleaseSummary, ...]
    runs: tuple[ScoredRun, ...]
    calls: int
    notes: tuple[str, ...] = ()

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the releases."""
        return tuple(str(release.version) for release in self.releases)


def build_history(
    ref: str,
    runs: Sequence[Path | str],
    store: ArtifactStore,
    *,
    judges: Judges | None = None,
) -> ScoreHistory:
    """Grade the outputs of each run under every release that `ref` covers (no pin: all of them).

    Outputs that the artifact does not reach keep what was recorded. A release that cannot be read is left out with a
    note. Judges answer from kept replies, or as `judges` says.
    """
    releases, notes = resolve_releases(store, ref)

    def attempt(finder: VersionFinder, session: JudgeSession) -> list[ScoredRun]:
        graders = ((run, OutputGrader(open_stored_run(run, finder, session), finder, session)) for run in runs)
        found = [score_run(run, grader, releases) for run, grader in graders]
        notes.extend(note for note in finder.notes if note not in notes)
        return found

    scored, calls = grade_with_judges(store, judges or Judges(), attempt)
    summaries = tuple(one.summary for one in releases)
    return ScoreHistory(parse_ref(ref).name, summaries, tuple(scored), calls, tuple(notes))


def resolve_releases(store: ArtifactStore, ref: str, most: int | None = None) -> tuple[list[ReadRelease], list[str]]:
    """Return the releases that a reference covers, oldest first, and notes about those that are left out.

    Of more than `most` the newest are kept; what cannot be read is left out.
    """
    name, found, notes = parse_ref(ref).name, list[ReadRelease](), list[str]()
    newest = read_history(store, parse_ref(ref)).releases
    if most is not None and len(newest) > most:
        notes.append(f"{name}: the {most} newest releases of {len(newest):,}; evalstore history has all of them")
    for release in reversed(newest[:most]):
        try:
            found.append(ReadRelease(release, store.resolve(f"{name}@{release.version}")))
        except EvalstoreError as error:
            notes.append(f"{name}@{release.version} is left out, because it cannot be read: {error.message}")
    if not found:
        raise RefError(f"no release of {ref} can be read", hint="; ".join(notes))
    return found, notes


def score_run(run: Path | str, grader: OutputGrader, releases: Sequence[ReadRelease]) -> ScoredRun:
    """Grade the outputs of one run under each of some releases of one artifact."""
    stored, versions = grader.stored, [release.resolved for release in releases]
    cells = tuple(sum_results(grader.grade_under(version)) for version in versions)
    used = [stored.run.dataset, *stored.run.rubrics, *stored.run.judges]
    digests = {pinned.digest for pinned in used if pinned and parse_ref(pinned.ref).name == versions[0].name}
    recorded = [version.version for version in versions if version.digest in digests]
    exact = {pinned.version for pinned in used if pinned and parse_ref(pinned.ref).name == versions[0].name}
    # Two releases may have equal content; then the number decides.
    mark = next((version for version in recorded if version in exact), recorded[0] if recorded else None)
    return ScoredRun(str(run), stored.run.model, cells, mark, sum_results(grader.recorded))
