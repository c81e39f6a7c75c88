"""Calculates with directions (join, flip, lift to the rubric) and shares of a score."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine

NONE, STRICTER, LOOSER, EITHER = (
    Direction.NONE,
    Direction.STRICTER,
    Direction.LOOSER,
    Direction.EITHER,
)
# Combine modes: those that read verdicts instead of scores, those that take the lowest answer, and
# those that take the highest.
VERDICT_MODES = frozenset({Combine.ALL_PASS, Combine.ANY_PASS})
LOWEST = frozenset({Combine.ALL_PASS, Combine.MIN})
HIGHEST = frozenset({Combine.ANY_PASS, Combine.MAX})
_ZERO = Fraction(0)

# The direction of one more check; one check less has the opposite one.
ADDED_CHECK_DIRECTIONS = {
    Combine.ALL_PASS: STRICTER,
    Combine.ANY_PASS: LOOSER,
    Combine.MIN: STRICTER,
    Combine.MAX: LOOSER,
    Combine.MEDIAN: EITHER,
    Combine.WEIGHTED_AVG: EITHER,
}


def flip_direction(direction: Direction) -> Direction:
    """Return the opposite direction."""
    return {STRICTER: LOOSER, LOOSER: STRICTER}.get(direction, direction)


def turn_direction(direction: Direction, check: CheckState) -> Direction:
    """Return the direction of a check's score, given that of its parts, or the other way round.

    `negate` and statements with a negative weight turn it round. If the statements have both signs,
    or unknown ones, it is either.
    """
    signs = KINDS[check.kind].signs(check.params)
    if len(signs) != 1:
        return direction if direction is NONE else EITHER
    return flip_direction(direction) if check.negate is (1 in signs) else direction


def join_directions(*directions: Direction) -> Direction:
    """Return the direction of several changes made together."""
    moved = {*directions} - {NONE}
    if len(moved) > 1:
        return EITHER
    return moved.pop() if moved else NONE


def intersect_directions(one: Direction, other: Direction) -> Direction:
    """Return the direction of a change, given two directions that are both true for it."""
    if EITHER in {one, other}:
        return other if one is EITHER else one
    return one if one is other else NONE


def bound_direction(*, below: bool, above: bool) -> Direction:
    """Return the direction of a score proved never to fall (`below`) or rise (`above`)."""
    if below and above:
        return NONE
    if below:
        return LOOSER
    return STRICTER if above else EITHER


def lift_direction(
    check: CheckState, rubric: RubricState, score: Direction, verdict: Direction
) -> Direction:
    """Return the rubric's direction, given a check's: the score rises if the check's does."""
    read = verdict if rubric.combine in VERDICT_MODES else score
    return join_directions(read, verdict if rubric.needs_verdict(check) else NONE)


def direct_unscored(check: CheckState, rubric: RubricState, policy: str) -> Direction:
    """Return the rubric's direction if a check becomes unscored under this policy."""
    if policy != "skip":
        return STRICTER
    if not is_always_scored(rubric.drop_check(check.token)):
        return EITHER  # the output may lose its score, and so leave the mean
    # A required check without a score does not fail the rubric.
    return join_directions(
        flip_direction(ADDED_CHECK_DIRECTIONS[rubric.combine]),
        LOOSER if rubric.needs_verdict(check) else NONE,
    )


def direct_ungraded(check: CheckState, rubric: RubricState) -> Direction:
    """Return the rubric's direction if a check becomes unscored for any reason."""
    policies = (rubric.missing, rubric.errors)
    return join_directions(*(direct_unscored(check, rubric, policy) for policy in policies))


def is_counted(check: CheckState, rubric: RubricState) -> bool:
    """Whether a check's score counts in its rubric; in an average, weight 0 does not."""
    return rubric.combine is not Combine.WEIGHTED_AVG or check.weight > 0


def is_always_scored(rubric: RubricState) -> bool:
    """Whether every output has a score, because some check always counts."""
    return any(
        not rubric.may_leave_out(check) and is_counted(check, rubric) for check in rubric.checks
    )


def is_advisory(check: CheckState, rubric: RubricState) -> bool:
    """Whether the rubric reads neither the check's score nor its verdict."""
    fatal = check.may_err and rubric.errors == "fail"
    return not (is_counted(check, rubric) or check.is_required or fatal)


def bound_share(check: CheckState, rubric: RubricState) -> Fraction | None:
    """Return the most that a check can move the score: its weight over the least total weight.

    Like every bound on a shift, it is true whatever errs or is missing. None if there is no bound.
    """
    if (
        rubric.combine is not Combine.WEIGHTED_AVG
        or check.is_required
        or (check.may_err and rubric.errors == "fail")
    ):
        return None
    others = (other for other in rubric.checks if other.token != check.token)
    counted = (other.weight for other in others if not rubric.may_leave_out(other))
    total = check.weight + sum(counted, _ZERO)
    return check.weight / total if total else _ZERO


def find_scored_share(check: CheckState, rubric: RubricState) -> Fraction | None:
    """Return the most that a check moves the score if all are scored; None if verdicts count."""
    if check.is_required or rubric.combine in VERDICT_MODES:
        return None
    if rubric.combine is not Combine.WEIGHTED_AVG:
        return Fraction(1)
    total = sum((one.weight for one in rubric.checks), _ZERO)
    return check.weight / total if total else _ZERO


def bound_weight_variation(old: RubricState, new: RubricState) -> Fraction | None:
    """Return the largest total variation between the weights, whichever checks are left out."""
    optional = [check.token for check in old.checks if old.may_leave_out(check)]
    if len(old.checks) << len(optional) > PROOFS.optional_work:
        return None
    sizes = range(len(optional) + 1)
    left_out = (set(some) for size in sizes for some in combinations(optional, size))
    sides = ((_select_weights(old, out), _select_weights(new, out)) for out in left_out)
    return max(measure_weight_distance(*weights) for weights in sides)


def measure_weight_distance(old: Mapping[str, Fraction], new: Mapping[str, Fraction]) -> Fraction:
    """Return the total variation between two weightings by name, each scaled to a sum of 1."""
    before, after = normalize_weights(old), normalize_weights(new)
    names = {*before, *after}
    return sum((abs(before.get(name, _ZERO) - after.get(name, _ZERO)) for name in names), _ZERO) / 2


def normalize_weights(weights: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return weights by name, scaled to a sum of 1; unchanged if all are 0."""
    total = sum(weights.values(), _ZERO)
    return {name: weight / total if total else weight for name, weight in weights.items()}


def _select_weights(rubric: RubricState, left_out: set[str]) -> dict[str, Fraction]:
    return {check.token: check.weight for check in rubric.checks if check.token not in left_out}
