"""Remembers results of questions by their answers, so that equal ones are attributed once.

Most questions of a run differ in few answers: which checks pass, which edited phrases are there.
What is asked next depends on the answers so far and on nothing else, so all questions of a plan
walk one tree, and a question that reaches a leaf has the same result as the first one there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from evalstore.audits.edits.rubric_plan import CheckPath
from evalstore.audits.questions.question_cells import AlikeItems, AskedCheck, MixedGrades
from evalstore.audits.questions.question_sets import Gap
from evalstore.audits.questions.question_shares import QuestionShares
from evalstore.audits.values import EditSource, FactorName, LineEffect
from evalstore.model import RubricResult

_KEPT_CHANGES = 1 << 10  # many-valued scores give many patterns, which need not all be kept


@dataclass(frozen=True, slots=True, eq=False)
class AttributedChange:
    """The result of a question: its shares, and what differs in it.

    `shares` is None if replay leaves an end of it unscored. `ends` are the results of all samples
    under the rubrics of their own run, by run. `is_judged` says whether judges are involved in its
    score, and `silent` are findings about its rubric that can move nothing. `whole` is the cell of
    run B. `gaps` are the checks that had nothing to grade in only one run: the shares are those of
    the others, and `left_out` is what the change of the question loses without them. If no other
    check is left (`is_emptied`), nothing about the question is compared. `alike` and `empty_checks`
    are what its cells found: which items act alike, and by sample which checks are left out.
    """

    shares: QuestionShares | None
    ends: Sequence[Sequence[RubricResult]]
    changed: frozenset[FactorName]
    is_judged: bool
    silent: tuple[EditSource, ...]
    whole: int
    gaps: tuple[Gap, ...]
    left_out: LineEffect
    is_emptied: bool
    alike: dict[CheckPath, list[AlikeItems]]
    empty_checks: tuple[frozenset[str], ...]

    def prepare_cells(self, cells: MixedGrades) -> None:
        """Make the cells of a question show what those of an earlier one with equal answers do."""
        cells.left_out = self.empty_checks
        # What both runs are shown with is graded before it is known what acts alike.
        for mask in (0, self.whole):
            cells.grade_mix(mask)
        cells.alike = self.alike


@dataclass(slots=True)
class _AnswerStep:
    """What is asked next, and where each answer leads; at the end nothing is asked."""

    asked: AskedCheck | None = None
    following: dict[Hashable, _AnswerStep] = field(default_factory=dict)
    end: AttributedChange | None = None


@dataclass(slots=True)
class SharePatterns:
    """The results of the questions so far, by their answers."""

    _first: dict[Hashable, _AnswerStep] = field(default_factory=dict)
    _count: int = 0

    def find_change(
        self, start: Hashable, cells: MixedGrades, attribute: Callable[[], AttributedChange]
    ) -> AttributedChange:
        """Return the result of a question with equal answers, else what `attribute` computes.

        `start` is what questions have in common that are asked the same first. Nothing has been
        asked of `cells` yet.
        """
        key = start, cells.shape
        if (end := self._grade_to_end(key, cells)) is None:
            end = attribute()
            self._add(key, cells, end)
        return end

    def _grade_to_end(self, key: Hashable, cells: MixedGrades) -> AttributedChange | None:
        step = self._first.get(key)
        while step and step.asked:
            step = step.following.get(cells.grade_asked(step.asked))
        return step.end if step else None

    def _add(self, key: Hashable, cells: MixedGrades, end: AttributedChange) -> None:
        if self._count >= _KEPT_CHANGES:
            self._first.clear()
            self._count = 0
        self._count += 1
        step = self._first.setdefault(key, _AnswerStep())
        for asked in cells.trail:
            step.asked = asked
            step = step.following.setdefault(cells.grade_asked(asked), _AnswerStep())
        step.end = end
