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
from evalstore.diff.change import Change, Proof
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
from evalstore.model import fraction

# How the scores of one judge alone are joined, too.
ALONE = "mean"
_TWO = 2
_COALITIONS = 10  # judges; more are compared by their shares
_ONE_MORE = {"min": STRICTER, "max": LOOSER}
# Every pair (lower, higher) that holds for any scores and weights.
_ORDERED = frozenset({("min", "mean"), ("min", "median"), ("mean", "max"), ("median", "max"), ("min", "max")})


class Panel(NamedTuple):
    """Who judges: (reference, weight) of each member, how their scores are joined, and how often all are asked."""

    members: tuple[tuple[str, Fraction], ...]
    aggregate: str
    calls: int

    @property
    def said(self) -> dict[str, Fraction]:
        """The weight of each judge; asked the same twice, it gives one reply."""
        weights: dict[str, Fraction] = {}
        for ref, weight in self.members:
            weights[ref] = weights.get(ref, Fraction(0)) + weight
        return weights

    @property
    def silent(self) -> bool:
        """Whether no reply can make a score: too many calls, or a way of joining that finds no weight."""
        return self.calls > CALL_LIMIT or (self.aggregate in WEIGHTED_AGGREGATES and not any(self.said.values()))


def panel_of(params: Mapping[str, Any]) -> Panel | None:
    """Return who judges an llm_judge check; None where it names a judge and a jury, or neither."""
    ref, jury = params["judge_prompt_ref"], params["jury"]
    if (ref is None) is (jury is None):
        return None
    if jury is None:
        return Panel(((ref, Fraction(1)),), ALONE, params["samples"])
    members = tuple((member["judge_prompt_ref"], fraction(member["weight"])) for member in jury["members"])
    return Panel(members, jury["aggregate"], len(members) * params["samples"])


def same_voice(change: Change) -> Proof | None:
    """Prove that both panels ask the same judges, and make the same score of what they say."""
    before, after = _panels(change)
    mine = voice(before)
    if mine is None or mine != voice(after):
        return None
    return Proof(_why(before, after))


def voice(panel: Panel) -> tuple[Any, ...] | None:
    """Return what a panel makes of its judges' scores, as a value; None for one that no reply makes speak."""
    said, way = panel.said, panel.aggregate
    if panel.silent:
        return None
    if len(said) == 1 and way != "majority":
        return "alone", *said
    if way in {"min", "max"}:
        return way, frozenset(said)
    if way == "median" and len(panel.members) == _TWO:
        return "mean", {ref: Fraction(1, _TWO) for ref in said}
    if way == "median":
        return way, sorted(ref for ref, _ in panel.members)
    wins = _coalitions(*said.items()) if way == "majority" else None
    return way, normalise_weights(said) if wins is None else (set(said), wins)


def order_of_ways(change: Change) -> Direction:
    """Return whether another way of joining can only raise, or only lower, what the panel says."""
    before, after = _panels(change)
    if before.silent or after.silent:
        return EITHER
    ways = before.aggregate, after.aggregate
    return bound_direction(below=ways in _ORDERED, above=ways[::-1] in _ORDERED)


def one_more_judge(change: Change) -> Direction:
    """Return what one more judge does, or one less: it says something, and it can fail to."""
    panels, check, rubric = _panels(change), change.checks[1], change.states[1]
    if any(panel.silent for panel in panels):
        return EITHER
    more = len(panels[1].members) > len(panels[0].members)
    said = _ONE_MORE.get(panels[1].aggregate, EITHER)
    total = join_directions(
        flip_direction(said) if check.negate else said, direct_unscored(check, rubric, rubric.errors)
    )
    return total if more is not check.negate else flip_direction(total)


def other_weights(change: Change) -> Direction:
    """Return what other weights do: to a majority, by the groups of judges that win; else either."""
    panels = _panels(change)
    wins = [
        None if panel.silent or panel.aggregate != "majority" else _coalitions(*panel.said.items()) for panel in panels
    ]
    if wins[0] is None or wins[1] is None:
        return EITHER
    return bound_direction(below=wins[0] <= wins[1], above=wins[1] <= wins[0])


def panel_shift(change: Change) -> Fraction | None:
    """Return the total variation between the shares that the judges have in the mean, before and after."""
    panels = _panels(change)
    if any(panel.aggregate != "mean" or panel.silent for panel in panels):
        return None
    return measure_weight_distance(panels[0].said, panels[1].said)


def member_shift(change: Change) -> Fraction | None:
    """Return how far a judge's own change moves what its panel says; by a majority, a little can turn all."""
    shift = bound_imported_shift(change.imported_diff) if change.imported_diff else None
    panel = panel_of(change.checks[1].params) if change.checks[1].kind == "llm_judge" else None
    if panel is None or panel.silent or panel.aggregate == "majority":
        return None if panel else shift
    part = normalise_weights(panel.said).get(change.new, Fraction(1)) if panel.aggregate == "mean" else Fraction(1)
    return part * (1 if shift is None else shift)


def _panels(change: Change) -> tuple[Panel, Panel]:
    before, after = (panel_of(check.params) for check in change.checks)
    if before is None or after is None:
        raise LookupError(f"{change.rule} is no change of a panel")
    return before, after


@lru_cache(maxsize=64)
def _coalitions(*said: tuple[str, Fraction]) -> frozenset[frozenset[str]] | None:
    """Return the groups of judges that have more than half of the weight; None for too many judges."""
    if len(said) > _COALITIONS:
        return None
    unit = lcm(*(weight.denominator for _, weight in said))
    whole = {ref: int(weight * unit) for ref, weight in said}  # sums of fractions would take ten times as long
    total = sum(whole.values())
    groups = (some for size in range(len(said) + 1) for some in combinations(whole, size))
    return frozenset(frozenset(some) for some in groups if sum(map(whole.__getitem__, some)) * 2 > total)


def _why(before: Panel, after: Panel) -> str:
    if len(before.said) == 1 and after.aggregate != "majority":
        return "one judge is asked, and its score stands alone"
    if after.aggregate in {"min", "max"}:
        return f"{after.aggregate} reads no weights and counts a judge once"
    if after.aggregate == "majority":
        return "the same judges together have more than half of the weight"
    if before.aggregate != after.aggregate:
        return "the median of two judges is their mean, and their weights are equal"
    return "every judge keeps its share of the mean" if after.aggregate == "mean" else "the median reads no weights"
