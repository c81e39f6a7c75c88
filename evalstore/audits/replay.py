"""Replays one run under another rubric: which verdicts flip, and how far scores move."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalstore.audits.rulers import OutputGrader, RunTotals, grade_with_judges, list_pairs, sum_results
from evalstore.audits.run_opening import open_stored_run
from evalstore.audits.side_replay import RowResult
from evalstore.audits.version_path import VersionFinder
from evalstore.judging import Judges, JudgeSession
from evalstore.store import ArtifactStore, Resolved


@dataclass(frozen=True, slots=True)
class ReplayedOutput:
    """One output as the run recorded it, and as the other rubric grades it."""

    id: str
    old: RowResult
    new: RowResult


@dataclass(frozen=True, slots=True)
class RunReplay:
    """One run under another rubric.

    `old` are the totals as recorded, `new` those under the rubric, `outputs` all that have a result under both, in the
    order of the run. `missing` are ids that could not be graded. `reaches_all`: the rubric graded none of the outputs,
    so it took the place of every one's. `calls` to judges are needed for the rest.
    """

    run: str
    ruler: Resolved
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
        """The outputs with another score or verdict."""
        return tuple(output for output in self.outputs if output.old != output.new)


def replay(run: Path | str, rubric: str, store: ArtifactStore, *, judges: Judges | None = None) -> RunReplay:
    """Grade the outputs of a run under another rubric, in place of the rubric of its name.

    Judges answer from kept replies, or as `judges` says.
    Raises `RefusedError` for a run that cannot be graded here.
    """
    ruler = store.resolve(rubric)

    def attempt(finder: VersionFinder, session: JudgeSession) -> RunReplay:
        return _replay_once(run, ruler, finder, session)

    found, calls = grade_with_judges(store, judges or Judges(), attempt)
    return RunReplay(
        found.run, ruler, found.recorded_ref, found.old, found.new, found.outputs, found.missing, found.reaches_all,
        calls, found.notes,
    )  # fmt: skip


def _replay_once(run: Path | str, ruler: Resolved, finder: VersionFinder, session: JudgeSession) -> RunReplay:
    stored = open_stored_run(run, finder, session)
    rulers = OutputGrader(stored, finder, session)
    old, new = rulers.recorded, rulers.grade_under(ruler)
    pinned = {used.ref for used in (*stored.run.rubrics, *stored.run.judges) if used.ref.startswith(f"{ruler.name}@")}
    return RunReplay(
        run=str(run),
        ruler=ruler,
        recorded_ref=next(iter(sorted(pinned)), None),
        old=sum_results(old),
        new=sum_results(new),
        outputs=tuple(ReplayedOutput(*pair) for pair in list_pairs(old, new)),
        missing=tuple(id_ for id_, result in new.items() if result is None),
        reaches_all=not rulers.has_used(ruler),
        calls=0,
        notes=tuple(dict.fromkeys(finder.notes)),
    )
