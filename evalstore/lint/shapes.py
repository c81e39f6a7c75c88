"""Lints the shape of an artifact, of its checks and of settings by their JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from evalstore.documents import Pointer
from evalstore.languages.schemas import compile_predicate
from evalstore.lint.notes import (
    Fix,
    Note,
    describe_value,
    get_mapping,
    list_mappings,
    list_names,
    make_note,
)
from evalstore.lint.wording import note_violation, read_first_sentence
from evalstore.model import Kind
from evalstore.model.check_schemas import list_check_kinds
from evalstore.places import find_resource_folder
from evalstore.text import find_only_near

if TYPE_CHECKING:
    from evalstore.languages.schemas import Predicate, Schema, Violation

ROOTS = {Kind.RUBRIC: "base/rubric", Kind.JUDGE: "judge", Kind.DATASET: "dataset"}
_NEW = {name: kind.value for kind, name in ROOTS.items()}  # as written by `evalstore new`
SETTINGS = "evalstore"
ACCEPTED = "accepted"
CHECK, QUESTION = "check", "question"
_CHECK_SCHEMAS = "checks/"
# Kinds of ai_eval that run a program; a rubric with the other key may name those of its modules.
_PROGRAM_KINDS, _BUNDLES = frozenset({"command", "score_delta"}), "applicable_bundles"
_PROGRAM_HINT = (
    "ai_eval runs it, and evalstore does not: `evalstore migrate FILE` keeps it under `x_unmapped`"
)
# Parts that are checked without the document around them, by name: the schema that defines each.
_PARTS = {CHECK: "base/rubric", QUESTION: "dataset"}
_REFERENCES = ("rubric_ref", "judge_prompt_ref", "validated_against", "dataset")
# What another rule says better: (the last key of the pointer, the schema's keyword).
_LEFT_TO_OTHER_RULES = {
    *product(("id", "version"), ("pattern", "not")),
    *product(_REFERENCES, ("pattern", "not")),
    *product(("tpr", "tnr"), ("minimum", "maximum")),
    ("required", "pattern"),
    ("required", "not"),
    ("version", "type"),
    *product(("validated_at", "until", "day", "since"), ("pattern", "not")),
}


def lint_artifact_shape(kind: Kind, value: Any) -> Iterator[Note]:
    """Yield the schema violations of an artifact: by its kind's schema, and its checks' kinds'."""
    yield from lint_shape(ROOTS[kind], value)
    if kind is Kind.RUBRIC:
        yield from lint_check_shapes(value)


def lint_shape(name: str, value: Any, pointer: Pointer = ()) -> Iterator[Note]:
    """Yield the violations of schema `name` in `value`, which is at `pointer`."""
    # Most values are valid, which a predicate determines a hundred times faster than the library.
    if (meets := _compile_named_predicate(name)) and meets(value):
        return
    for violation in _compile_named(name).find_violations(value):
        if (_last_key(violation.pointer), violation.keyword) not in _LEFT_TO_OTHER_RULES:
            found = _add_description(name, violation)
            yield from (_name_topic(note, name, found) for note in note_violation(found, pointer))


def _add_description(name: str, violation: Violation) -> Violation:
    """Return a violation with the description of its key, if the violated branch has none."""
    if (
        not isinstance(violation.schema, dict)
        or "description" in violation.schema
        or len(violation.pointer) != 1
    ):
        return violation
    key = load_schema(name).get("properties", {}).get(violation.pointer[0])
    if not isinstance(key, dict) or "else" not in key:
        return violation
    return replace(violation, schema={"description": key["description"], **violation.schema})


def _name_topic(note: Note, name: str, violation: Violation) -> Note:
    """Return a note that repeats a key's schema, with the command that shows all of it."""
    said, names = read_first_sentence(violation.schema), list_key_names(name)
    # A name that the user chose, such as that of a target, is not a key of the schema.
    keys = [part for part in violation.pointer if part in names]
    if not said or not note.facts["hint"].endswith(said):
        return note
    kind = [name.removeprefix(_CHECK_SCHEMAS)] if name.startswith(_CHECK_SCHEMAS) else []
    hint = f"{note.facts['hint']}: evalstore explain {'.'.join([*kind, *keys])}"
    if not keys:
        # An empty file, or a part that is not a mapping.
        hint = f"create one: evalstore new {_NEW[name]} ID" if name in _NEW else said
    return note._replace(facts={**note.facts, "hint": hint})


def lint_check_shapes(rubric: Any) -> Iterator[Note]:
    """Yield the violations of the kinds' schemas in a rubric's checks."""
    for index, check in list_mappings(rubric, "checks"):
        pointer = ("checks", index)
        if "kind" not in check:
            continue
        kind = check["kind"]
        if isinstance(kind, str) and kind in list_check_kinds():
            yield from lint_shape(_CHECK_SCHEMAS + kind, check, pointer)
        else:
            hint, guess = _explain_unknown_kind(kind, rubric)
            found, fix = describe_value(kind), Fix(guess) if guess else None
            yield make_note(
                "check-kind-unknown", (*pointer, "kind"), fix=fix, found=found, hint=hint
            )


def _explain_unknown_kind(kind: Any, rubric: Any) -> tuple[str, str | None]:
    """Return a hint on an unknown kind, and the kind that is meant if only one is near."""
    from evalstore.checks.kinds import suggest_kind  # most files have no unknown kind

    kinds = list_check_kinds()
    if isinstance(kind, str) and (kind in _PROGRAM_KINDS or _BUNDLES in rubric):
        return _PROGRAM_HINT, None
    guess = find_only_near(kind, tuple(kinds)) if isinstance(kind, str) else None
    said = suggest_kind(kind) if isinstance(kind, str) else ""
    return said or f"the kinds are {list_names(kinds)}", guess


def is_valid_by_schema(name: str, value: Any) -> bool:
    """Whether `value` fully meets the schema `name`."""
    meets = _compile_named_predicate(name)
    return meets(value) if meets else _compile_named(name).is_valid(value)


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return a schema by its path below schema/, or a part: `question` is for one row."""
    if name in _PARTS:
        definitions = load_schema(_PARTS[name])["$defs"]
        return {**definitions[name], "$defs": definitions}
    data: dict[str, Any] = json.loads(
        (find_resource_folder("schema") / f"{name}.schema.json").read_text("utf-8")
    )
    return data


@cache
def list_key_names(name: str) -> frozenset[str]:
    """Return the keys that a schema names, at any depth."""
    names: set[str] = set()
    waiting: list[Any] = [load_schema(name)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            names.update(get_mapping(part, "properties"))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(names)


def load_open_schema(name: str) -> Any:
    """Return the schema `name` with all extra keys allowed, because `keys` reports them better."""
    return _drop_closed(load_schema(name))


def _drop_closed(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: _drop_closed(item) for key, item in part.items() if key != "unevaluatedProperties"
        }
    return [_drop_closed(item) for item in part] if isinstance(part, list) else part


@cache
def _compile_named(name: str) -> Schema:
    from evalstore.languages.schemas import compile_shipped_schema

    return compile_shipped_schema(load_open_schema(name))


@cache
def _compile_named_predicate(name: str) -> Predicate | None:
    return compile_predicate(load_open_schema(name))


def _last_key(pointer: Pointer) -> str:
    return next((part for part in reversed(pointer) if isinstance(part, str)), "")
