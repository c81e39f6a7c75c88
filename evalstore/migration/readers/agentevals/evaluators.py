"""Reads lists of evaluators: each by the row of its type in the table, with its weight, gate and negation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, format_json_pointer
from evalstore.migration.readers.agentevals.dialects import check_keys, is_in_dialect
from evalstore.migration.readers.agentevals.grading import (
    CaseScope,
    CrashError,
    Grading,
    Raw,
    join_gradings,
    note_ignored,
    note_skipped,
    parse_number,
    parse_share,
    set_aside,
)
from evalstore.migration.readers.agentevals.group_checks import read_assert_set, read_composite
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
from evalstore.migration.readers.agentevals.tool_checks import (
    read_skill_use,
    read_tool_arguments,
    read_tool_sequence,
    read_tools_used,
    read_trajectory,
)
from evalstore.text import make_excerpt

_NAMELESS = (
    "versions of the runner leave out a member of a composite that has no name, or whose type is spelled with _;"
    " here it counts"
)
_UNNAMED = "versions of the runner skip a check without a name; here it counts"
Reader = Callable[[Raw, Pointer, CaseScope, Mapping[str, Any]], Grading]


def read_list(raws: Any, pointer: Pointer, scope: CaseScope, *, inner: bool = False) -> Grading:
    """Read a list of evaluators; for members of a group (`inner`) the runner ignores gates and negation."""
    if not isinstance(raws, list):
        return note_skipped(pointer, "it is no list") if raws is not None else Grading()
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
