"""What the checks that an edit changes give to a rubric's score: the others need not be looked at where that stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from evalstore.diff.deciders.joint_answers import States, VariableNumbers
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import CheckResult, Combine, UnscoredReason

if TYPE_CHECKING:
    from evalstore.checks.evaluate import CountedCheck

_ZERO = Fraction(0)


def drop_unchanged(pair: States, numbers: VariableNumbers) -> States:
    """Return both sides without the checks that are on both and count alike, one for one."""
    sides = [[(_identify_part(check, numbers), check) for check in state.checks] for state in pair]
    common = Counter(part for part, _ in sides[0]) & Counter(part for part, _ in sides[1])
    kept: list[RubricState] = []
    for state, side in zip(pair, sides, strict=True):
        left, checks = Counter(common), []
        for part, check in side:
            if left[part]:
                left[part] -= 1
            else:
                checks.append(check)
        kept.append(replace(state, checks=tuple(checks)))
    return kept[0], kept[1]


def _identify_part(check: CheckState, numbers: VariableNumbers) -> tuple[object, ...]:
    return numbers[id(check)], check.negate, check.threshold, check.weight, check.is_gate


def measure_part(state: RubricState, results: Sequence[CheckResult]) -> tuple[object, ...]:
    """Return what some checks of a rubric give to its score: with it and the others' results the score is known."""
    from evalstore.checks.evaluate import select_counted

    scoring = state.to_scoring()
    counted = select_counted(scoring, results)
    fails = scoring.errors == "fail" and any(result.unscored is UnscoredReason.ERROR for result in results)
    closes = any(check.id in scoring.required and not check.passed for check in counted)
    return fails, closes, bool(counted), _PARTS[state.combine](counted)


def _sum_part(counted: Sequence[CountedCheck]) -> object:
    return sum((check.weight * check.score for check in counted), _ZERO), sum((one.weight for one in counted), _ZERO)


_PARTS: Mapping[Combine, Callable[[Sequence[CountedCheck]], object]] = {
    Combine.WEIGHTED_AVG: _sum_part,
    Combine.ALL_PASS: lambda counted: all(check.passed for check in counted),
    Combine.ANY_PASS: lambda counted: any(check.passed for check in counted),
    Combine.MIN: lambda counted: min((check.score for check in counted), default=None),
    Combine.MAX: lambda counted: max((check.score for check in counted), default=None),
    Combine.MEDIAN: lambda counted: sorted(check.score for check in counted),
}
