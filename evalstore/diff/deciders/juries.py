"""Decides which juries give every output the same score, and which can only score higher or lower.

An example: the jury {anna: 2, ben: 1, carl: 1} becomes {anna: 3, ben: 2, carl: 2}. Both decide by
majority.

1. `read_jury` reads each side as a `Jury`: its members with exact weights, its aggregate, and how
   many calls it makes.
2. `find_aggregation_key` describes, as a value, how a jury's score follows from its judges' scores.
   For a majority, the value is who judges, and which groups have more than half of the weight
   (`_find_winning_groups`). Before, these groups are {anna, ben}, {anna, carl} and all three;
   {ben, carl} has 2 of 4, which is not more than half. After, {ben, carl} has 4 of 7, and wins too.
3. The keys differ, so `prove_jury_equivalent` proves nothing. Had the jury become {anna: 5, ben: 3,
   carl: 2}, where ben and carl have 5 of 10, the keys would be equal. The two juries would give
   every output the same score, and the edit would be a patch.
4. `find_jury_weights_direction` compares the groups: every group that won still wins, and one more
   does. So the same outputs pass and perhaps more: the edit is looser.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import lcm
from typing import Any, NamedTuple

from evalstore.diff.change import Change, Proof
from evalstore.diff.direction import (
    EITHER,
    LOOSER,
    STRICTER,
    bound_direction,
    direct_ungraded,
    flip_direction,
    join_directions,
    measure_weight_distance,
    normalize_weights,
    turn_direction,
)
from evalstore.diff.findings import Direction
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState
from evalstore.model import parse_fraction
from evalstore.model.question_params import find_question_key

# How the scores are combined if a check asks one judge and names no jury.
SINGLE_JUDGE_AGGREGATE = "mean"
_TWO = 2
_ONE_MORE = {"min": STRICTER, "max": LOOSER}
# Pairs of aggregates: whatever the scores and weights, the first is never higher than the second.
_ORDERED = frozenset(
    {("min", "mean"), ("min", "median"), ("mean", "max"), ("median", "max"), ("min", "max")}
)


class Jury(NamedTuple):
    """Who judges: (reference, weight) of each member, how scores are combined, and all calls."""

    members: tuple[tuple[str, Fraction], ...]
    aggregate: str
    calls: int

    @property
    def weight_by_judge(self) -> dict[str, Fraction]:
        """The total weight of each judge: one that is listed twice is asked once."""
        weights: dict[str, Fraction] = {}
        for ref, weight in self.members:
            weights[ref] = weights.get(ref, Fraction(0)) + weight
        return weights

    @property
    def is_unscorable(self) -> bool:
        """Whether there can never be a score: too many calls, or no weight."""
        from evalstore.checks.judges import CALL_LIMIT
        from evalstore.checks.votes import WEIGHTED_AGGREGATES

        return self.calls > CALL_LIMIT or (
            self.aggregate in WEIGHTED_AGGREGATES and not any(self.weight_by_judge.values())
        )


def read_jury(params: Mapping[str, Any]) -> Jury | None:
    """Return who judges an llm_judge check; None if it names a judge and a jury, or neither."""
    ref, jury = params["judge_prompt_ref"], params["jury"]
    if (ref is None) is (jury is None):
        return None
    each = params["each"]
    asked = params["samples"] * max(1, len(each) if isinstance(each, list) else 1)
    if jury is None:
        return Jury(((ref, Fraction(1)),), SINGLE_JUDGE_AGGREGATE, asked)
    members = tuple(
        (member["judge_prompt_ref"], parse_fraction(member["weight"])) for member in jury["members"]
    )
    return Jury(members, jury["aggregate"], len(members) * asked)


def prove_jury_equivalent(change: Change) -> Proof | None:
    """Prove that both juries ask the same judges and combine their scores the same way."""
    before, after = _read_juries(change)
    key = find_aggregation_key(before)
    if key is None or key != find_aggregation_key(after):
        return None
    # A question may have so many statements that the larger jury would need too many calls.
    if before.calls != after.calls and find_question_key(change.checks[1].params["each"]):
        return None
    return Proof(_explain_equivalence(before, after))


def find_aggregation_key(jury: Jury) -> tuple[Any, ...] | None:
    """Return a value that says how a jury combines its judges' scores; None if it cannot score.

    Two juries with equal keys give every output the same score.
    """
    weights, aggregate = jury.weight_by_judge, jury.aggregate
    if jury.is_unscorable:
        return None
    if len(weights) == 1 and aggregate != "majority":
        return "alone", *weights
    if aggregate in {"min", "max"}:
        return aggregate, frozenset(weights)
    if aggregate == "median" and len(jury.members) == _TWO:
        return "mean", {ref: Fraction(1, _TWO) for ref in weights}
    if aggregate == "median":
        return aggregate, sorted(ref for ref, _ in jury.members)
    groups = _find_winning_groups(*weights.items()) if aggregate == "majority" else None
    # With too many judges for groups, compare shares: equal shares give equal scores, though other
    # shares may do so too.
    return aggregate, normalize_weights(weights) if groups is None else (set(weights), groups)


def find_aggregate_direction(change: Change) -> Direction:
    """Return whether another aggregate can only raise, or only lower, the jury's score."""
    before, after = _read_juries(change)
    if before.is_unscorable or after.is_unscorable:
        return EITHER
    aggregates = before.aggregate, after.aggregate
    return bound_direction(below=aggregates in _ORDERED, above=aggregates[::-1] in _ORDERED)


def find_added_judge_direction(change: Change) -> Direction:
    """Return the direction of one more judge, or one less, whether or not it can be read."""
    juries, check, rubric = _read_juries(change), change.checks[1], change.states[1]
    # If one more judge says that a statement is not applicable, the statement leaves the sum.
    if any(jury.is_unscorable for jury in juries) or _has_statements(check):
        return EITHER
    is_added = len(juries[1].members) > len(juries[0].members)
    direction = _ONE_MORE.get(juries[1].aggregate, EITHER)
    # Both are directions of the rubric: `negate` turns that of the score round, but not that of an
    # error.
    total = join_directions(turn_direction(direction, check), direct_ungraded(check, rubric))
    return turn_direction(total if is_added else flip_direction(total), check)


def find_jury_weights_direction(change: Change) -> Direction:
    """Return the direction of other weights, by the groups that win a majority; else either."""
    before, after = map(_find_majorities, _read_juries(change))
    if before is None or after is None:
        return EITHER
    return bound_direction(below=before <= after, above=after <= before)


def _find_majorities(jury: Jury) -> frozenset[frozenset[str]] | None:
    if jury.is_unscorable or jury.aggregate != "majority":
        return None
    return _find_winning_groups(*jury.weight_by_judge.items())


def bound_jury_shift(change: Change) -> Fraction | None:
    """Return how far other weights can move a mean: the total variation of the judges' shares."""
    juries = _read_juries(change)
    if any(jury.aggregate != "mean" or jury.is_unscorable for jury in juries):
        return None
    # A judge that is asked on one side only may fail, and then only that side has no score.
    if set(juries[0].weight_by_judge) != set(juries[1].weight_by_judge):
        return None
    return _bound_by_points(
        measure_weight_distance(juries[0].weight_by_judge, juries[1].weight_by_judge), change
    )


def bound_member_shift(change: Change) -> Fraction | None:
    """Return how far a change of a judge itself can move the score of its jury; None if unknown.

    A small change can turn a whole majority. If the judge's replies change, one may become
    unreadable, and then the check, or one of its statements, is left out.
    """
    shift = change.imported_diff.total.max_shift if change.imported_diff else None
    check, rubric = change.checks[1], change.states[1]
    jury = read_jury(check.params) if check.grading.is_judgement else None
    if jury is None:
        return shift
    if jury.is_unscorable or jury.aggregate == "majority":
        return None
    policies = {rubric.errors, rubric.missing}
    is_lost_whole = len(rubric.checks) == 1 and policies == {"skip"} and not _has_statements(check)
    if shift is None and not is_lost_whole:
        return None
    shares = normalize_weights(jury.weight_by_judge)
    part = shares.get(change.new, Fraction(1)) if jury.aggregate == "mean" else Fraction(1)
    return _bound_by_points(part * (1 if shift is None else shift), change)


def _bound_by_points(shift: Fraction, change: Change) -> Fraction | None:
    """Return how far a check's score moves if each statement's score moves by up to `shift`.

    A mean moves no further than that. With negative points there is no bound: they count relative
    to the positive ones alone, and only few of these may be applicable.
    """
    params = change.checks[1].params
    if params["each"] is None or params["aggregate"] == "mean":
        return shift
    weights = (
        []
        if find_question_key(params["each"])
        else [parse_fraction(one["weight"]) for one in params["each"]]
    )
    return shift if weights and min(weights) >= 0 else None


def _has_statements(check: CheckState) -> bool:
    return bool(check.params["each"])


def _read_juries(change: Change) -> tuple[Jury, Jury]:
    before, after = (read_jury(check.params) for check in change.checks)
    if before is None or after is None:
        raise LookupError(f"{change.rule} is not a change of a jury")
    return before, after


@lru_cache(maxsize=64)
def _find_winning_groups(*weights: tuple[str, Fraction]) -> frozenset[frozenset[str]] | None:
    """Return the groups of judges with more than half of the weight; None for too many judges."""
    if len(weights) > PROOFS.grouped_judges:
        return None
    # Use integers with one common denominator: sums of fractions would take ten times as long.
    unit = lcm(*(weight.denominator for _, weight in weights))
    scaled = {ref: int(weight * unit) for ref, weight in weights}
    total = sum(scaled.values())
    groups = (group for size in range(len(weights) + 1) for group in combinations(scaled, size))
    return frozenset(
        frozenset(group) for group in groups if sum(map(scaled.__getitem__, group)) * 2 > total
    )


def _explain_equivalence(before: Jury, after: Jury) -> str:
    if len(before.weight_by_judge) == 1 and after.aggregate != "majority":
        return "there is one judge, and its score is the result"
    if after.aggregate in {"min", "max"}:
        return f"{after.aggregate} ignores weights and counts each judge once"
    if after.aggregate == "majority":
        return "the same judges together have more than half of the weight"
    if before.aggregate != after.aggregate:
        return "the median of two judges is their mean, and their weights are equal"
    return (
        "every judge keeps its share of the mean"
        if after.aggregate == "mean"
        else "the median ignores weights"
    )
