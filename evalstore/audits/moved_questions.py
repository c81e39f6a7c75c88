"""Keeps the questions that an audit moved most, each with what moved it and its four cells; pure."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evalstore.audits.question_cells import QuestionCells
from evalstore.audits.question_grid import AttributedQuestion
from evalstore.audits.question_shares import QuestionShares
from evalstore.audits.question_view import number_samples
from evalstore.audits.rubric_plan import INPUT, OUTPUTS
from evalstore.audits.slices import read_tags
from evalstore.audits.values import EditSource, LineEffect, MovedQuestion, QuestionCell, name_players
from evalstore.model import Verdict
from evalstore.runs import GradedRow

_ANSWERS = 1 << INPUT | 1 << OUTPUTS
_NOTHING = LineEffect()
_Rank = tuple[bool, Fraction, str]


@dataclass(slots=True)
class MovedQuestions:
    """The `limit` questions that moved most, flips first; `count` is how many moved."""

    limit: int
    count: int = 0
    _ranked: list[tuple[_Rank, MovedQuestion]] = field(default_factory=list)

    def add_question(
        self, question: AttributedQuestion, rows: tuple[GradedRow, GradedRow], asked: Mapping[str, Any]
    ) -> None:
        """Add one question where some factor moved it; its cells are made if it is kept. `asked` is its row in B."""
        if question.shares is None or not any(any(block.share) for block in question.shares.blocks.values()):
            return
        self.count += 1
        if not self.limit:
            return
        shares = _read_shares(question.shares)
        rank = _rank_shares(question.id, shares)
        if len(self._ranked) >= self.limit and (not self._ranked or rank >= self._ranked[-1][0]):
            return
        cells = tuple(build_question_cells(question.cells, question.whole, (rows[0].rubric, rows[1].rubric)))
        edits = tuple(_list_edits(question.shares))
        tags = tuple(read_tags(asked))
        moved = MovedQuestion(question.id, rows, tags, shares, edits, cells, question.cells.is_estimated)
        insort(self._ranked, (rank, moved), key=lambda one: one[0])
        del self._ranked[self.limit :]

    def list_questions(self) -> tuple[MovedQuestion, ...]:
        """Return the questions that are kept."""
        return tuple(moved for _, moved in self._ranked)


def build_question_cells(cells: QuestionCells, whole: int, rubrics: tuple[str, str]) -> Iterator[QuestionCell]:
    """Yield the four cells of outputs and rulers, A's first; `whole` is the mask of run B."""
    for output, answers in enumerate("AB"):
        for ruler, rules in enumerate("AB"):
            mask = (whole & _ANSWERS) * output | (whole & ~_ANSWERS) * ruler
            found = cells.find_cell(mask)
            score, passes = (found.score, found.passes) if found else (None, None)
            verdict = Verdict.UNSCORED if passes is None else Verdict.PASS if passes == 1 else Verdict.FAIL
            missing = int(cells.is_unasked(mask))
            samples = range(len(cells.list_contents(mask)))
            checks = tuple(number_samples([cells.grade_all(mask, sample).checks for sample in samples]))
            yield QuestionCell(answers, rules, rubrics[ruler], score, verdict, checks, recorded=False, missing=missing)


def _read_shares(shares: QuestionShares) -> dict[str, LineEffect]:
    found = {name_players(players): LineEffect(*block.share) for players, block in shares.blocks.items()}
    return {name: effect for name, effect in found.items() if effect != _NOTHING}


def _list_edits(shares: QuestionShares) -> Iterator[tuple[EditSource, LineEffect]]:
    for block in shares.blocks.values():
        for source, score, passes in block.edits:
            effect = LineEffect(score.share, passes.share)
            if effect != _NOTHING:
                yield source, effect


def _rank_shares(id_: str, shares: dict[str, LineEffect]) -> _Rank:
    flipped = any(effect.passes for effect in shares.values())
    return not flipped, -max(abs(effect.score) for effect in shares.values()), id_
