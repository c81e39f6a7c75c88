"""Combines the checks' results into the rubric's: a pure function over exact fractions, one row for each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import NamedTuple

from evalstore.model import CheckResult, Combine, RubricResult, Scoring, UnscoredReason, Verdict
from evalstore.patterns.limits import OUTPUT_LIMIT

# The reason of every check of such an output; no policy for errors makes a score of it.
OUTPUT_TOO_LONG = f"the output is longer than {OUTPUT_LIMIT:,} characters, which is not graded"
_ZERO, _ONE = Fraction(0), Fraction(1)


class CountedCheck(NamedTuple):
    """One check as the rubric counts it: an unscored one that counts has score 0 and failed."""

    id: str
    score: Fraction
    passed: bool
    weight: Fraction


def combine_results(scoring: Scoring, results: Sequence[CheckResult]) -> RubricResult:
    """Combine the checks' results; the verdict is pass when the score is at least the rubric's threshold.

    An output that is too long to be graded is unscored by every rubric, and else, in this order:

    1. `errors: fail` and a check that could not grade: the score is 0.
    2. An unscored check whose policy (`missing`, `errors`) is `zero` counts as score 0 and as failed, whatever its
       threshold; its own result stays unscored. Every other unscored check is left out.
    3. A check of `required` that counts and failed closes the gate: the score is 0. One left out closes nothing.
    4. No check counts: the rubric is unscored.
    5. The mode's row in `MODES`; a weighted average over a total weight of 0 is unscored.
    """
    score, reason = _compute_score(scoring, results)
    return RubricResult(score, _decide_verdict(score, scoring.threshold), tuple(results), reason)


def select_counted(scoring: Scoring, results: Sequence[CheckResult]) -> list[CountedCheck]:
    """Return the checks that the rubric counts, in order, after the policies for unscored checks."""
    return [
        CountedCheck(
            result.id,
            _ZERO if result.score is None else result.score,
            result.verdict is Verdict.PASS,
            scoring.weights.get(result.id, _ONE),
        )
        for result in results
        if result.score is not None or _counts_as_zero(scoring, result)
    ]


def _counts_as_zero(scoring: Scoring, result: CheckResult) -> bool:
    """Whether an unscored check counts as 0."""
    policy = scoring.missing if result.unscored is UnscoredReason.MISSING else scoring.errors
    return policy == "zero"


def _compute_score(scoring: Scoring, results: Sequence[CheckResult]) -> tuple[Fraction | None, str]:
    if any(result.reason == OUTPUT_TOO_LONG for result in results):
        return None, OUTPUT_TOO_LONG
    broken = [result.id for result in results if result.unscored is UnscoredReason.ERROR]
    if broken and scoring.errors == "fail":
        return _ZERO, f"could not be graded, and this rubric counts that as 0: {_join_ids(broken)}"
    checks = select_counted(scoring, results)
    # A required check that the policies leave out is not among `checks`: it closes no gate.
    closed = [check.id for check in checks if check.id in scoring.required and not check.passed]
    if closed:
        return _ZERO, f"required and failed: {_join_ids(closed)}"
    if not checks:
        return None, "no check was scored"
    score = MODES[scoring.combine](checks)
    return score, "" if score is not None else "the checks that were scored have no weight"


def _score_all_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if all(check.passed for check in checks) else _ZERO


def _score_any_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if any(check.passed for check in checks) else _ZERO


def _average_by_weight(checks: Sequence[CountedCheck]) -> Fraction | None:
    weights, _ = _scale_to_integers([check.weight for check in checks])
    scores, unit = _scale_to_integers([check.score for check in checks])
    total = sum(weights)
    return Fraction(sum(map(mul, weights, scores)), total * unit) if total else None


def _scale_to_integers(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numbers over one denominator, and it: sums of fractions would be reduced term by term."""
    pairs = [number.as_integer_ratio() for number in numbers]
    unit = lcm(*[below for _, below in pairs])
    return [above * (unit // below) for above, below in pairs], unit


def _find_lowest(checks: Sequence[CountedCheck]) -> Fraction:
    return min(check.score for check in checks)


def _find_highest(checks: Sequence[CountedCheck]) -> Fraction:
    return max(check.score for check in checks)


def _find_median(checks: Sequence[CountedCheck]) -> Fraction:
    scores = sorted(check.score for check in checks)
    middle = len(scores) // 2
    return scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2


# At least one check each; None only where nothing has weight.
MODES: Mapping[Combine, Callable[[Sequence[CountedCheck]], Fraction | None]] = {
    Combine.ALL_PASS: _score_all_pass,
    Combine.ANY_PASS: _score_any_pass,
    Combine.WEIGHTED_AVG: _average_by_weight,
    Combine.MIN: _find_lowest,
    Combine.MAX: _find_highest,
    Combine.MEDIAN: _find_median,
}


def _decide_verdict(score: Fraction | None, threshold: Fraction) -> Verdict:
    if score is None:
        return Verdict.UNSCORED
    return Verdict.PASS if score >= threshold else Verdict.FAIL


def _join_ids(ids: list[str]) -> str:
    return ", ".join(sorted(ids))
