"""Juries as values: which panels say the same of every output, and which of two says more or less."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import lcm
from typing import Any, NamedTuple

from evalstore.checks.judges import CALL_LIMIT
from evalstore.checks.jury import WEIGHTED_AGGREGATES
from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import (
    EITHER,
    LOOSER,
    STRICTER,
    bound_direction,
    direct_unscored,
    flip_direction,
    join_directions,
    measure_weight_distance,
    normalise_weights,
)
from evalstore.diff.findings import Direction
from evalstore.diff.references import bound_imported_shift
from evalstore.model import parse_fraction

# How the scores of one judge alone are joined, too.
SINGLE_JUDGE_AGGREGATE = "mean"
_TWO = 2
_COALITIONS = 10  # judges; more are compared by their shares
_ONE_MORE = {"min": STRICTER, "max": LOOSER}
# Every pair (lower, higher) that holds for any scores and weights.
_ORDERED = frozenset({("min", "mean"), ("min", "median"), ("mean", "max"), ("median", "max"), ("min", "max")})


class Jury(NamedTuple):
    """Who judges: (reference, weight) of each member, how their scores are joined, and how often all are asked."""

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
        """Whether no reply can make a score: too many calls, or a way of joining that finds no weight."""
        return self.calls > CALL_LIMIT or (
            self.aggregate in WEIGHTED_AGGREGATES and not any(self.weight_by_judge.values())
        )


def read_jury(params: Mapping[str, Any]) -> Jury | None:
    """Return who judges an llm_judge check; None where it names a judge and a jury, or neither."""
    ref, jury = params["judge_prompt_ref"], params["jury"]
    if (ref is None) is (jury is None):
        return None
    if jury is None:
        return Jury(((ref, Fraction(1)),), SINGLE_JUDGE_AGGREGATE, params["samples"])
    members = tuple((member["judge_prompt_ref"], parse_fraction(member["weight"])) for member in jury["members"])
    return Jury(members, jury["aggregate"], len(members) * params["samples"])


@name_decider("same_voice")
def prove_jury_equivalent(change: Change) -> Proof | None:
    """Prove that both panels ask the same judges, and make the same score of what they say."""
    before, after = _read_juries(change)
    mine = find_aggregation_key(before)
    if mine is None or mine != find_aggregation_key(after):
        return None
    return Proof(_explain_equivalence(before, after))


def find_aggregation_key(jury_value: Jury) -> tuple[Any, ...] | None:
    """Return what a panel makes of its judges' scores, as a value; None for one that no reply makes speak."""
    weight_by_judge, way = jury_value.weight_by_judge, jury_value.aggregate
    if jury_value.is_unscorable:
        return None
    if len(weight_by_judge) == 1 and way != "majority":
        return "alone", *weight_by_judge
    if way in {"min", "max"}:
        return way, frozenset(weight_by_judge)
    if way == "median" and len(jury_value.members) == _TWO:
        return "mean", {ref: Fraction(1, _TWO) for ref in weight_by_judge}
    if way == "median":
        return way, sorted(ref for ref, _ in jury_value.members)
    wins = _find_winning_groups(*weight_by_judge.items()) if way == "majority" else None
    return way, normalise_weights(weight_by_judge) if wins is None else (set(weight_by_judge), wins)


def direct_aggregate(change: Change) -> Direction:
    """Return whether another way of joining can only raise, or only lower, what the panel says."""
    before, after = _read_juries(change)
    if before.is_unscorable or after.is_unscorable:
        return EITHER
    ways = before.aggregate, after.aggregate
    return bound_direction(below=ways in _ORDERED, above=ways[::-1] in _ORDERED)


def direct_added_judge(change: Change) -> Direction:
    """Return what one more judge does, or one less: it says something, and it can fail to."""
    juries, check, rubric = _read_juries(change), change.checks[1], change.states[1]
    if any(jury_value.is_unscorable for jury_value in juries):
        return EITHER
    more = len(juries[1].members) > len(juries[0].members)
    weight_by_judge = _ONE_MORE.get(juries[1].aggregate, EITHER)
    total = join_directions(
        flip_direction(weight_by_judge) if check.negate else weight_by_judge,
        direct_unscored(check, rubric, rubric.errors),
    )
    return total if more is not check.negate else flip_direction(total)


def direct_jury_weights(change: Change) -> Direction:
    """Return what other weights do: to a majority, by the groups of judges that win; else either."""
    juries = _read_juries(change)
    wins = [
        None
        if jury_value.is_unscorable or jury_value.aggregate != "majority"
        else _find_winning_groups(*jury_value.weight_by_judge.items())
        for jury_value in juries
    ]
    if wins[0] is None or wins[1] is None:
        return EITHER
    return bound_direction(below=wins[0] <= wins[1], above=wins[1] <= wins[0])


def bound_jury_shift(change: Change) -> Fraction | None:
    """Return the total variation between the shares that the judges have in the mean, before and after."""
    juries = _read_juries(change)
    if any(jury_value.aggregate != "mean" or jury_value.is_unscorable for jury_value in juries):
        return None
    return measure_weight_distance(juries[0].weight_by_judge, juries[1].weight_by_judge)


def bound_member_shift(change: Change) -> Fraction | None:
    """Return how far a judge's own change moves what its panel says; by a majority, a little can turn all."""
    shift = bound_imported_shift(change.imported_diff) if change.imported_diff else None
    jury_value = read_jury(change.checks[1].params) if change.checks[1].kind == "llm_judge" else None
    if jury_value is None or jury_value.is_unscorable or jury_value.aggregate == "majority":
        return None if jury_value else shift
    part = (
        normalise_weights(jury_value.weight_by_judge).get(change.new, Fraction(1))
        if jury_value.aggregate == "mean"
        else Fraction(1)
    )
    return part * (1 if shift is None else shift)


def _read_juries(change: Change) -> tuple[Jury, Jury]:
    before, after = (read_jury(check.params) for check in change.checks)
    if before is None or after is None:
        raise LookupError(f"{change.rule} is no change of a panel")
    return before, after


@lru_cache(maxsize=64)
def _find_winning_groups(*weight_by_judge: tuple[str, Fraction]) -> frozenset[frozenset[str]] | None:
    """Return the groups of judges that have more than half of the weight; None for too many judges."""
    if len(weight_by_judge) > _COALITIONS:
        return None
    unit = lcm(*(weight.denominator for _, weight in weight_by_judge))
    whole = {
        ref: int(weight * unit) for ref, weight in weight_by_judge
    }  # sums of fractions would take ten times as long
    total = sum(whole.values())
    groups = (some for size in range(len(weight_by_judge) + 1) for some in combinations(whole, size))
    return frozenset(frozenset(some) for some in groups if sum(map(whole.__getitem__, some)) * 2 > total)


def _explain_equivalence(before: Jury, after: Jury) -> str:
    if len(before.weight_by_judge) == 1 and after.aggregate != "majority":
        return "one judge is asked, and its score stands alone"
    if after.aggregate in {"min", "max"}:
        return f"{after.aggregate} reads no weights and counts a judge once"
    if after.aggregate == "majority":
        return "the same judges together have more than half of the weight"
    if before.aggregate != after.aggregate:
        return "the median of two judges is their mean, and their weights are equal"
    return "every judge keeps its share of the mean" if after.aggregate == "mean" else "the median reads no weights"
