"""Shows one question of two runs in full: both outputs under both rubrics, check by check."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from evalstore.audits.edits.rubric_plan import ANSWERS
from evalstore.audits.inference import open_stored_pair
from evalstore.audits.questions.question_attribution import AttributedQuestion
from evalstore.audits.questions.question_cells import MixedGrades
from evalstore.audits.questions.question_sets import share_measures
from evalstore.audits.questions.question_shares import QuestionShares
from evalstore.audits.side_replay import grade_with_judges
from evalstore.audits.slices import read_tags
from evalstore.audits.stored_run import (
    Grader,
    RunArtifactLoader,
    StoredRun,
    read_judge_model,
    read_strictness,
)
from evalstore.audits.values import (
    EditSource,
    LineEffect,
    MovedQuestion,
    QuestionCell,
    join_names,
)
from evalstore.audits.version_path import VersionFinder, mix_questions
from evalstore.checks import combine_results
from evalstore.errors import RefusedError
from evalstore.model import CheckResult, Sample, Verdict
from evalstore.runs import GradedRow
from evalstore.runs.question_mean import compute_question_mean
from evalstore.scoring.judging import Judges, JudgeSession
from evalstore.store import ArtifactStore
from evalstore.text import suggest_known

_Rank = tuple[bool, Fraction, str]
_NOTHING = LineEffect()


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question of two runs: what was asked and answered, and its four cells.

    The cells are of outputs and rubrics, A's first.
    """

    id: str
    rows: tuple[GradedRow, GradedRow]
    models: tuple[str, str]
    cells: tuple[QuestionCell, ...]
    calls: int
    notes: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, str]:
        """What the outputs of both runs were asked.

        If their records do not say, it is taken from the dataset.
        """
        a, b = self.rows
        return a.asked or a.input, b.asked or b.input


def view_question(
    run_a: Path | str,
    run_b: Path | str,
    question: str,
    store: ArtifactStore,
    *,
    judges: Judges | None = None,
) -> QuestionView:
    """Return one question that both runs answered: each output under each run's rubric.

    The diagonal has what the runs recorded; the other two cells are graded now, judges answering
    from kept replies or as `judges` says. Raises `RefusedError` if a run has no such question.
    """

    def attempt(finder: VersionFinder, session: JudgeSession) -> QuestionView:
        a, b = open_stored_pair(run_a, run_b, finder, session)
        for stored in (a, b):
            _require_question(stored, question)
        rows = share_measures(a.rows[question], b.rows[question])
        names = {
            "A": replace(a, rows={question: rows[0]}),
            "B": replace(b, rows={question: rows[1]}),
        }
        view = partial(_view_cell, names, id_=question, finder=finder, session=session)
        cells = tuple(view(output, under) for output, under in product(names, repeat=2))
        models = a.run.model, b.run.model
        former = (old for old, new in a.paired.ids.items() if new == question)
        paired = (f"by equal input, {old} of A is {question} of B" for old in former)
        notes = tuple(dict.fromkeys([*paired, *finder.notes]))
        return QuestionView(question, rows, models, cells, len(session.missing), notes)

    return grade_with_judges(store, judges, attempt)


def _require_question(stored: StoredRun, id_: str) -> None:
    if id_ not in stored.rows or id_ not in stored.questions:
        raise RefusedError(
            f"{stored.run.path} has no answer to the question {id_}",
            hint=suggest_known(id_, stored.rows, "question"),
        )


def _view_cell(  # noqa: PLR0913, PLR0917  # one cell of a square, and what grades it
    runs: dict[str, StoredRun],
    output: str,
    under: str,
    id_: str,
    finder: VersionFinder,
    session: JudgeSession,
) -> QuestionCell:
    answer, rules = runs[output], runs[under]
    row, rubric = answer.rows[id_], rules.rubrics.get(rules.rows[id_].rubric)
    if output == under and row.checks:
        checks = tuple(number_samples([one.checks for one in row.outputs]))
        return QuestionCell(
            output, under, row.rubric, row.score, row.verdict, checks, recorded=True
        )
    if rubric is None:
        raise RefusedError(f"{rules.run.path} does not say what graded {id_}")
    load = RunArtifactLoader.from_runs(finder, rules.run)
    strict = all(read_strictness(stored.run, finder.store) for stored in runs.values())
    grader = Grader(load, session, read_judge_model(rules.run), strict=strict)
    question = mix_questions(rules.questions[id_], answer.questions[id_])
    missing, graded = 0, list[list[CheckResult]]()
    for one in row.outputs:
        graded.append([])
        for check in rubric.checks:
            result = grader.grade_check(check, Sample(one.output, question))
            missing += len(grader.lacking)
            for call in grader.lacking:
                session.missing.add_call(call)
            if result is not None:
                graded[-1].append(result)
    ref, checks = rules.rows[id_].rubric, tuple(number_samples(graded))
    if missing:
        return QuestionCell(
            output, under, ref, None, Verdict.UNSCORED, checks, recorded=False, missing=missing
        )
    found = [combine_results(rubric.rubric.scoring, results) for results in graded]
    mean = compute_question_mean((one.score, one.verdict) for one in found)
    return QuestionCell(output, under, ref, mean.score, mean.verdict, checks, recorded=False)


def number_samples(samples: Sequence[Sequence[CheckResult]]) -> Iterator[CheckResult]:
    """Yield the results of all samples; if there are several, with the number of the sample."""
    for number, results in enumerate(samples, 1):
        for check in results:
            yield check._replace(id=f"{check.id} (sample {number})") if len(samples) > 1 else check


def list_checks(
    cells: Sequence[QuestionCell],
) -> Iterator[tuple[str, tuple[CheckResult | None, ...]]]:
    """Yield each check of either rubric with its result in every cell."""
    ids = dict.fromkeys(check.id for cell in cells for check in cell.checks)
    for id_ in ids:
        yield (
            id_,
            tuple(
                next((check for check in cell.checks if check.id == id_), None) for cell in cells
            ),
        )


@dataclass(slots=True)
class MovedQuestions:
    """The `limit` questions that moved most, flips first; `count` is how many moved."""

    limit: int
    count: int = 0
    _ranked: list[tuple[_Rank, MovedQuestion]] = field(default_factory=list)

    def add_question(
        self,
        question: AttributedQuestion,
        rows: tuple[GradedRow, GradedRow],
        asked: Mapping[str, Any],
    ) -> None:
        """Add one question if any factor moved it.

        Its cells are made if it is kept. `asked` is its row in B.
        """
        found = question.result.shares
        if found is None or not any(any(block.share) for block in found.blocks.values()):
            return
        self.count += 1
        if not self.limit:
            return
        shares = _read_shares(found)
        rank = _rank_shares(question.id, shares)
        if len(self._ranked) >= self.limit and (not self._ranked or rank >= self._ranked[-1][0]):
            return
        question.result.prepare_cells(question.cells)
        cells = tuple(
            build_question_cells(
                question.cells, question.result.whole, (rows[0].rubric, rows[1].rubric)
            )
        )
        edits = tuple(_list_edits(found))
        tags = tuple(read_tags(asked))
        moved = MovedQuestion(
            question.id, rows, tags, shares, edits, cells, question.cells.is_estimated
        )
        insort(self._ranked, (rank, moved), key=lambda one: one[0])
        del self._ranked[self.limit :]

    def list_questions(self) -> tuple[MovedQuestion, ...]:
        """Return the questions that were kept."""
        return tuple(moved for _, moved in self._ranked)


def build_question_cells(
    cells: MixedGrades, whole: int, rubrics: tuple[str, str]
) -> Iterator[QuestionCell]:
    """Yield the four cells of outputs and rubrics, A's first; `whole` is the mask of run B."""
    for output, answers in enumerate("AB"):
        for under, rules in enumerate("AB"):
            mask = (whole & ANSWERS) * output | (whole & ~ANSWERS) * under
            mean, missing = cells.grade_mix(mask), int(cells.is_unasked(mask))
            samples = range(len(cells.list_contents(mask)))
            checks = tuple(
                number_samples([cells.grade_all(mask, sample).checks for sample in samples])
            )
            ref = rubrics[under]
            yield QuestionCell(
                answers,
                rules,
                ref,
                mean.score,
                mean.verdict,
                checks,
                recorded=False,
                missing=missing,
            )


def _read_shares(shares: QuestionShares) -> dict[str, LineEffect]:
    found = {join_names(names): LineEffect(*block.share) for names, block in shares.blocks.items()}
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
