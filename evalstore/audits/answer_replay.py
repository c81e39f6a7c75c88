"""Grades again where the answers and a few edits of one rubric are all that may differ, and finds shares known already.

The shares of such a question depend on nothing but what each check says of its answers, in every variant that the edits
make of it. Questions in which that is the same have the same shares, which are worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.grader import Grader
from evalstore.audits.idle_edits import MOST_VARIED_EDITS
from evalstore.audits.question_shares import QuestionShares
from evalstore.audits.rubric_plan import RubricPlan
from evalstore.audits.shapley import join_masks
from evalstore.errors import SchemaError
from evalstore.model import CheckResult, Question, Sample, has_failed_check
from evalstore.runs import GradedRow

_Grade = Callable[[Sample], CheckResult]
_KEPT_SHARES = 1024


@dataclass(frozen=True, slots=True)
class _Side:
    """One run's end of a plan: its cell, and its checks in the order of its rubric: their ids, and where each stands.

    `places` are those of the checks among all variants.
    """

    mask: int
    ids: tuple[str, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerReplay:
    """Replays answers to questions that both runs asked alike, by a rubric without judges or composites.

    `graders` are the variants of its checks, each prepared once and with the name of its check in the plan, and `sides`
    those that run A and run B used.
    """

    plan: RubricPlan
    graders: Sequence[tuple[str, _Grade]]
    sides: tuple[_Side, _Side]
    # By what differs, and the outcomes of all variants on the samples of both runs.
    _shares: dict[tuple[object, ...], QuestionShares] = field(default_factory=dict)

    @classmethod
    def prepare(cls, plan: RubricPlan, grader: Grader) -> AnswerReplay | None:
        """Prepare each variant once; None where one cannot be, or where they are too many."""
        if not plan.is_plain or any(len(check.edits) > MOST_VARIED_EDITS for check in plan.rubric.checks):
            return None
        whole = sum(tree.edits for tree in plan.trees.values())
        found: list[tuple[str, _Grade]] = []
        places: tuple[dict[str, int], dict[str, int]] = {}, {}
        for check in plan.rubric.checks:
            bits = [1 << bit for bit, _ in check.edits]
            for mask in (join_masks(bits, held) for held in range(1 << len(bits))):
                if (variant := check.build_variant(mask)) is None:
                    continue
                for number, end in enumerate((0, whole)):
                    if mask == end & check.relevant:
                        places[number][check.name] = len(found)
                try:
                    found.append((check.name, grader.prepare(variant.check, variant.content)))
                except SchemaError:
                    return None
        names = plan.rubric.owner.names[0], plan.rubric.owner.names[-1]
        sides = [
            _Side(mask, tuple(ids), tuple(side[name] for name in ids.values()))
            for mask, side, ids in zip((0, whole), places, names, strict=True)
        ]
        return cls(plan, found, (sides[0], sides[1]))

    def share_question(
        self,
        question: Question,
        rows: tuple[GradedRow, GradedRow],
        attribute: Callable[[], QuestionShares | None],
    ) -> QuestionShares | None:
        """Return the shares of a question, by `attribute` where none before was like it.

        None where a replay differs from a record, or an answer has no score.
        """
        old, new = rows
        if old.score is None or new.score is None:
            return None
        is_same = old.has_output_of(new)
        try:
            graded = [self._grade(question, row) for row in old.outputs]
            others = graded if is_same else [self._grade(question, row) for row in new.outputs]
        except SchemaError:
            return None
        if not self._reproduces(0, question, old, graded) or not self._reproduces(1, question, new, others):
            return None
        if not self.plan.trees:
            # All variants are one rubric, which has given what was recorded.
            key: tuple[object, ...] = (is_same, *_read_outcome(old), *_read_outcome(new))
        else:
            key = is_same, *_list_outcomes(graded), *(() if is_same else ("B", *_list_outcomes(others)))
        if key not in self._shares:
            if (shares := attribute()) is None:
                return None
            if len(self._shares) >= _KEPT_SHARES:
                self._shares.clear()
            self._shares[key] = shares
        return self._shares[key]

    def _grade(self, question: Question, row: GradedRow) -> list[CheckResult]:
        sample = Sample(row.output, question)
        # Checks of equal content are prepared once, whatever their names.
        return [
            result if (result := grade(sample)).id == name else result._replace(id=name) for name, grade in self.graders
        ]

    def _reproduces(
        self, number: int, question: Question, row: GradedRow, graded: Sequence[Sequence[CheckResult]]
    ) -> bool:
        """Whether the samples of a row have the results that its run recorded."""
        side = self.sides[number]
        pairs = zip(row.outputs, graded, strict=True)
        return all(
            self._is_recorded(side, question, sample, [results[place] for place in side.places])
            for sample, results in pairs
        )

    def _is_recorded(self, side: _Side, question: Question, row: GradedRow, results: Sequence[CheckResult]) -> bool:
        # An empty digest is one that the run did not record.
        if row.reference_digest not in ("", question.reference_digest):
            return False
        if row.input_digest not in ("", question.input_digest):
            return False
        # Runs of other tools record no checks.
        has_checks = len(row.checks) == len(results) and all(map(_is_alike, row.checks, side.ids, results))
        if row.checks and not has_checks:
            return False
        # What could not be graded may rest on an engine that is not here.
        if has_failed_check(results):
            return False
        score, verdict = self.plan.rubric.combine_cell(side.mask, results)
        return verdict is row.verdict and _has_score(row.score, score)


def _is_alike(recorded: CheckResult, id_: str, result: CheckResult) -> bool:
    return (
        recorded.id == id_
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


def _list_outcomes(graded: Sequence[Sequence[CheckResult]]) -> Iterator[object]:
    """Yield what a score depends on, sample by sample, as plain values, which hash faster than fractions."""
    for results in graded:
        for result in results:
            yield result.unscored if result.score is None else result.score.as_integer_ratio()
            yield result.verdict
