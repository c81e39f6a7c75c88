"""Remembers shares of questions by question and answer.

So equal ones are shared out once. Most questions of a run differ in few answers: which checks pass,
which edited phrases are there. What is asked next depends on the answers so far and on nothing
else, so all questions of a plan walk one tree, and a question that comes to its end has the shares
of the one that came there first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.audits.edits.rubric_plan import CheckPath
from evalstore.audits.question_cells import AlikeItems, AskedCheck, MixedGrades
from evalstore.audits.question_shares import QuestionShares

_KEPT_SHARES = 1 << 10  # scores of many values give as many patterns, which need not all be held


class _SharedEnd(NamedTuple):
    """What came of a question: its shares.

    It also has which of its items acted alike, and which edits were idle.
    """

    shares: QuestionShares | None
    alike: dict[CheckPath, list[AlikeItems]]
    idle: int


@dataclass(slots=True)
class _AnswerStep:
    """What is asked next, and where each answer leads; at the end nothing is asked."""

    asked: AskedCheck | None = None
    following: dict[Hashable, _AnswerStep] = field(default_factory=dict)
    end: _SharedEnd | None = None


@dataclass(slots=True)
class SharePatterns:
    """The shares of the questions so far, by their answers."""

    _first: dict[Hashable, _AnswerStep] = field(default_factory=dict)
    _count: int = 0

    def share_question(
        self,
        start: Hashable,
        cells: MixedGrades,
        share: Callable[[], QuestionShares | None],
    ) -> QuestionShares | None:
        """Return the shares of a question.

        They are those of one with equal answers, else what `share` computes. `start` is what
        questions have in common that are asked the same first.
        """
        key = start, cells.shape
        if (end := self._find_end(key, cells)) is None:
            end = _SharedEnd(share(), cells.alike, cells.idle)
            self._add(key, cells, end)
        # What acts alike says which of several equal cells is graded, and so what is shown.
        cells.alike, cells.idle = end.alike, end.idle
        return end.shares

    def _find_end(self, key: Hashable, cells: MixedGrades) -> _SharedEnd | None:
        step = self._first.get(key)
        for _, answer in cells.trail.values():
            step = step and step.following.get(answer)
        while step and step.asked:
            step = step.following.get(cells.grade_asked(step.asked))
        return step.end if step else None

    def _add(self, key: Hashable, cells: MixedGrades, end: _SharedEnd) -> None:
        if self._count >= _KEPT_SHARES:
            self._first.clear()
            self._count = 0
        self._count += 1
        step = self._first.setdefault(key, _AnswerStep())
        for asked, answer in cells.trail.values():
            step.asked = asked
            step = step.following.setdefault(answer, _AnswerStep())
        step.end = end
