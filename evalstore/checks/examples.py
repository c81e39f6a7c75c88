"""Grades the examples of a rubric or judge by that rubric, or by one that asks that judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks.context import CheckContext
from evalstore.checks.evaluate import combine_results, prepare_rubric
from evalstore.checks.kinds.llm_judge import make_judge_check
from evalstore.documents import Document
from evalstore.errors import EvalstoreError
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    CheckResult,
    Kind,
    Rubric,
    RubricResult,
    Sample,
    Scoring,
    UnscoredReason,
    Verdict,
    format_score,
    read_rubric,
)
from evalstore.model.example import Example, read_examples


class GradedExample(NamedTuple):
    """An example and its result; None if it could not be graded here, with the reason in `why`."""

    example: Example
    result: RubricResult | None
    why: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether it was graded, and the result is not as expected."""
        return self.result is not None and not self.example.is_met(self.result)

    @property
    def got(self) -> str | None:
        """Its result in words: `fail (50)`; None if it could not be graded."""
        if self.result is None:
            return None
        score = self.result.score
        return str(self.result.verdict) + ("" if score is None else f" ({format_score(score)})")


def grade_examples(
    kind: Kind, value: Mapping[str, Any], context: CheckContext
) -> Iterator[GradedExample]:
    """Yield each example in a rubric's or judge's mapping with its result.

    What cannot be read as a rubric or judge has none. What could not be graded matters only if it
    decides: without a reply from a judge, a failed required check still fails.
    """
    examples = list(read_examples(value))
    if examples:
        yield from map(make_grader(kind, value, context), examples)


def make_grader(
    kind: Kind, value: Mapping[str, Any], context: CheckContext
) -> Callable[[Example], GradedExample]:
    """Return a function that grades examples by a rubric, or a judge."""
    try:
        rubric, context = make_rubric(kind, value, context)
        grade = prepare_rubric(rubric, context)
    except (EvalstoreError, *MALFORMED_ERRORS) as error:
        why = error.message if isinstance(error, EvalstoreError) else "it cannot be read"
        return lambda example: GradedExample(example, None, why)
    return lambda example: _grade(example, grade, rubric.scoring)


def make_rubric(
    kind: Kind, value: Mapping[str, Any], context: CheckContext
) -> tuple[Rubric, CheckContext]:
    """Return a rubric's mapping as a rubric, or one check that asks a judge.

    The question fills the judge's variables.
    """
    if kind is not Kind.JUDGE:
        return read_rubric(value), context
    judge = Artifact(
        kind,
        str(value.get("id", "")),
        str(value.get("version", "")),
        Document("", "", dict(value), {}, {}),
    )
    names = value.get("variables") or ()
    check = make_judge_check(judge.name, {name: {"from": name} for name in names})
    rubric = read_rubric({"checks": [check], "scoring": {"combine": "weighted_avg"}})
    return rubric, replace(context, load=lambda _: judge)


def _grade(
    example: Example, grade: Callable[[Sample], RubricResult], scoring: Scoring
) -> GradedExample:
    try:
        result = grade(example.sample)
    except EvalstoreError as error:
        return GradedExample(example, None, error.message)
    failed = next(
        (check for check in result.checks if check.unscored is UnscoredReason.ERROR), None
    )
    if failed is None:
        return GradedExample(example, result)
    settled = settle_errors(result, scoring)
    decided = (
        settled.verdict is not Verdict.UNSCORED if example.verdict else settled.score is not None
    )
    if decided:
        return GradedExample(example, settled)
    lead = f"{failed.id}: " if len(result.checks) > 1 else ""
    return GradedExample(example, None, f"{lead}{failed.reason}")


def settle_errors(result: RubricResult, scoring: Scoring) -> RubricResult:
    """Return the rubric's result if it is the same whatever the ungraded checks would say.

    It is unscored if they decide.
    """
    worst = combine_results(scoring, [*_settle_checks(result, Fraction(0), Verdict.FAIL)])
    best = combine_results(scoring, [*_settle_checks(result, Fraction(1), Verdict.PASS)])
    score = worst.score if worst.score == best.score else None
    verdict = worst.verdict if worst.verdict is best.verdict else Verdict.UNSCORED
    return replace(result, score=score, verdict=verdict)


def _settle_checks(
    result: RubricResult, score: Fraction, verdict: Verdict
) -> Iterator[CheckResult]:
    """Yield the checks, with a grade in place of each that could not be graded."""
    for check in result.checks:
        if check.unscored is UnscoredReason.ERROR:
            yield check._replace(score=score, verdict=verdict, unscored=None)
        else:
            yield check
