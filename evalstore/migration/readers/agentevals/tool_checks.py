"""Reads checks of recorded tool calls: trajectories, single tools, arguments, and skills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.dialects import check_keys
from evalstore.migration.readers.agentevals.grading import (
    CaseScope,
    Check,
    Grading,
    Raw,
    grade_by_check,
    join_gradings,
    note_ignored,
    note_skipped,
    set_aside,
)
from evalstore.text import make_excerpt

# The runner's modes to compare arguments, and ours; "ignore" compares none.
_ARGS = {"exact": "exact", "superset": "subset", "partial": "subset"}
# The runner's trajectory modes, each with ours and the loss.
_MODES = {
    "in_order": ("in_order", "where calls are missing, the share that is found may differ"),
    "exact": ("exact", "further calls behind the expected ones were no fault to the runner; here they score 0"),
    "superset": ("any_order", "where calls are missing, or one is expected twice, the share that is found may differ"),
}
_ANY = "any"
_BOUNDED = frozenset({"name", "tool", "min", "max"})


def read_trajectory(raw: Raw, pointer: Pointer, scope: CaseScope, _: Mapping[str, Any]) -> Grading:
    """Read a trajectory: tools that must be called so often, or in this order; the score is the share found."""
    mode = raw.get("mode")
    if not isinstance(mode, str):
        return note_skipped(pointer, "it has no mode")
    ignored_keys = ("expected", "args_match") if mode == "any_order" else ("minimums",)
    notes = (
        note_ignored((*pointer, key), f"its mode is {make_excerpt(mode)}")
        for key in ignored_keys
        if raw.get(key) is not None
    )
    return join_gradings(
        [_read_minimums(raw, pointer) if mode == "any_order" else _read_calls(raw, pointer, scope, mode), *notes]
    )


def _read_calls(raw: Raw, pointer: Pointer, scope: CaseScope, mode: str) -> Grading:
    expected = raw.get("expected")
    if not isinstance(expected, list):
        return note_skipped(pointer, "it has no list of expected tools")
    if not expected or not all(map(_names_tool, expected)):
        return set_aside(raw, pointer, "an expected call names no tool, or none is expected")
    tools = [_read_expected_call(item, raw, scope) for item in expected]
    if mode not in _MODES or None in tools:
        problem = f"the mode {make_excerpt(mode)}" if mode not in _MODES else "this way to compare arguments"
        return set_aside(raw, pointer, f"no check kind knows {problem}")
    ours, loss = _MODES[mode]
    slow = any(item.get("max_duration_ms") is not None for item in expected)
    lossy = [f"of tools that are expected {mode.replace('_', ' ')}: {loss}"]
    check: Check = {"kind": "tool_usage", "tools": tools, "mode": ours, "partial": True}
    grading = grade_by_check(
        raw, pointer, check, *lossy, *(["how long a call took is not looked at"] if slow else []), steps=0
    )
    places = ((item, (*pointer, "expected", index)) for index, item in enumerate(expected))
    return join_gradings([grading, *(check_keys(item, place, scope, "call") for item, place in places)])


def read_tools_used(raw: Raw, pointer: Pointer, _: CaseScope, __: Mapping[str, Any]) -> Grading:
    """Read a tool that must be called, or each of several."""
    value = raw.get("value")
    items: list[Any] = value if isinstance(value, list) else [value]
    tools = [_read_bounds(item) for item in items]
    if not tools or None in tools or any(isinstance(item, dict) and item.keys() - _BOUNDED for item in items):
        return set_aside(raw, pointer, "its value names no tool, or asks of it what no check kind says")
    return grade_by_check(raw, pointer, {"kind": "tool_usage", "tools": tools})


def read_tool_sequence(raw: Raw, pointer: Pointer, _: CaseScope, __: Mapping[str, Any]) -> Grading:
    """Read tools that must be called one after the other."""
    value = raw.get("value")
    steps = value.get("steps") if isinstance(value, dict) else value
    mode = value.get("mode", "in_order") if isinstance(value, dict) else "in_order"
    if not isinstance(steps, list) or not steps or not all(map(_is_name, steps)):
        return set_aside(raw, pointer, "its value names no sequence of tools")
    if isinstance(value, dict) and value.keys() - {"steps", "mode"}:
        return set_aside(raw, pointer, "its value asks more of the sequence than its steps and their mode")
    if mode not in ("in_order", "exact"):
        return set_aside(raw, pointer, f"no check kind knows the mode {make_excerpt(str(mode))}")
    return grade_by_check(
        raw, pointer, {"kind": "tool_usage", "tools": [{"name": step} for step in steps], "mode": mode}
    )


def read_tool_arguments(raw: Raw, pointer: Pointer, _: CaseScope, __: Mapping[str, Any]) -> Grading:
    """Read a tool that must be called with these arguments."""
    source = raw.get("value")
    value: dict[str, Any] = source if isinstance(source, dict) else {}
    tool, match = _read_bounds(value), _ARGS.get(str(value.get("mode", "partial")))
    has_known_keys = value.keys() <= {"name", "tool", "args", "mode"} and isinstance(value.get("args"), dict)
    if tool is None or match is None or not has_known_keys:
        return set_aside(raw, pointer, "no check kind compares arguments this way")
    return grade_by_check(
        raw, pointer, {"kind": "tool_usage", "tools": [tool | {"args": value["args"], "args_match": match}]}
    )


def read_skill_use(raw: Raw, pointer: Pointer, _: CaseScope, __: Mapping[str, Any]) -> Grading:
    """Read a skill that must be used, or must not."""
    name = raw.get("skill", raw.get("value"))
    if not isinstance(name, str) or not name:
        return set_aside(raw, pointer, "it names no single skill")
    check: Check = {"kind": "tool_usage", "tools": [{"name": "Skill", "args": {"skill": name}}]}
    loss = "a skill is known by a call of the tool Skill whose argument is its name; the runner looked at more, or less"
    grading = grade_by_check(raw, pointer, check, loss)
    return replace(grading, terms=(replace(grading.terms[0], negate=raw.get("should_trigger") is False),))


def _read_minimums(raw: Raw, pointer: Pointer) -> Grading:
    least = raw.get("minimums")
    if not isinstance(least, dict):
        return note_skipped(pointer, "its mode is any_order, and it has no minimums")
    if not least or not all(isinstance(name, str) and name and _is_count(number) for name, number in least.items()):
        return set_aside(raw, pointer, "a minimum is no whole number from 1 up")
    tools = [{"name": name, **({"min": number} if number > 1 else {})} for name, number in least.items()]
    check: Check = {"kind": "tool_usage", "tools": tools, **({"partial": True} if len(tools) > 1 else {})}
    return grade_by_check(raw, pointer, check, steps=len(tools))


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _names_tool(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("tool"), str) and bool(item["tool"])


def _read_expected_call(item: Raw, raw: Raw, scope: CaseScope) -> dict[str, Any] | None:
    """Return one expected call as a demand on a tool; None where no check compares its arguments in that mode."""
    tool: dict[str, Any] = {"name": item["tool"]}
    args, mode = item.get("args"), item.get("args_match", raw.get("args_match", scope.dialect.args))
    if args is None or args == _ANY or mode == "ignore":
        return tool
    if not isinstance(args, dict) or not isinstance(mode, str):
        return None
    # Until D1 calls may have more arguments than expected; since then, `subset` means that they have no more.
    match = mode if mode == "subset" == scope.dialect.args else _ARGS.get(mode)
    return None if match is None else tool | {"args": args, **({"args_match": match} if match == "exact" else {})}


def _read_bounds(item: Any) -> dict[str, Any] | None:
    if isinstance(item, str):
        return {"name": item} if _is_name(item) else None
    name = item.get("name", item.get("tool")) if isinstance(item, dict) else None
    if not _is_name(name):
        return None
    bounds = {key: item[key] for key in ("min", "max") if item.get(key) is not None}
    fits = all(isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0 for bound in bounds.values())
    if not fits or ("max" in bounds and not bounds.get("min", bounds["max"] + 1) <= bounds["max"]):
        return None  # no count satisfies the bounds, or the minimum is unknown
    return None if bounds == {"min": 0} else {"name": name, **bounds}


def _is_name(raw: Any) -> bool:
    """Whether a value is the name of a single tool, and no pattern of names."""
    return isinstance(raw, str) and bool(raw) and not {"*", "?"} & set(raw)
