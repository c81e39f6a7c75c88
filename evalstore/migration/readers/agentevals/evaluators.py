"""Reads lists of evaluators: each by its type's row in the table, with its weight, its gate and its sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, json_pointer
from evalstore.migration.readers.agentevals.dialects import is_in_dialect
from evalstore.migration.readers.agentevals.fields import read_fields
from evalstore.migration.readers.agentevals.groups import read_assert_set, read_composite
from evalstore.migration.readers.agentevals.judged import read_points, read_model_grader, read_bare_texts, read_weight
from evalstore.migration.readers.agentevals.keys import check_keys
from evalstore.migration.readers.agentevals.said import (
    CaseScope,
    CrashError,
    Grading,
    ignored,
    joined,
    number,
    share,
    skipped,
    unmapped,
)
from evalstore.migration.readers.agentevals.texts import fixed, pattern, texts, trimmed
from evalstore.migration.readers.agentevals.tools import called, sequence, skill, trajectory, used
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_NAMELESS = (
    "versions of the runner leave out a member of a composite that has no name, or whose type is spelled with _;"
    " here it counts"
)
_UNNAMED = "versions of the runner skip a check without a name; here it counts"
Reader = Callable[[Raw, Pointer, CaseScope, Mapping[str, Any]], Grading]


def read_list(raws: Any, pointer: Pointer, scope: CaseScope, *, inner: bool = False) -> Grading:
    """Read a list of evaluators; members of a group (`inner`) have no gates and no sign, whatever they say."""
    if not isinstance(raws, list):
        return skipped(pointer, "it is no list") if raws is not None else Grading()
    places = [(raw, (*pointer, index)) for index, raw in enumerate(raws)]
    bare = [(raw, place) for raw, place in places if isinstance(raw, str)]
    read = [_one(raw, place, scope, inner=inner) for raw, place in places if not isinstance(raw, str)]
    if scope.dialect.custom and (scope.dialect.name == "D4" or not inner):  # a composite has no texts
        return joined([*read, read_bare_texts(bare, scope)])
    return joined([*read, *(skipped(place, "it is a text, and no evaluator") for _, place in bare)])


def _one(raw: Any, pointer: Pointer, scope: CaseScope, *, inner: bool) -> Grading:
    type_ = raw.get("type") if isinstance(raw, dict) else None
    if isinstance(raw, dict) and type_ is None and isinstance(raw.get("include"), str):
        return unmapped(raw, pointer, f"it includes the checks of {make_excerpt(raw['include'])}, which are not read")
    if not isinstance(raw, dict) or not isinstance(type_, str):
        return skipped(pointer, "it has no type")
    gate = _gate(raw, pointer, scope) if scope.dialect.gates and not inner else None
    name = type_.replace("_", "-")
    row = scope.table.form["types"].get(name)
    if row is None or not is_in_dialect(scope.dialect.name, row):
        return _unknown(raw, pointer, scope, row or {})
    said = (
        _GROUPS[row["reads"]](raw, pointer, scope, _members(scope))
        if row["reads"] in _GROUPS
        else (_READERS[row["reads"]](raw, pointer, scope, row))
    )
    if row["reads"] != "unmapped":
        odd = check_keys(raw, pointer, scope, "check", row["reads"])
        said = joined([said, odd if said.terms else replace(odd, lossy=())])
    if row.get("negate"):
        said = replace(said, terms=tuple(replace(term, negate=not term.negate) for term in said.terms))
    return _as_member(said, raw, pointer, scope) if inner else _weighed(said, raw, pointer, scope, gate=gate)


def _members(scope: CaseScope) -> Callable[[Any, Pointer], Grading]:
    return lambda raws, pointer: read_list(raws, pointer, scope, inner=True)


def _unknown(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    type_ = make_excerpt(raw["type"])
    if "refused" in row:
        raise CrashError(f"{json_pointer(pointer)}: {row['refused']}")
    if row:
        why = row.get("removed", f"{scope.dialect.name} has no type {type_}")
        return skipped(pointer, f"{type_}: {why}" if "removed" in row else why)
    if scope.dialect.custom:
        late = ", or one that the runner rejects" if scope.dialect.name == "D4" else ""
        return unmapped(raw, pointer, f"the type {type_} is one of the project's own, decided by code{late}")
    return skipped(pointer, f"it does not know the type {type_}")


def _as_member(said: Grading, raw: Raw, pointer: Pointer, scope: CaseScope) -> Grading:
    """Return a member of a group: a set weighs it by its own weight, a composite by its aggregator."""
    own = scope.dialect.name == "D4"
    unread = ["negate", "required", *(() if own else ("weight",))]
    notes = [ignored((*pointer, key), f"{key} of a member") for key in unread if raw.get(key, False) is not False]
    weight = read_weight(raw, pointer) if own else Fraction(1)
    old = scope.dialect.name == "D3" and "_" in raw["type"]
    unsure = bool(said.terms) and not own and (old or not isinstance(raw.get("name"), str))
    terms = tuple(replace(term, weight=weight) for term in said.terms)
    return joined([replace(said, terms=terms), Grading(lossy=(_NAMELESS,) if unsure else ()), *notes])


def _weighed(said: Grading, raw: Raw, pointer: Pointer, scope: CaseScope, *, gate: Fraction | None) -> Grading:
    weight, gates = read_weight(raw, pointer), scope.dialect.gates
    turned = gates and raw.get("negate") is True
    terms = tuple(replace(term, weight=weight, gate=gate, negate=term.negate is not turned) for term in said.terms)
    nameless = bool(terms) and not gates and not isinstance(raw.get("name"), str)
    return replace(said, terms=terms, lossy=(*said.lossy, *([_UNNAMED] if nameless else [])))


def _gate(raw: Raw, pointer: Pointer, scope: CaseScope) -> Fraction | None:
    """Return the bar of a required evaluator; None where it is not required."""
    required, least = raw.get("required"), share(raw.get("min_score")) if scope.dialect.limits else None
    if required is True:
        return least or scope.passes
    if number(required) is not None and scope.dialect.name == "D4":
        raise CrashError(f"{json_pointer(pointer)}: required is a number, which the runner no longer takes")
    own = share(required)
    return own and (least or own)


def _unmapped(raw: Raw, pointer: Pointer, _: CaseScope, row: Mapping[str, Any]) -> Grading:
    return unmapped(raw, pointer, row["reason"])


def _goal(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    said = read_model_grader(raw, pointer, scope, row)
    return joined([said, Grading(lossy=("the runner's judge reads the calls of tools as well",))])


_READERS: Mapping[str, Reader] = {
    "texts": texts,
    "trimmed": trimmed,
    "pattern": pattern,
    "fixed": fixed,
    "judged": read_model_grader,
    "items": read_points,
    "trajectory": trajectory,
    "used": used,
    "sequence": sequence,
    "called": called,
    "skill": skill,
    "goal": _goal,
    "fields": read_fields,
    "unmapped": _unmapped,
}
_GROUPS: Mapping[str, Callable[[Raw, Pointer, CaseScope, Callable[[Any, Pointer], Grading]], Grading]] = {
    "composite": read_composite,
    "assert_set": read_assert_set,
}
