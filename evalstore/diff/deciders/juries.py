"""Juries as values: which say the same about every output, and which says more, or less.

An example: the jury {anna: 2, ben: 1, carl: 1} by majority becomes {anna: 3, ben: 2, carl: 2}, by
majority.

1. `read_jury` makes a `Jury` of each side: members with exact weights, the aggregate, and how many
   calls it takes.
2. `find_aggregation_key` says what a jury makes of its judges' scores, as a value. By majority that
   is who judges, and `_find_winning_groups`: the groups that hold more than half of the weight.
   Before, they are {anna, ben},
   {anna, carl} and all three; {ben, carl} holds 2 of 4, which is not more than half. After, {ben,
   carl} holds 4 of 7.
3. The keys differ, so `prove_jury_equivalent` proves nothing. To {anna: 5, ben: 3, carl: 2}, where
   ben and carl hold
   5 of 10, the keys would be equal: no output could tell the two juries apart, and the edit were a
   patch.
4. `find_jury_weights_direction` compares the groups: every group that won still wins, and one more
   does. So more outputs pass, and no fewer: the edit is looser.
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

# How the scores of one judge alone are joined, too.
SINGLE_JUDGE_AGGREGATE = "mean"
_TWO = 2
_ONE_MORE = {"min": STRICTER, "max": LOOSER}
# Every pair (lower, higher) of aggregates that holds for any scores and weights.
_ORDERED = frozenset(
    {("min", "mean"), ("min", "median"), ("mean", "max"), ("median", "max"), ("min", "max")}
)


class Jury(NamedTuple):
    """Who judges: (reference, weight) of each member, how scores are joined, how often asked."""

    members: tuple[tuple[str, Fraction], ...]
    aggregate: str
    calls: int

    @property
    def weight_by_judge(self) -> dict[str, Fraction]:
        """The weight of each judge; asked the same twice, it gives one reply."""
        weights: dict[str, Fraction] = {}
        for ref, weight in self.members:
            weights[ref] = weights.get(ref, Fraction(0)) + weight
        return weights

    @property
    def is_unscorable(self) -> bool:
        """Whether no reply can make a score: too many calls, or no weight."""
        from evalstore.checks.judges import CALL_LIMIT
        from evalstore.checks.votes import WEIGHTED_AGGREGATES

        return self.calls > CALL_LIMIT or (
            self.aggregate in WEIGHTED_AGGREGATES and not any(self.weight_by_judge.values())
        )


def read_jury(params: Mapping[str, Any]) -> Jury | None:
    """Return who judges an llm_judge check; None where it names a judge and a jury, or neither."""
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
    """Prove that both panels ask the same judges, and make the same score of what they say."""
    before, after = _read_juries(change)
    key = find_aggregation_key(before)
    if key is None or key != find_aggregation_key(after):
        return None
    # A question may have so many statements that the larger of two panels is asked too often.
    if before.calls != after.calls and find_question_key(change.checks[1].params["each"]):
        return None
    return Proof(_explain_equivalence(before, after))


def find_aggregation_key(jury: Jury) -> tuple[Any, ...] | None:
    """Return what a jury makes of its judges' scores, as a value; None if they make no score.

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
    # Too many judges for groups: equal shares are enough for equal scores, if not the only way to
    # them.
    return aggregate, normalize_weights(weights) if groups is None else (set(weights), groups)


def find_aggregate_direction(change: Change) -> Direction:
    """Return whether another way of joining can only raise, or only lower, what the jury says."""
    before, after = _read_juries(change)
    if before.is_unscorable or after.is_unscorable:
        return EITHER
    aggregates = before.aggregate, after.aggregate
    return bound_direction(below=aggregates in _ORDERED, above=aggregates[::-1] in _ORDERED)


def find_added_judge_direction(change: Change) -> Direction:
    """Return what one more judge does, or one less, whatever it says or fails to say."""
    juries, check, rubric = _read_juries(change), change.checks[1], change.states[1]
    # A statement that is not applicable to one more judge leaves the sum.
    if any(jury.is_unscorable for jury in juries) or _has_statements(check):
        return EITHER
    is_added = len(juries[1].members) > len(juries[0].members)
    direction = _ONE_MORE.get(juries[1].aggregate, EITHER)
    # The rubric's direction: of the score that is turned round with the check, and of an error,
    # which is not.
    total = join_directions(turn_direction(direction, check), direct_ungraded(check, rubric))
    return turn_direction(total if is_added else flip_direction(total), check)


def find_jury_weights_direction(change: Change) -> Direction:
    """Return what other weights do: to a majority by the winning groups, else either."""
    before, after = map(_find_majorities, _read_juries(change))
    if before is None or after is None:
        return EITHER
    return bound_direction(below=before <= after, above=after <= before)


def _find_majorities(jury: Jury) -> frozenset[frozenset[str]] | None:
    if jury.is_unscorable or jury.aggregate != "majority":
        return None
    return _find_winning_groups(*jury.weight_by_judge.items())


def bound_jury_shift(change: Change) -> Fraction | None:
    """Return the total variation between the judges' shares in the mean, before and after."""
    juries = _read_juries(change)
    if any(jury.aggregate != "mean" or jury.is_unscorable for jury in juries):
        return None
    # A judge that is asked on one side only may fail there, and then the jury has no score.
    if set(juries[0].weight_by_judge) != set(juries[1].weight_by_judge):
        return None
    return _bound_by_points(
        measure_weight_distance(juries[0].weight_by_judge, juries[1].weight_by_judge), change
    )


def bound_member_shift(change: Change) -> Fraction | None:
    """Return how far a judge's own change moves its jury.

    In a majority, a little can turn all. Where its replies change, one may be no score: then the
    check, or a statement of it, is left out.
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
    """Return how far a check moves where each statement's score moves as far as `shift`.

    In a mean no further. Points that are lost count against the positive ones alone, and few of
    these may be applicable.
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
    # Integers over one denominator: sums of fractions would take ten times as long.
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
