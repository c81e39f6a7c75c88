"""How the checks' answers become the rubric's: a pure function over exact fractions, one row for each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import NamedTuple

from evalstore.model import CheckResult, Combine, RubricResult, Scoring, Unscored, Verdict

_ZERO, _ONE = Fraction(0), Fraction(1)


class CountedCheck(NamedTuple):
    """One check as the rubric counts it."""

    id: str
    score: Fraction
    passed: bool
    weight: Fraction


def combine(scoring: Scoring, results: Sequence[CheckResult]) -> RubricResult:
    """Combine the checks' results; the verdict is pass when the score is at least the rubric's threshold.

    In this order:

    1. `errors: fail` and a check that could not grade: the score is 0.
    2. An unscored check whose policy (`missing`, `errors`) is `zero` counts as score 0 and as failed, whatever its
       threshold; its own result stays unscored. Every other unscored check is left out.
    3. A check of `required` that counts and failed closes the gate: the score is 0. One left out closes nothing.
    4. No check counts: the rubric is unscored.
    5. The mode's row in `MODES`; a weighted average over a total weight of 0 is unscored.
    """
    score, reason = _score(scoring, results)
    return RubricResult(score, _verdict(score, scoring.threshold), tuple(results), reason)


def counted(scoring: Scoring, results: Sequence[CheckResult]) -> list[CountedCheck]:
    """Return the checks that the rubric counts, in order, after the policies for unscored checks."""
    return [
        CountedCheck(
            result.id,
            _ZERO if result.score is None else result.score,
            result.verdict is Verdict.PASS,
            scoring.weights.get(result.id, _ONE),
        )
        for result in results
        if result.score is not None or _counts(scoring, result)
    ]


def _counts(scoring: Scoring, result: CheckResult) -> bool:
    """Whether an unscored check counts as 0."""
    policy = scoring.missing if result.unscored is Unscored.MISSING else scoring.errors
    return policy == "zero"


def _score(scoring: Scoring, results: Sequence[CheckResult]) -> tuple[Fraction | None, str]:
    if scoring.errors == "fail" and (broken := [one.id for one in results if one.unscored is Unscored.ERROR]):
        return _ZERO, f"could not be graded, and this rubric counts that as 0: {_listed(broken)}"
    checks = counted(scoring, results)
    if scoring.required and (closed := [one.id for one in checks if one.id in scoring.required and not one.passed]):
        return _ZERO, f"required and failed: {_listed(closed)}"
    if not checks:
        return None, "no check was scored"
    score = MODES[scoring.combine](checks)
    return score, "" if score is not None else "the checks that were scored have no weight"


def _all_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if all(check.passed for check in checks) else _ZERO


def _any_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if any(check.passed for check in checks) else _ZERO


def _weighted_avg(checks: Sequence[CountedCheck]) -> Fraction | None:
    weights, _ = _whole([check.weight for check in checks])
    scores, unit = _whole([check.score for check in checks])
    total = sum(weights)
    return Fraction(sum(map(mul, weights, scores)), total * unit) if total else None


def _whole(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numbers over one denominator, and it: sums of fractions would be reduced term by term."""
    pairs = [number.as_integer_ratio() for number in numbers]
    unit = lcm(*[below for _, below in pairs])
    return [above * (unit // below) for above, below in pairs], unit


def _min(checks: Sequence[CountedCheck]) -> Fraction:
    return min(check.score for check in checks)


def _max(checks: Sequence[CountedCheck]) -> Fraction:
    return max(check.score for check in checks)


def _median(checks: Sequence[CountedCheck]) -> Fraction:
    scores = sorted(check.score for check in checks)
    middle = len(scores) // 2
    return scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2


# At least one check each; None only where nothing has weight.
MODES: Mapping[Combine, Callable[[Sequence[CountedCheck]], Fraction | None]] = {
    Combine.ALL_PASS: _all_pass,
    Combine.ANY_PASS: _any_pass,
    Combine.WEIGHTED_AVG: _weighted_avg,
    Combine.MIN: _min,
    Combine.MAX: _max,
    Combine.MEDIAN: _median,
}


def _verdict(score: Fraction | None, threshold: Fraction) -> Verdict:
    if score is None:
        return Verdict.UNSCORED
    return Verdict.PASS if score >= threshold else Verdict.FAIL


def _listed(ids: list[str]) -> str:
    return ", ".join(sorted(ids))
