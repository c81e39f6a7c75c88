"""Grades the outputs of a stored run under any version of one artifact: another ruler for the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from evalstore.audits.side_replay import ChangeSide, RowResult, SideReplay
from evalstore.audits.stored_run import StoredRun
from evalstore.audits.version_path import VersionFinder
from evalstore.judging import Judges, JudgeSession, open_session
from evalstore.model import CheckResult, Kind
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore, Resolved

_Answer = TypeVar("_Answer")


# What a run's outputs get under one ruler, by question; None where a judge's reply or an artifact is missing.
RunResults = Mapping[str, RowResult | None]


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The mean score and the mean share of passes over the scored questions; None without any, or where replies lack.

    `missing` counts the outputs that could not be graded, because a reply or an artifact is missing.
    """

    score: Fraction | None
    pass_rate: Fraction | None
    scored: int
    missing: int = 0


@dataclass(slots=True)
class OutputGrader:
    """The outputs of one stored run; what no judge answers and no other artifact changes is graded once."""

    stored: StoredRun
    finder: VersionFinder
    session: JudgeSession
    _known: dict[tuple[str, str, str], dict[str, CheckResult]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Rows are held, for they are graded under one ruler after the other.
        self.stored = replace(self.stored, rows=dict(self.stored.rows))

    @property
    def recorded(self) -> RunResults:
        """The results that the run recorded."""
        return {id_: RowResult(row.score, row.verdict, row.pass_share) for id_, row in self.stored.rows.items()}

    def grade_under(self, ruler: Resolved) -> RunResults:
        """Return the results of all outputs with `ruler` in place of the artifact of its name.

        Outputs that it does not reach keep what the run recorded. A rubric that graded none of them grades them all.
        """
        store = self.finder.store
        reaches_all = ruler.kind is Kind.RUBRIC and not self.has_used(ruler)
        stored = self._give_rubric(ruler) if reaches_all else self.stored
        side = ChangeSide(ruler.artifact, store.load, lambda: store.questions(ruler))
        replay = SideReplay.from_run(side, stored, self.finder, self.session)
        ids = self.session.judges.watch(stored.rows, len(stored.rows))
        return {id_: self._grade_row(replay, id_) for id_ in ids}

    def has_used(self, ruler: Resolved) -> bool:
        """Whether an artifact of this name graded an output of the run, itself or through another."""
        side = ChangeSide(ruler.artifact, self.finder.store.load)
        replay = SideReplay.from_run(side, self.stored, self.finder, self.session)
        return any(replay.can_affect(row) for row in self.stored.rows.values())

    def _give_rubric(self, ruler: Resolved) -> StoredRun:
        rows = {id_: replace(row, rubric=ruler.name) for id_, row in self.stored.rows.items()}
        return replace(self.stored, rows=rows)

    def _grade_row(self, replay: SideReplay, id_: str) -> RowResult | None:
        row, before, after = replay.stored.rows[id_], self.stored.questions.get(id_), replay.questions.get(id_)
        if not replay.can_affect(row):
            return RowResult(row.score, row.verdict, row.pass_share)
        # An output for another input does not answer this question.
        if before is None or after is None or before.input_digest != after.input_digest:
            return None
        known = self._known.setdefault((id_, after.input_digest, after.reference_digest), {})
        found = replay.grade_row(row, known)
        if found is None:
            for call in replay.grader.lacking:
                self.session.missing.add_call(call)
        return found


def sum_results(results: RunResults) -> RunTotals:
    """Return the totals of a run's results; no score where some are missing, because they would move it."""
    missing = sum(result is None for result in results.values())
    scored = [result for result in results.values() if result and result.score is not None]
    if missing or not scored:
        return RunTotals(None, None, len(scored), missing)
    scores, passes = ExactMean(), ExactMean()
    for result in scored:
        scores.add(result.score or Fraction(0))
        passes.add(result.pass_share)
    return RunTotals(scores.compute_mean(), passes.compute_mean(), len(scored))


def grade_with_judges(
    store: ArtifactStore, judges: Judges, attempt: Callable[[VersionFinder, JudgeSession], _Answer]
) -> tuple[_Answer, int]:
    """Return what `attempt` returns once every judge that can be asked was, and how many calls are still missing.

    It is called again after the calls that it lacked were priced and made; so it must start anew.
    """
    with open_session(judges, store.git.find_common_directory) as session:
        answer = attempt(VersionFinder(store), session)
        while session.can_ask:
            session.ask_missing()
            answer = attempt(VersionFinder(store), session)
        return answer, len(session.missing)


def list_pairs(old: RunResults, new: RunResults) -> Iterator[tuple[str, RowResult, RowResult]]:
    """Yield the outputs that have a result under both rulers."""
    for id_, before in old.items():
        after = new.get(id_)
        if before is not None and after is not None:
            yield id_, before, after
