"""Compares recorded tool calls with the demands on them: which, how many, in which order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evalstore.documents import write_canonical
from evalstore.model import Grade, ToolCall
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.text import SHORT_EXCERPT, make_excerpt

# This many tools are searched for among any number of calls; for more, the work has a limit: some
# 10 s.
TOOL_LIMIT = 100
_WORK_LIMIT = 10_000_000

Calls = Sequence[ToolCall]
# The places of a tool's calls, from 0, in order.
Places = Sequence[int]


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One entry: which calls it means, and how many of them there may be.

    `most` is None for no limit.
    """

    name: str
    args: Mapping[str, Any] | None = None
    exact: bool = False
    least: int = 1
    most: int | None = None

    def is_match(self, call: ToolCall) -> bool:
        """Whether the call has the entry's name and fits its arguments.

        Arguments that are not a mapping never fit.
        """
        if call.name != self.name:
            return False
        return self.args is None or _fits_args(self.args, call.args, exact=self.exact)

    def is_allowed_count(self, number: int) -> bool:
        """Whether the entry allows that many calls."""
        return self.least <= number and (self.most is None or number <= self.most)


@dataclass(frozen=True, slots=True)
class ToolDemands:
    """All demands on the calls of one output."""

    tools: Sequence[ToolEntry]
    forbidden: frozenset[str]
    mode: str
    partial: bool


def grade_calls(demands: ToolDemands, calls: Calls) -> Grade:
    """Grade the calls: 0 for an unwanted one, else all or nothing, or the share of tools met."""
    tools = demands.tools
    if len(tools) > TOOL_LIMIT and len(tools) * max(len(tools), len(calls)) > _WORK_LIMIT:
        return grade_error(
            f"{len(tools):,} tools and {len(calls):,} calls are more than can be compared"
        )
    places_by_tool = [
        [place for place, call in enumerate(calls) if tool.is_match(call)] for tool in tools
    ]
    if wrong := next(_find_unwanted(demands, calls, places_by_tool), None):
        return grade_binary(False, wrong)
    # A required entry is a demand that can be met in part; the others are limits, which
    # `_find_unwanted` has tested.
    required = [
        (tool, places) for tool, places in zip(tools, places_by_tool, strict=True) if tool.least
    ]
    met = [(tool, places) for tool, places in required if tool.is_allowed_count(len(places))]
    satisfied = len(met) if demands.mode == "any_order" else _count_in_order(met)
    if satisfied == len(required):
        return grade_binary(
            True, f"every demand on {len(calls)} call{'' if len(calls) == 1 else 's'} is met"
        )
    reason = next(_find_unmet(required), "the calls are not in the required order")
    if demands.partial:
        return Grade(
            Fraction(satisfied, len(required)),
            f"{satisfied} of {len(required)} required tools: {reason}",
        )
    return grade_binary(False, reason)


def _find_unwanted(
    demands: ToolDemands, calls: Calls, places_by_tool: Sequence[Places]
) -> Iterator[str]:
    """Yield what is wrong with calls that must not be there."""
    for call in calls:
        if call.name in demands.forbidden:
            yield f"{make_excerpt(call.name, SHORT_EXCERPT)} is called, which is forbidden"
    for tool, places in zip(demands.tools, places_by_tool, strict=True):
        if not tool.least and not tool.is_allowed_count(len(places)):
            yield _word_count(tool, len(places))
    if demands.mode == "exact" and (other := _find_extra_call(demands.tools, calls)) is not None:
        yield (
            f"call {other + 1}, {make_excerpt(calls[other].name, SHORT_EXCERPT)}, is one more than "
            "required"
        )


def _find_unmet(required: Sequence[tuple[ToolEntry, Places]]) -> Iterator[str]:
    for tool, places in required:
        if not tool.is_allowed_count(len(places)):
            yield _word_count(tool, len(places))


def _word_count(tool: ToolEntry, number: int) -> str:
    name = make_excerpt(tool.name, SHORT_EXCERPT) + (
        "" if tool.args is None else " with these args"
    )
    wanted = f"at least {tool.least}" if number < tool.least else f"at most {tool.most}"
    return f"{name} is called {number} time{'' if number == 1 else 's'}, {wanted} wanted"


def _count_in_order(required: Sequence[tuple[ToolEntry, Places]]) -> int:
    """Return how many of the tools, at most, can be found one after another."""
    # Like the longest increasing subsequence: a shorter chain that ends earlier leaves more calls
    # for the rest.
    ends = [0]  # ends[n]: after how many calls n tools have been found, at the earliest
    for tool, places in required:
        for number in reversed(range(len(ends))):
            last = bisect_left(places, ends[number]) + tool.least - 1
            if last >= len(places):
                continue
            if number + 1 == len(ends):
                ends.append(places[last] + 1)
            ends[number + 1] = min(ends[number + 1], places[last] + 1)
    return len(ends) - 1


def _find_extra_call(tools: Sequence[ToolEntry], calls: Calls) -> int | None:
    """Return the place of the first surplus call if each tool in turn takes all it can, else None.

    A tool can take as many calls as its `most` says, or else its `least`.
    """
    turn, taken = 0, 0
    for place, call in enumerate(calls):
        while turn < len(tools) and (
            taken == count_room(tools[turn]) or not tools[turn].is_match(call)
        ):
            turn, taken = turn + 1, 0
        if turn == len(tools):
            return place
        taken += 1
    return None


def count_room(tool: ToolEntry) -> int:
    """Return how many calls an entry may take at most; without a bound, how many it needs."""
    return tool.least if tool.most is None else tool.most


def _fits_args(wanted: Any, args: Any, *, exact: bool) -> bool:
    if not isinstance(wanted, Mapping):
        return write_canonical(wanted) == write_canonical(args)
    if not isinstance(args, Mapping) or (exact and len(args) != len(wanted)):
        return False
    return all(
        key in args and _fits_args(item, args[key], exact=exact) for key, item in wanted.items()
    )
