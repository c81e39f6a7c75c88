"""Reads lists of evaluators: each by the row of its type in the table, with its weight, gate and negation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, format_json_pointer
from evalstore.migration.readers.agentevals.grading import (
    CaseScope,
    Check,
    CrashError,
    Grading,
    Raw,
    check_keys,
    grade_by_check,
    is_in_dialect,
    join_gradings,
    note_ignored,
    note_skipped,
    parse_number,
    parse_share,
    set_aside,
)
from evalstore.migration.readers.agentevals.model_graders import (
    read_bare_texts,
    read_model_grader,
    read_points,
    read_weight,
)
from evalstore.migration.readers.agentevals.output_checks import (
    read_fields,
    read_fixed_check,
    read_pattern,
    read_substrings,
    read_trimmed_text,
)
from evalstore.migration.readers.agentevals.rubrics import read_assert_set, read_composite
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
        return set_aside(raw, pointer, "a minimum is not a whole number from 1 up")
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


_NAMELESS = (
    "versions of the runner leave out a member of a composite that has no name, or whose type is spelled with _;"
    " here it counts"
)
_UNNAMED = "versions of the runner skip a check without a name; here it counts"
Reader = Callable[[Raw, Pointer, CaseScope, Mapping[str, Any]], Grading]


def read_list(raws: Any, pointer: Pointer, scope: CaseScope, *, inner: bool = False) -> Grading:
    """Read a list of evaluators; for members of a group (`inner`) the runner ignores gates and negation."""
    if not isinstance(raws, list):
        return note_skipped(pointer, "it is not a list") if raws is not None else Grading()
    places = [(raw, (*pointer, index)) for index, raw in enumerate(raws)]
    texts = [(raw, place) for raw, place in places if isinstance(raw, str)]
    gradings = [_read_evaluator(raw, place, scope, inner=inner) for raw, place in places if not isinstance(raw, str)]
    if scope.dialect.custom and (scope.dialect.name == "D4" or not inner):  # a composite has no bare texts
        return join_gradings([*gradings, read_bare_texts(texts, scope)])
    return join_gradings([*gradings, *(note_skipped(place, "it is a text, and no evaluator") for _, place in texts)])


def _read_evaluator(raw: Any, pointer: Pointer, scope: CaseScope, *, inner: bool) -> Grading:
    type_ = raw.get("type") if isinstance(raw, dict) else None
    if isinstance(raw, dict) and type_ is None and isinstance(raw.get("include"), str):
        return set_aside(raw, pointer, f"it includes the checks of {make_excerpt(raw['include'])}, which are not read")
    if not isinstance(raw, dict) or not isinstance(type_, str):
        return note_skipped(pointer, "it has no type")
    gate = _read_gate(raw, pointer, scope) if scope.dialect.gates and not inner else None
    # Types were spelled with underscores before 2.14; the table has hyphens.
    name = type_.replace("_", "-")
    row = scope.table.form["types"].get(name)
    if row is None or not is_in_dialect(scope.dialect.name, row):
        return _read_unknown_type(raw, pointer, scope, row or {})
    if row["reads"] in _GROUPS:
        grading = _GROUPS[row["reads"]](raw, pointer, scope, _make_member_reader(scope))
    else:
        grading = _READERS[row["reads"]](raw, pointer, scope, row)
    if row["reads"] != "unmapped":
        # Losses of keys count only where something is graded.
        key_notes = check_keys(raw, pointer, scope, "check", row["reads"])
        grading = join_gradings([grading, key_notes if grading.terms else replace(key_notes, lossy=())])
    # Types with `not-` are the negation of the type without.
    if row.get("negate"):
        grading = replace(grading, terms=tuple(replace(term, negate=not term.negate) for term in grading.terms))
    if inner:
        return _grade_member(grading, raw, pointer, scope)
    return _grade_weighted(grading, raw, pointer, scope, gate=gate)


def _make_member_reader(scope: CaseScope) -> Callable[[Any, Pointer], Grading]:
    return lambda raws, pointer: read_list(raws, pointer, scope, inner=True)


def _read_unknown_type(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    type_ = make_excerpt(raw["type"])
    if "refused" in row:
        raise CrashError(f"{format_json_pointer(pointer)}: {row['refused']}")
    if row:
        reason = row.get("removed", f"{scope.dialect.name} has no type {type_}")
        return note_skipped(pointer, f"{type_}: {reason}" if "removed" in row else reason)
    if scope.dialect.custom:
        alternative = ", or one that the runner rejects" if scope.dialect.name == "D4" else ""
        return set_aside(raw, pointer, f"the type {type_} is one of the project's own, decided by code{alternative}")
    return note_skipped(pointer, f"it does not know the type {type_}")


def _grade_member(grading: Grading, raw: Raw, pointer: Pointer, scope: CaseScope) -> Grading:
    """Return a member of a group; a set uses its own weight, a composite the weights of its aggregator."""
    has_weight = scope.dialect.name == "D4"
    ignored_keys = ["negate", "required", *(() if has_weight else ("weight",))]
    notes = [
        note_ignored((*pointer, key), f"{key} of a member") for key in ignored_keys if raw.get(key, False) is not False
    ]
    weight = read_weight(raw, pointer) if has_weight else Fraction(1)
    old = scope.dialect.name == "D3" and "_" in raw["type"]
    unsure = bool(grading.terms) and not has_weight and (old or not isinstance(raw.get("name"), str))
    terms = tuple(replace(term, weight=weight) for term in grading.terms)
    return join_gradings([replace(grading, terms=terms), Grading(lossy=(_NAMELESS,) if unsure else ()), *notes])


def _grade_weighted(
    grading: Grading, raw: Raw, pointer: Pointer, scope: CaseScope, *, gate: Fraction | None
) -> Grading:
    weight, gates = read_weight(raw, pointer), scope.dialect.gates
    # Dialects without gates do not read `negate` either.
    is_negated = gates and raw.get("negate") is True
    terms = tuple(
        replace(term, weight=weight, gate=gate, negate=term.negate is not is_negated) for term in grading.terms
    )
    nameless = bool(terms) and not gates and not isinstance(raw.get("name"), str)
    return replace(grading, terms=terms, lossy=(*grading.lossy, *([_UNNAMED] if nameless else [])))


def _read_gate(raw: Raw, pointer: Pointer, scope: CaseScope) -> Fraction | None:
    """Return the score that a required evaluator must reach; None where it is not required."""
    required, least = raw.get("required"), parse_share(raw.get("min_score")) if scope.dialect.limits else None
    # `min_score` of an evaluator wins over the threshold of the test.
    if required is True:
        return least or scope.passes
    if parse_number(required) is not None and scope.dialect.name == "D4":
        raise CrashError(f"{format_json_pointer(pointer)}: required is a number, which the runner no longer takes")
    required_share = parse_share(required)
    return required_share and (least or required_share)


def _set_aside_by_row(raw: Raw, pointer: Pointer, _: CaseScope, row: Mapping[str, Any]) -> Grading:
    return set_aside(raw, pointer, row["reason"])


def _read_goal(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    grading = read_model_grader(raw, pointer, scope, row)
    return join_gradings([grading, Grading(lossy=("the runner's judge reads the calls of tools as well",))])


_READERS: Mapping[str, Reader] = {
    "texts": read_substrings,
    "trimmed": read_trimmed_text,
    "pattern": read_pattern,
    "fixed": read_fixed_check,
    "judged": read_model_grader,
    "items": read_points,
    "trajectory": read_trajectory,
    "used": read_tools_used,
    "sequence": read_tool_sequence,
    "called": read_tool_arguments,
    "skill": read_skill_use,
    "goal": _read_goal,
    "fields": read_fields,
    "unmapped": _set_aside_by_row,
}
_GROUPS: Mapping[str, Callable[[Raw, Pointer, CaseScope, Callable[[Any, Pointer], Grading]], Grading]] = {
    "composite": read_composite,
    "assert_set": read_assert_set,
}
