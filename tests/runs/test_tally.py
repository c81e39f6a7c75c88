from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from evalstore.model import CheckResult, Output, Verdict
from evalstore.runs import GradedRow, Run
from evalstore.runs.tally import RunTally
from evalstore.statistics import ExactMean

EMPTY = Run(Path(), Path(), "", "", "", "", None, (), "", None, None, 0, 0, {}, {})


def test_a_mean_is_exact() -> None:
    drawn = random.Random(7)  # noqa: S311  # numbers for a test
    scores = [Fraction(drawn.randrange(0, d + 1), d) for d in (drawn.randrange(1, 50) for _ in range(2000))]
    mean = ExactMean()
    for score in scores:
        mean.add(score)
    assert mean.compute_mean() == sum(scores, Fraction(0)) / len(scores)


def test_a_mean_of_nothing_is_none() -> None:
    assert ExactMean().compute_mean() is None


def test_a_mean_keeps_one_number_for_each_denominator() -> None:
    mean = ExactMean()
    for number in range(30_000):
        mean.add(Fraction(number % 7, 7))
    assert len(mean._sums) == 2  # sevenths, and the whole ones
    assert mean.compute_mean() == Fraction(sum(number % 7 for number in range(30_000)), 7 * 30_000)


def row(rubric: str, *checks: tuple[str, Fraction | None]) -> GradedRow:
    results = tuple(
        CheckResult(
            id_, "k", score, Verdict.UNSCORED if score is None else Verdict.PASS if score == 1 else Verdict.FAIL
        )
        for id_, score in checks
    )
    return GradedRow("", "", (), Output(""), results[0].score, results[0].verdict, rubric, "", results)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([row("rubric/x@1.0.0", ("a", Fraction(1))), row("rubric/x@2.0.0", ("a", Fraction(0)))], ["a"]),
        ([row("rubric/x@1.0.0", ("a", Fraction(1))), row("rubric/y@1.0.0", ("b", Fraction(0)))], ["a", "b"]),
        ([row("rubric/x@1.0.0", ("a", Fraction(1))), row("rubric/y@1.0.0", ("a", Fraction(0)))], ["x/a", "y/a"]),
    ],
)
def test_a_check_is_named_with_its_rubric_only_where_two_share_its_id(rows: list[GradedRow], names: list[str]) -> None:
    tally = RunTally()
    for number, row_ in enumerate(rows):
        tally.add(row_, number)
    assert list(tally.fill_sums(EMPTY).checks) == names


def test_unscored_counts_in_no_mean() -> None:
    tally = RunTally()
    for number, score in enumerate((Fraction(1), None, Fraction(1, 2))):
        tally.add(row("rubric/x@1.0.0", ("a", score)), number)
    run = tally.fill_sums(EMPTY)
    assert (run.score, run.pass_rate, run.scored, run.unscored) == (Fraction(3, 4), Fraction(1, 2), 2, 1)
    assert (run.checks["a"].mean, run.checks["a"].fail, run.checks["a"].unscored) == (Fraction(3, 4), 1, 1)
    assert run.harness == {"engines": "evalstore"}


def test_an_engine_is_named_once_whoever_else_answered_beside_it() -> None:
    tally = RunTally()
    for number, engine in enumerate(("b, c", "a", "a, b")):
        check = CheckResult("x", "llm_judge", Fraction(1), Verdict.PASS, engine=engine)
        tally.add(row("rubric/x@1.0.0", ("x", Fraction(1)))._replace(checks=(check,)), number)
    assert tally.fill_sums(EMPTY).harness == {"engines": "a, b, c"}


def test_sums_do_not_depend_on_how_often_the_same_results_come_again() -> None:
    drawn = random.Random(11)  # noqa: S311  # numbers for a test
    known = [row("rubric/x@1.0.0", ("a", Fraction(drawn.randrange(3), 2)), ("b", None)) for _ in range(1500)]
    drawn_rows = [drawn.choice(known) for _ in range(4000)]
    shared, fresh = RunTally(), RunTally()
    for number, row_ in enumerate(drawn_rows):
        shared.add(row_, number)
        fresh.add(row_._replace(checks=(*row_.checks,)), number)
    run = shared.fill_sums(EMPTY)
    assert run == fresh.fill_sums(EMPTY)
    assert run.checks["a"].mean == sum((row_.checks[0].score or 0 for row_ in drawn_rows), Fraction(0)) / 4000
    assert run.checks["b"].unscored == 4000
