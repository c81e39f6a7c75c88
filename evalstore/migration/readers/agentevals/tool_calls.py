"""Reads checks of tool calls: trajectories, tools used, their order and arguments, and skills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalstore.migration.readers.agentevals.grading import (
    Check,
    GradingTerms,
    Raw,
    SuitePart,
    join_gradings,
)
from evalstore.text import make_excerpt

# The runner's modes for comparing arguments, and ours; "ignore" compares none.
_ARGS = {"exact": "exact", "superset": "subset", "partial": "subset"}
# The runner's trajectory modes, each with ours and the loss.
_MODES = {
    "in_order": ("in_order", "where calls are missing, the share that is found may differ"),
    "exact": (
        "exact",
        "further calls behind the expected ones were no fault to the runner; here they score 0",
    ),
    "superset": (
        "any_order",
        "where calls are missing, or one is expected twice, the share that is found may differ",
    ),
}
_ANY = "any"
_BOUNDED = frozenset({"name", "tool", "min", "max"})


def read_trajectory(part: SuitePart) -> GradingTerms:
    """Read a trajectory: tools with counts, or in this order; the score is the share found."""
    mode = part.get("mode")
    if not isinstance(mode, str):
        return part.skip("it has no mode")
    is_free = mode == "any_order"
    grading = _read_minimums(part) if is_free else _read_calls(part, mode)
    ignored_keys = ("expected", "args_match") if is_free else ("minimums",)
    ignored = [part.enter(key) for key in ignored_keys if part.get(key) is not None]
    reason = f"its mode is {make_excerpt(mode)}"
    return join_gradings([grading, *(one.ignore(reason) for one in ignored)])


def _read_calls(part: SuitePart, mode: str) -> GradingTerms:
    expected = part.get("expected")
    if not isinstance(expected, list):
        return part.skip("it has no list of expected tools")
    if not expected or not all(
        isinstance(item, dict) and _is_text(item.get("tool")) for item in expected
    ):
        return part.set_aside("an expected call names no tool, or none is expected")
    tools = [_read_expected_call(item, part) for item in expected]
    if mode not in _MODES:
        return part.set_aside(f"no check kind knows the mode {make_excerpt(mode)}")
    if None in tools:
        return part.set_aside("no check kind knows this way to compare arguments")
    ours, loss = _MODES[mode]
    slow = any(item.get("max_duration_ms") is not None for item in expected)
    lossy = [f"of tools that are expected {mode.replace('_', ' ')}: {loss}"]
    lossy += ["how long a call took is not looked at"] if slow else []
    grading = part.grade(
        {"kind": "tool_usage", "tools": tools, "mode": ours, "partial": True}, *lossy, steps=0
    )
    calls = (part.enter("expected", index) for index in range(len(expected)))
    return join_gradings([grading, *(call.check_keys("call") for call in calls)])


def read_tools_used(part: SuitePart) -> GradingTerms:
    """Read a tool that must be called, or each of several."""
    value = part.get("value")
    items: list[Any] = value if isinstance(value, list) else [value]
    tools = [_read_bounds(item) for item in items]
    if (
        not tools
        or None in tools
        or any(isinstance(item, dict) and item.keys() - _BOUNDED for item in items)
    ):
        return part.set_aside("its value names no tool, or asks of it what no check kind says")
    return part.grade({"kind": "tool_usage", "tools": tools})


def read_tool_sequence(part: SuitePart) -> GradingTerms:
    """Read tools that must be called one after another."""
    value = part.get("value")
    steps = value.get("steps") if isinstance(value, dict) else value
    mode = value.get("mode", "in_order") if isinstance(value, dict) else "in_order"
    if not isinstance(steps, list) or not steps or not all(map(_is_name, steps)):
        return part.set_aside("its value names no sequence of tools")
    if isinstance(value, dict) and value.keys() - {"steps", "mode"}:
        return part.set_aside("its value asks more of the sequence than its steps and their mode")
    if mode not in ("in_order", "exact"):
        return part.set_aside(f"no check kind knows the mode {make_excerpt(str(mode))}")
    return part.grade(
        {"kind": "tool_usage", "tools": [{"name": step} for step in steps], "mode": mode}
    )


def read_tool_arguments(part: SuitePart) -> GradingTerms:
    """Read a tool that must be called with these arguments."""
    source = part.get("value")
    value: dict[str, Any] = source if isinstance(source, dict) else {}
    tool, match = _read_bounds(value), _ARGS.get(str(value.get("mode", "partial")))
    has_known_keys = value.keys() <= {"name", "tool", "args", "mode"} and isinstance(
        value.get("args"), dict
    )
    if tool is None or match is None or not has_known_keys:
        return part.set_aside("no check kind compares arguments this way")
    return part.grade(
        {"kind": "tool_usage", "tools": [tool | {"args": value["args"], "args_match": match}]}
    )


def read_skill_use(part: SuitePart) -> GradingTerms:
    """Read a skill that must be used, or must not."""
    name = part.raw.get("skill", part.get("value"))
    if not _is_text(name):
        return part.set_aside("it names no single skill")
    check: Check = {"kind": "tool_usage", "tools": [{"name": "Skill", "args": {"skill": name}}]}
    loss = (
        "a skill is known by a call of the tool Skill whose argument is its name; the runner "
        "looked at more, or less"
    )
    grading = part.grade(check, loss)
    return replace(
        grading, terms=(replace(grading.terms[0], negate=part.get("should_trigger") is False),)
    )


def _read_minimums(part: SuitePart) -> GradingTerms:
    least = part.get("minimums")
    if not isinstance(least, dict):
        return part.skip("its mode is any_order, and it has no minimums")
    if not least or not all(_is_text(name) and _is_count(number) for name, number in least.items()):
        return part.set_aside("a minimum is not a whole number from 1 up")
    tools = [
        {"name": name, **({"min": number} if number > 1 else {})} for name, number in least.items()
    ]
    check: Check = {
        "kind": "tool_usage",
        "tools": tools,
        **({"partial": True} if len(tools) > 1 else {}),
    }
    return part.grade(check, steps=len(tools))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _read_expected_call(item: Raw, part: SuitePart) -> dict[str, Any] | None:
    """Return one expected call as a demand on a tool.

    Returns None if no check compares arguments that way.
    """
    tool, own = {"name": item["tool"]}, part.scope.dialect.args
    args, mode = item.get("args"), item.get("args_match", part.raw.get("args_match", own))
    if args is None or args == _ANY or mode == "ignore":
        return tool
    if not isinstance(args, dict) or not isinstance(mode, str):
        return None
    # Until D1 calls may have more arguments than expected; since then, `subset` means that they
    # have no more.
    match = mode if mode == "subset" == own else _ARGS.get(mode)
    if match is None:
        return None
    return tool | {"args": args} | ({"args_match": match} if match == "exact" else {})


def _is_bound(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _read_bounds(item: Any) -> dict[str, Any] | None:
    if isinstance(item, str):
        return {"name": item} if _is_name(item) else None
    name = item.get("name", item.get("tool")) if isinstance(item, dict) else None
    if not _is_name(name):
        return None
    bounds = {key: item[key] for key in ("min", "max") if item.get(key) is not None}
    if not all(map(_is_bound, bounds.values())) or (
        "max" in bounds and not bounds.get("min", bounds["max"] + 1) <= bounds["max"]
    ):
        return None  # no count satisfies the bounds, or the minimum is unknown
    return None if bounds == {"min": 0} else {"name": name, **bounds}


def _is_name(raw: Any) -> bool:
    """Whether a value is the name of a single tool, not a pattern of names."""
    return isinstance(raw, str) and bool(raw) and not {"*", "?"} & set(raw)
