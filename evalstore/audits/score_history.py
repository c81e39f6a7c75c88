"""Grades stored outputs under other rubrics.

That is one rubric (`replay_run`), or every release of an artifact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evalstore.audits.edits.edit_files import (
    NO_FILES,
    EditFiles,
    EditStep,
    read_edit_files,
)
from evalstore.audits.edits.version_comparison import compare_or_note
from evalstore.audits.inference import open_stored_run
from evalstore.audits.side_replay import (
    OutputGrader,
    RunTotals,
    grade_with_judges,
    list_pairs,
    sum_results,
)
from evalstore.audits.values import Audit
from evalstore.audits.version_path import VersionFinder
from evalstore.diff import DiffFinding
from evalstore.errors import EvalstoreError, RefError
from evalstore.model import parse_ref
from evalstore.model.outcome import NO_GRADINGS, Coverage
from evalstore.runs.question_mean import QuestionMean
from evalstore.runs.run_search import find_run_time
from evalstore.scoring.judging import Judges, JudgeSession
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.listing import ReleaseSummary, read_history


@dataclass(frozen=True, slots=True)
class ReplayedOutput:
    """One output as the run recorded it, and as the other rubric grades it."""

    id: str
    old: QuestionMean
    new: QuestionMean


@dataclass(frozen=True, slots=True)
class RunReplay:
    """One run under another rubric.

    `old` are the totals as recorded, `new` those under the rubric, and `outputs` all that have a
    result under both, in the order of the run. `missing` are ids that could not be graded.
    `reaches_all`: the rubric graded none of the outputs, so it replaced the rubric of each. `calls`
    to judges are needed for the rest.
    """

    run: str
    resolved: Resolved
    recorded_ref: str | None
    old: RunTotals
    new: RunTotals
    outputs: tuple[ReplayedOutput, ...]
    missing: tuple[str, ...]
    reaches_all: bool
    calls: int
    notes: tuple[str, ...] = ()

    @property
    def moved(self) -> tuple[ReplayedOutput, ...]:
        """The outputs whose score or verdict changed."""
        return tuple(output for output in self.outputs if output.old != output.new)


def replay_run(
    run: Path | str, rubric: str, store: ArtifactStore, *, judges: Judges | None = None
) -> RunReplay:
    """Grade the outputs of a run under another rubric, in place of the rubric of the same name.

    Judges answer from kept replies, or as `judges` says. Raises `RefusedError` for a run that
    cannot be graded here.
    """
    resolved = store.resolve(rubric)
    return grade_with_judges(store, judges, lambda *opened: _replay_once(run, resolved, *opened))


def _replay_once(
    run: Path | str, resolved: Resolved, finder: VersionFinder, session: JudgeSession
) -> RunReplay:
    stored = open_stored_run(run, finder, session)
    grader = OutputGrader(stored, finder, session)
    old, new = grader.recorded, grader.grade_under(resolved)
    used = (one.ref for one in (*stored.run.rubrics, *stored.run.judges))
    pinned = {ref for ref in used if ref.startswith(f"{resolved.name}@")}
    return RunReplay(
        run=str(run),
        resolved=resolved,
        recorded_ref=next(iter(sorted(pinned)), None),
        old=sum_results(old),
        new=sum_results(new),
        outputs=tuple(ReplayedOutput(*pair) for pair in list_pairs(old, new)),
        missing=tuple(id_ for id_, result in new.items() if result is None),
        reaches_all=not grader.has_used(resolved),
        calls=len(session.missing),
        notes=tuple(dict.fromkeys(finder.notes)),
    )


@dataclass(frozen=True, slots=True)
class ReadRelease:
    """One release: what its tag says, its artifact, and what changed since the one before."""

    summary: ReleaseSummary
    resolved: Resolved
    findings: tuple[DiffFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One run under every version: its totals in the order of the versions.

    `recorded` is the version that it recorded. `unreleased`: something that graded it had no
    release then; `recorded` is the version that has its content now. `ungraded` says what was not
    graded in a run that therefore has no score; its totals are those of the rest. `coverage` is
    that of the recorded mean, and `empty_checks` had nothing to grade on any output. `time` is when
    the run was made, None if it does not say.
    """

    run: str
    model: str
    cells: tuple[RunTotals, ...]
    recorded: str | None
    recorded_totals: RunTotals
    unreleased: bool
    ungraded: str = ""
    time: datetime | None = None
    coverage: Coverage = NO_GRADINGS
    empty_checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoreHistory:
    """Runs by releases of one artifact, oldest first.

    `calls` to judges would fill in what is missing. `findings` are what each release changed since
    the previous one here, `files` their lines.
    """

    name: str
    releases: tuple[ReleaseSummary, ...]
    findings: tuple[tuple[DiffFinding, ...], ...]
    runs: tuple[ScoredRun, ...]
    calls: int
    notes: tuple[str, ...] = ()
    files: EditFiles = NO_FILES

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

    Outputs that the artifact does not grade keep what was recorded. A release that cannot be read
    is left out with a note. Judges answer from kept replies, or as `judges` says.
    """
    releases, notes = resolve_releases(store, ref)
    files = read_edit_files(store, _list_steps(releases))

    def attempt(finder: VersionFinder, session: JudgeSession) -> ScoreHistory:
        def score_one(run: Path | str) -> ScoredRun:
            grader = OutputGrader(open_stored_run(run, finder, session), finder, session)
            return score_run(run, grader, releases)

        scored = tuple(map(score_one, runs))
        told = tuple(dict.fromkeys((*notes, *finder.notes)))
        found = _join_history(parse_ref(ref).name, releases, scored, len(session.missing), told)
        return replace(found, files=files)

    return grade_with_judges(store, judges, attempt)


def _join_history(
    name: str,
    releases: Sequence[ReadRelease],
    runs: tuple[ScoredRun, ...],
    calls: int = 0,
    notes: tuple[str, ...] = (),
) -> ScoreHistory:
    summaries = tuple(one.summary for one in releases)
    findings = tuple(one.findings for one in releases)
    return ScoreHistory(name, summaries, findings, runs, calls, notes)


def resolve_releases(
    store: ArtifactStore, ref: str, most: int | None = None
) -> tuple[list[ReadRelease], list[str]]:
    """Return the releases that a reference covers, oldest first.

    Notes say which are left out: beyond `most` all but the newest, and those that cannot be read.
    """
    name, found, notes = parse_ref(ref).name, list[ReadRelease](), list[str]()
    history = read_history(store, parse_ref(ref))
    newest = history.releases
    notes += filter(None, [history.describe_untagged()])
    if most is not None and len(newest) > most:
        notes.append(
            f"{name}: the {most} newest releases of {len(newest):,}; evalstore history has "
            "all of them"
        )
    for release in reversed(newest[:most]):
        try:
            found.append(ReadRelease(release, store.resolve(f"{name}@{release.version}")))
        except EvalstoreError as error:
            notes.append(
                f"{name}@{release.version} is left out, because it cannot be read: {error.message}"
            )
    if not found:
        raise RefError(f"no release of {ref} can be read", hint="; ".join(notes))
    finder = VersionFinder(store, notes)
    compare = partial(compare_or_note, finder)
    compared = [
        replace(new, findings=compare(old.resolved, new.resolved)) for old, new in pairwise(found)
    ]
    return [found[0], *compared], notes


def _list_steps(releases: Sequence[ReadRelease]) -> Iterator[EditStep]:
    """Yield every finding between two consecutive releases, with both."""
    for old, new in pairwise(releases):
        for finding in new.findings:
            yield EditStep(finding, old.resolved.ref, new.resolved.ref)


def score_run(run: Path | str, grader: OutputGrader, releases: Sequence[ReadRelease]) -> ScoredRun:
    """Grade the outputs of one run under each of some releases of one artifact."""
    stored, versions = grader.stored, [release.resolved for release in releases]
    cells = tuple(map(grader.sum_under, versions))
    used = filter(None, [stored.run.dataset, *stored.run.rubrics, *stored.run.judges])
    pins = [pinned for pinned in used if parse_ref(pinned.ref).name == versions[0].name]
    digests, exact = {pinned.digest for pinned in pins}, {pinned.version for pinned in pins}
    recorded = [version.version for version in versions if version.digest in digests]
    # Two releases may have equal content; then the number decides.
    mark = next(
        (version for version in recorded if version in exact), recorded[0] if recorded else None
    )
    run_, ungraded = stored.run, stored.run.ungraded if stored.run.is_withheld else ""
    return ScoredRun(
        str(run),
        run_.model,
        cells,
        mark,
        sum_results(grader.recorded),
        run_.unreleased,
        ungraded,
        find_run_time(run_),
        run_.coverage,
        run_.empty_checks,
    )


class _TimelineLimits(NamedTuple):
    """How much of the history an audit draws."""

    artifacts: int = 6
    releases: int = 16  # of one artifact
    fewest: int = 2  # releases that make a timeline worth drawing
    gradings: int = 60_000  # of one output under one release, for all timelines of an audit


_LIMITS = _TimelineLimits()


@dataclass(frozen=True, slots=True)
class Timelines:
    """The histories of what was edited, most moving first, and notes on what is left out."""

    histories: tuple[ScoreHistory, ...]
    notes: tuple[str, ...] = ()


def build_timelines(audit: Audit, runs: Sequence[Path], store: ArtifactStore) -> Timelines:
    """Grade both runs under each release of every artifact with an edit.

    Judges answer from kept replies only.
    """
    names, notes = [*_list_edited(audit)], list[str]()
    if len(names) > _LIMITS.artifacts:
        notes.append(
            f"{len(names) - _LIMITS.artifacts} more artifacts were edited, and have no "
            "timeline here"
        )
        del names[_LIMITS.artifacts :]
    if not names:
        return Timelines(())
    outputs = (audit.a.questions + audit.b.questions) * len(names)
    most = min(_LIMITS.releases, _LIMITS.gradings // max(1, outputs))
    if most < _LIMITS.fewest:
        return Timelines(
            (),
            (
                (
                    f"no timelines for so many outputs; evalstore history {names[0]} --run RUN "
                    "makes one"
                ),
            ),
        )

    def attempt(finder: VersionFinder, session: JudgeSession) -> list[ScoreHistory]:
        graders = [
            OutputGrader(open_stored_run(run, finder, session), finder, session) for run in runs
        ]
        found = []
        for name in names:
            try:
                releases, left_out = resolve_releases(store, name, most)
            except EvalstoreError as error:
                notes.append(f"{name} has no timeline: {error.message}")
                continue
            notes.extend(left_out)
            scored = tuple(
                score_run(run, grader, releases) for run, grader in zip(runs, graders, strict=True)
            )
            found.append(_join_history(name, releases, scored))
        return found

    return Timelines(tuple(grade_with_judges(store, None, attempt)), tuple(notes))


def _list_edited(audit: Audit) -> Iterator[str]:
    """Yield the artifacts that edits belong to, those whose edits moved most first."""
    causes = sorted(
        (cause for factor in audit.factors for cause in factor.causes),
        key=lambda cause: (-abs(cause.share), -abs(cause.passes)),
    )
    # Edits that cannot be separated may belong to several.
    refs = ((cause.source.origin.ref or "").split(" + ") for cause in causes)
    yield from dict.fromkeys(name for names in refs for name in names if "/" in name)
