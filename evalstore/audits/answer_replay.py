"""Grades again where nothing but the answers can differ: each of them once, under the one ruler of both runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.grader import Grader
from evalstore.audits.question_shares import BlockShare, Channels, Players, QuestionShares
from evalstore.audits.question_versions import QuestionVersion
from evalstore.audits.rubric_plan import PlannedRubric
from evalstore.audits.shapley import Estimate
from evalstore.audits.values import EditSource, PlayerName
from evalstore.errors import SchemaError
from evalstore.model import CheckResult, Sample, UnscoredReason
from evalstore.runs import GradedRow

_Results = Sequence[CheckResult]
_Grade = Callable[[Sample], CheckResult]
_ZERO = Fraction(0)
_KEPT_SHARES = 1024


@dataclass(frozen=True, slots=True)
class AnswerReplay:
    """Replays answers to questions that both runs graded alike, by a rubric without edits, judges or composites.

    Nothing is mixed, so a replay that gives what was recorded is all that an audit needs of a question.
    """

    rubric: PlannedRubric
    graders: Sequence[_Grade]
    source: EditSource
    # By both outcomes: questions that have the same share one value, so that it need not be summed up each time.
    _shares: dict[tuple[object, ...], QuestionShares] = field(default_factory=dict)

    @classmethod
    def prepare(cls, rubric: PlannedRubric, grader: Grader, source: EditSource) -> AnswerReplay | None:
        """Prepare each check once; None where one cannot be."""
        variants = [check.build_variant(0) for check in rubric.checks]
        try:
            graders = [grader.prepare(one.check, one.content) for one in variants if one]
        except SchemaError:
            return None
        return cls(rubric, graders, source)

    def share_question(self, question: QuestionVersion, rows: tuple[GradedRow, GradedRow]) -> QuestionShares | None:
        """Return the shares of a question whose answers alone may differ; None where a replay differs from a record."""
        old, new = rows
        graded = self._reproduce(question, old)
        is_same = old.has_output_of(new)
        if graded is None or self._reproduce(question, new, graded if is_same else None) is None:
            return None
        if old.score is None or new.score is None:
            return None
        key = is_same, *_read_outcome(old), *_read_outcome(new)
        if key not in self._shares:
            if len(self._shares) >= _KEPT_SHARES:
                self._shares.clear()
            self._shares[key] = self._build_shares((old.score, old.pass_share), (new.score, new.pass_share), is_same)
        return self._shares[key]

    def _build_shares(self, old: Channels, new: Channels, is_same: bool) -> QuestionShares:  # noqa: FBT001  # a fact
        if is_same:
            return QuestionShares(old, new, {}, _ZERO, _ZERO)
        share = new[0] - old[0], new[1] - old[1]
        edits = ((self.source, Estimate(share[0]), Estimate(share[1])),)
        blocks: dict[Players, BlockShare] = {(PlayerName.OUTPUTS,): BlockShare(share, share[0], share[0], edits)}
        return QuestionShares(old, new, blocks, share[0], share[0])

    def _reproduce(
        self, question: QuestionVersion, row: GradedRow, graded: Sequence[_Results] | None = None
    ) -> Sequence[_Results] | None:
        """Grade the samples of a row, unless they are `graded`; None where they are not what was recorded."""
        try:
            graded = graded or [self._grade(question, sample) for sample in row.outputs]
        except SchemaError:
            return None
        pairs = zip(row.outputs, graded, strict=True)
        return graded if all(self._is_recorded(question, sample, results) for sample, results in pairs) else None

    def _grade(self, question: QuestionVersion, row: GradedRow) -> _Results:
        sample = Sample(row.output, question.question)
        return [grade(sample) for grade in self.graders]

    def _is_recorded(self, question: QuestionVersion, row: GradedRow, results: _Results) -> bool:
        # An empty digest is one that the run did not record.
        if row.reference_digest not in ("", question.reference_digest):
            return False
        if row.input_digest not in ("", question.input_digest):
            return False
        # Runs of other tools record no checks; what could not be graded may rest on an engine that is not here.
        if any(result.unscored is UnscoredReason.ERROR for result in results):
            return False
        if row.checks and (len(row.checks) != len(results) or not all(map(_is_alike, row.checks, results))):
            return False
        score, verdict = self.rubric.combine_cell(0, results)
        return verdict is row.verdict and _has_score(row.score, score)


def _is_alike(recorded: CheckResult, result: CheckResult) -> bool:
    return (
        recorded.id == result.id
        and recorded.unscored is result.unscored
        and recorded.verdict is result.verdict
        and _has_score(recorded.score, result.score)
    )


def _has_score(recorded: Fraction | None, score: Fraction | None) -> bool:
    if recorded is None or score is None:
        return recorded is score
    # A third of the time of comparing fractions, which are in lowest terms.
    return recorded.as_integer_ratio() == score.as_integer_ratio()


def _read_outcome(row: GradedRow) -> tuple[object, ...]:
    return None if row.score is None else row.score.as_integer_ratio(), row.pass_share.as_integer_ratio()
