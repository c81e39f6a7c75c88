"""What the diff catalogue (47 to 49, 17, 29) says of tool_usage, held against every small check and record of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product

import pytest

from evalstore.checks.tools import TOOL_LIMIT, ToolDemands, ToolEntry, grade_calls
from evalstore.model import ToolCall, UnscoredReason

Tools = tuple[ToolEntry, ...]
Pair = tuple[ToolDemands, ToolDemands]

MODES = ("any_order", "in_order", "exact")
_CALLS = (ToolCall("a", {}), ToolCall("a", {"n": 1}), ToolCall("a", {"n": 1, "m": 2}), ToolCall("b", {}))
RECORDS = [record for length in range(4) for record in product(_CALLS, repeat=length)]
LIMITS = ((1, None), (2, None), (0, None), (0, 1), (1, 1), (1, 2), (0, 0))
ARGS = ((None, False), ({"n": 1}, False), ({"n": 1}, True))
ENTRIES = [ToolEntry("a", args, exact, *limits) for (args, exact), limits in product(ARGS, LIMITS)] + [
    ToolEntry("b", None, False, *limits) for limits in LIMITS
]
PLAIN = [
    ToolEntry("a"),
    ToolEntry("a", {"n": 1}),
    ToolEntry("b"),
    ToolEntry("b", None, False, 0, 1),
    ToolEntry("a", None, False, 1, 2),
]
_KNOWN: dict[str, tuple[Fraction | None, ...]] = {}
LISTS: list[Tools] = [(), *product(ENTRIES), *product(ENTRIES, PLAIN), *product(PLAIN, PLAIN[:3], PLAIN[:4])]


def scores(demands: ToolDemands) -> tuple[Fraction | None, ...]:
    key = repr(demands)  # a mapping of arguments has no hash
    if key not in _KNOWN:
        _KNOWN[key] = tuple(grade_calls(demands, record).score for record in RECORDS)
    return _KNOWN[key]


def stricter(pair: Pair) -> bool:
    old, new = (scores(demands) for demands in pair)
    return all(
        before >= after for before, after in zip(old, new, strict=True) if before is not None and after is not None
    )


def demanded(*, partial: bool | None = None, modes: tuple[str, ...] = MODES) -> Iterator[ToolDemands]:
    for tools, mode in product(LISTS, modes):
        for part in (False, True) if partial is None else (partial,):
            yield ToolDemands(tools, frozenset(), mode, part)


def required(demands: ToolDemands) -> int:
    return sum(tool.least > 0 for tool in demands.tools)


def edited(demands: ToolDemands, edit: Callable[[ToolEntry], ToolEntry | None]) -> Iterator[Pair]:
    for place, tool in enumerate(demands.tools):
        if (other := edit(tool)) is not None:
            yield demands, replace(demands, tools=(*demands.tools[:place], other, *demands.tools[place + 1 :]))


def by_mode() -> Iterator[Pair]:
    for demands in demanded(modes=("any_order",)):
        yield demands, replace(demands, mode="in_order")
        yield replace(demands, mode="in_order"), replace(demands, mode="exact")


def by_forbidding() -> Iterator[Pair]:
    for demands in demanded():
        yield demands, replace(demands, forbidden=frozenset({"a"}))


def by_a_higher_min() -> Iterator[Pair]:
    # A tool that becomes required moves the denominator; in `exact`, min without max says how many calls there are.
    for demands in demanded():
        yield from edited(
            demands,
            lambda tool, demands=demands: (
                replace(tool, least=tool.least + 1)
                if (tool.least or not demands.partial) and (tool.most is not None or demands.mode != "exact")
                else None
            ),
        )


def by_a_lower_max() -> Iterator[Pair]:
    for demands in demanded():
        yield from edited(demands, lambda tool: replace(tool, most=tool.most - 1) if tool.most else None)
    for demands in demanded(modes=("any_order", "in_order")):
        yield from edited(demands, lambda tool: replace(tool, most=tool.least + 1) if tool.most is None else None)


def by_narrower_args() -> Iterator[Pair]:
    # Calls that are no longer meant are freed from a `max`.
    for demands in demanded():
        yield from edited(demands, lambda tool: narrower(tool) if tool.most is None else None)


def narrower(tool: ToolEntry) -> ToolEntry | None:
    return replace(tool, args={"n": 1}) if tool.args is None else None if tool.exact else replace(tool, exact=True)


def by_one_more_tool() -> Iterator[Pair]:
    for demands in demanded(partial=False, modes=("any_order", "in_order")):
        if len(demands.tools) < 3:
            yield from ((demands, replace(demands, tools=(*demands.tools, tool))) for tool in PLAIN)
            yield from ((demands, replace(demands, tools=(tool, *demands.tools))) for tool in PLAIN)


def by_dropping_partial() -> Iterator[Pair]:
    for demands in demanded(partial=True):
        yield demands, replace(demands, partial=False)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "pairs",
    [
        by_mode,
        by_forbidding,
        by_a_higher_min,
        by_a_lower_max,
        by_narrower_args,
        by_one_more_tool,
        by_dropping_partial,
    ],
)
def test_the_new_check_is_never_looser(pairs: Callable[[], Iterator[Pair]], samples: Callable[[int], int]) -> None:
    found, moved = 0, 0
    stride = 1 if samples(100) == 100 else 20
    for pair in islice(pairs(), None, None, stride):
        assert stricter(pair), pair
        found += 1
        moved += scores(pair[0]) != scores(pair[1])
    assert found > 100 // stride
    assert moved > 20 // stride


def equal_orders() -> Iterator[Pair]:
    for demands in demanded(modes=("any_order",)):
        if required(demands) <= 1:
            yield demands, replace(demands, mode="in_order")


def reordered() -> Iterator[Pair]:
    for demands in demanded(modes=("any_order",)):
        yield demands, replace(demands, tools=demands.tools[::-1])


def repeated() -> Iterator[Pair]:
    for demands in demanded(partial=False, modes=("any_order",)):
        if len(demands.tools) < 3:
            yield from ((demands, replace(demands, tools=(*demands.tools, tool))) for tool in demands.tools)


def partial_of_one() -> Iterator[Pair]:
    for demands in demanded(partial=False):
        if required(demands) <= 1:
            yield demands, replace(demands, partial=True)


@pytest.mark.heavy
@pytest.mark.parametrize("pairs", [equal_orders, reordered, repeated, partial_of_one])
def test_the_new_check_is_the_old_one(pairs: Callable[[], Iterator[Pair]], samples: Callable[[int], int]) -> None:
    found = 0
    stride = 1 if samples(100) == 100 else 3
    for old, new in islice(pairs(), None, None, stride):
        assert scores(old) == scores(new), (old, new)
        found += 1
    assert found > 20 // stride


ONE, TWO = ToolEntry("a"), (ToolEntry("a"), ToolEntry("b"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(((ONE,), "exact", False), (TWO, "exact", False), id="a tool added in exact"),
        pytest.param(((ONE,), "any_order", True), (TWO, "any_order", True), id="a tool added under partial"),
        pytest.param(
            ((ONE,), "exact", False), ((replace(ONE, least=2),), "exact", False), id="a higher min without max in exact"
        ),
        pytest.param(
            ((ONE, ToolEntry("b", least=0)), "any_order", True),
            (TWO, "any_order", True),
            id="a tool required under partial",
        ),
        pytest.param(
            ((replace(ONE, most=1),), "any_order", False),
            ((replace(ONE, args={"n": 1}, most=1),), "any_order", False),
            id="narrower args with max",
        ),
    ],
)
def test_these_edits_go_both_ways(old: tuple[Tools, str, bool], new: tuple[Tools, str, bool]) -> None:
    before, after = (ToolDemands(tools, frozenset(), mode, partial) for tools, mode, partial in (old, new))
    assert not stricter((before, after))
    assert not stricter((after, before))


@pytest.mark.heavy
def test_no_number_of_calls_stops_a_check_of_few_tools_and_many_of_both_do() -> None:
    calls = [ToolCall("f", {"n": 1})] * 120_000
    few = ToolDemands(
        [ToolEntry("f", {"n": 1})] * 2 + [ToolEntry("g")] * (TOOL_LIMIT - 2), frozenset(), "any_order", False
    )
    assert grade_calls(few, calls[:20_000]).score == 0
    found = grade_calls(replace(few, tools=[*few.tools, ToolEntry("g")]), calls)
    assert (found.score, found.unscored) == (None, UnscoredReason.ERROR)
    assert "101 tools and 120,000 calls" in found.reason


def test_a_long_list_of_tools_alone_is_bounded_too() -> None:
    tools = [ToolEntry("f")] * 4_000
    assert (
        grade_calls(ToolDemands(tools, frozenset(), "in_order", True), [ToolCall("f", {})] * 9).unscored
        is UnscoredReason.ERROR
    )
