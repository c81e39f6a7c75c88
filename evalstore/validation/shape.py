"""Values against the schemas of schema/: compiled once, a check by the schema of its kind, violations as notes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from evalstore.documents import Pointer
from evalstore.model import Kind
from evalstore.resources import find_resource_folder
from evalstore.schemas import Schema, compile_schema
from evalstore.validation.notes import Note, guessed, listed, note, shown
from evalstore.validation.parts import mappings
from evalstore.validation.wording import worded

ROOTS = {Kind.RUBRIC: "base/rubric", Kind.JUDGE: "judge", Kind.DATASET: "dataset"}
SETTINGS = "evalstore"
ACCEPTED = "accepted"
CHECK, QUESTION = "check", "question"

# Parts of a schema that stand for themselves: the schema that holds them.
_PARTS = {CHECK: "base/rubric", QUESTION: "dataset"}

_REFERENCES = ("rubric_ref", "judge_prompt_ref", "validated_against", "dataset")

# What another rule says better: (the last key of the pointer, the schema's keyword).
_OWNED = {
    *((key, keyword) for key in ("id", "version") for keyword in ("pattern", "not")),
    *((key, keyword) for key in _REFERENCES for keyword in ("pattern", "not")),
    *((key, keyword) for key in ("tpr", "tnr") for keyword in ("minimum", "maximum")),
    ("required", "pattern"),
    ("required", "not"),
    ("version", "type"),
    *((key, keyword) for key in ("validated_at", "until", "day", "since") for keyword in ("pattern", "not")),
}


def artifact_shape(kind: Kind, value: Any) -> Iterator[Note]:
    """Yield what the schemas have against an artifact: its kind's, and for a rubric those of its checks' kinds."""
    yield from shape_notes(ROOTS[kind], value)
    if kind is Kind.RUBRIC:
        yield from check_notes(value)


def shape_notes(name: str, value: Any, pointer: Pointer = ()) -> Iterator[Note]:
    """Yield what the schema `name` has against `value`, which stands at `pointer`."""
    for violation in _compiled(name).find_violations(value):
        if (_last_key(violation.pointer), violation.keyword) not in _OWNED:
            yield from worded(violation, pointer)


def check_notes(rubric: Any) -> Iterator[Note]:
    """Yield what the kinds' schemas have against a rubric's checks."""
    for index, check in mappings(rubric, "checks"):
        pointer = ("checks", index)
        if "kind" not in check:
            continue
        kind = check["kind"]
        if isinstance(kind, str) and kind in kinds():
            yield from shape_notes(f"checks/{kind}", check, pointer)
        else:
            hint = guessed(kind, kinds(), f"the kinds are {listed(kinds())}")
            yield note("check-kind-unknown", (*pointer, "kind"), found=shown(kind), hint=hint)


def accepts(name: str, value: Any) -> bool:
    """Whether `value` meets the schema `name` in full."""
    return _compiled(name).accepts(value)


@cache
def kinds() -> tuple[str, ...]:
    """Return the check kinds that have a schema."""
    return tuple(sorted(path.name.split(".")[0] for path in (find_resource_folder("schema") / "checks").glob("*.schema.json")))


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a schema as data, by its path below schema/, or a part of one: `question` is what one row meets."""
    if name in _PARTS:
        definitions = schema(_PARTS[name])["$defs"]
        return {**definitions[name], "$defs": definitions}
    data: dict[str, Any] = json.loads((find_resource_folder("schema") / f"{name}.schema.json").read_text("utf-8"))
    return data


@cache
def _compiled(name: str) -> Schema:
    return compile_schema(schema(name))


def _last_key(pointer: Pointer) -> str:
    return next((part for part in reversed(pointer) if isinstance(part, str)), "")
