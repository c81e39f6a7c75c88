"""Words schema violations for people: a row for each keyword of JSON Schema."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from evalstore.documents import Pointer, write_canonical
from evalstore.languages.schemas import compile_predicate
from evalstore.lint.notes import (
    Mend,
    Note,
    describe_value,
    list_mappings,
    list_names,
    make_note,
    name_place,
    suggest_name,
)
from evalstore.model import Kind
from evalstore.places import find_resource_folder

if TYPE_CHECKING:
    from evalstore.languages.schemas import Predicate, Schema, Violation
from evalstore.text import find_only_near

_TYPES = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}
_EMPTY = "is empty"
_HINT_WORDS = 4  # a shorter description only repeats the key
_LITERAL = re.compile(r"true|false|[-+]?[0-9]+(\.[0-9]+)?")

# Keys that a schema forbids (`not: {}`) because another one stands beside them.
_FORBIDDEN = {
    "questions": "`rows` replaces it: keep one of them",
    "judge_prompt_ref": "`jury` replaces it: keep one of them",
    "schema": "`expected_fields` replaces it: keep one of them",
    "scale": "only score_type: continuous has a scale",
    "level_names": "only score_type: levels has levels",
}


def note_violation(violation: Violation, at: Pointer) -> Iterator[Note]:
    """Yield the notes of a violation in a value that stands at `at`."""
    return _WORDS.get(violation.keyword, _note_other)(violation, (*at, *violation.pointer))


def _note_missing(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    properties = violation.schema.get("properties", {})
    for key in violation.expected:
        if key not in violation.instance:
            described = properties.get(key, {})
            yield make_note(
                "key-missing", pointer, name=_name_inside(key, pointer), hint=read_first_sentence(described)
            )


def _note_dependent(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    for key, needed in violation.expected.items():
        for missing in needed if key in violation.instance else ():
            if missing not in violation.instance:
                yield make_note(
                    "key-missing", (*pointer, key), of_key=True, name=f"`{missing}`", hint=f"`{key}` needs it"
                )


def _note_type(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    value, types = violation.instance, violation.expected
    types = [types] if isinstance(types, str) else types
    hint, mend = read_first_sentence(violation.schema), None
    if isinstance(value, str) and {"number", "integer", "boolean"} & set(types) and _LITERAL.fullmatch(value):
        hint, mend = "remove the quotes", Mend(quoted=False)
    elif "string" in types and not isinstance(value, dict | list | None):
        hint, mend = "put it in quotes", Mend(quoted=True)
    elif "string" in types and value is not None:
        hint = "; ".join(filter(None, ("in YAML, a string that begins with { or [ needs quotes", hint)))
    elif "array" in types:
        hint = "; ".join(filter(None, ("begin each item with - and a space", hint)))
    wanted, found = " or ".join(_TYPES[type_] for type_ in types), _with_type(value)
    yield make_note(
        "value-type-wrong", pointer, mend=mend, name=name_place(pointer), wanted=wanted, found=found, hint=hint
    )


def _note_enum(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    allowed = [violation.expected] if violation.keyword == "const" else violation.expected
    value, names = violation.instance, [item for item in allowed if isinstance(item, str)]
    hint = suggest_name(value, names, read_first_sentence(violation.schema))
    wanted = ("one of " if len(allowed) > 1 else "") + ", ".join(str(item) for item in allowed)
    guess = find_only_near(value, tuple(names)) if isinstance(value, str) else None
    yield make_note(
        "value-not-allowed",
        pointer,
        mend=Mend(guess) if guess else None,
        name=name_place(pointer),
        wanted=wanted,
        found=describe_value(value),
        hint=hint,
    )


def _note_limit(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    size = _describe_size(violation.instance)
    problem = size if size == _EMPTY else f"{size}; {_BOUNDS[violation.keyword].format(violation.expected)}"
    hint = read_first_sentence(violation.schema)
    yield make_note("value-out-of-range", pointer, name=name_place(pointer), problem=problem, hint=hint)


def _note_form(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    examples = violation.schema.get("examples", ())
    hint = f"as in {describe_value(examples[0])}" if examples else read_first_sentence(violation.schema)
    if violation.keyword == "not" and (reason := read_first_sentence(violation.expected)):
        hint = reason
    yield make_note(
        "value-malformed",
        pointer,
        of_key=violation.of_key,
        name="a key" if violation.of_key else name_place(pointer),
        found=describe_value(violation.instance),
        hint=hint,
    )


def _note_forbidden(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    if violation.expected:
        yield from _note_form(violation, pointer)
    else:
        hint = _FORBIDDEN.get(str(pointer[-1]) if pointer else "", "")
        yield make_note("key-not-allowed", pointer, of_key=True, name=name_place(pointer), hint=hint)


def _note_additional(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    known = violation.schema.get("properties", {})
    hint = suggest_name(pointer[-1], known, f"the keys are {list_names(known)}" if known else "")
    yield make_note("key-not-allowed", pointer, of_key=True, name=name_place(pointer), hint=hint)


def _note_repeats(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    counts = Counter(write_canonical(item) for item in violation.instance)
    repeated = next((item for item in violation.instance if counts[write_canonical(item)] > 1), None)
    yield make_note(
        "value-out-of-range",
        pointer,
        name=name_place(pointer),
        problem=f"contains {describe_value(repeated)} twice",
        hint="keep one of them",
    )


def _note_other(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    """Name the keyword only: the library's own sentence holds the whole value in Python's spelling."""
    hint = read_first_sentence(violation.schema)
    yield make_note("schema-violated", pointer, name=name_place(pointer), keyword=violation.keyword, hint=hint)


def _note_false(_: Violation, pointer: Pointer) -> Iterator[Note]:
    """Name the mapping around the key, because the library no longer knows the key."""
    yield make_note("key-not-allowed", pointer, name=f"a key of {name_place(pointer)}", hint="")


_BOUNDS = {
    "minimum": "at least {} is needed",
    "exclusiveMinimum": "more than {} is needed",
    "minLength": "at least {} is needed",
    "minItems": "at least {} is needed",
    "minProperties": "at least {} is needed",
    "maximum": "at most {} is allowed",
    "exclusiveMaximum": "less than {} is allowed",
    "maxLength": "at most {} are allowed",
    "maxItems": "at most {} are allowed",
    "maxProperties": "at most {} are allowed",
    "multipleOf": "a multiple of {} is needed",
}
_WORDS: dict[str, Callable[[Violation, Pointer], Iterator[Note]]] = {
    **dict.fromkeys(_BOUNDS, _note_limit),
    "required": _note_missing,
    "dependentRequired": _note_dependent,
    "type": _note_type,
    "enum": _note_enum,
    "const": _note_enum,
    "pattern": _note_form,
    "format": _note_form,
    "not": _note_forbidden,
    "None": _note_false,  # the schema `false` has no keyword
    "additionalProperties": _note_additional,
    "unevaluatedProperties": _note_additional,
    "uniqueItems": _note_repeats,
}


def _describe_size(value: Any) -> str:
    if not isinstance(value, str | list | dict):
        return f"is {describe_value(value)}"
    unit = "characters" if isinstance(value, str) else "items" if isinstance(value, list) else "keys"
    return f"has {len(value):,} {unit}" if value else _EMPTY


def _with_type(value: Any) -> str:
    return f"the string {describe_value(value)}" if isinstance(value, str) else describe_value(value)


def _name_inside(key: str, pointer: Pointer) -> str:
    return f"`{key}` of {name_place(pointer)}" if pointer else f"`{key}`"


def read_first_sentence(described: Any) -> str:
    """Return what a schema says first of a key, without the full stop; empty where that only repeats the key."""
    text: str = described.get("description", "") if isinstance(described, dict) else ""
    sentence = re.split(r"(?<=[.]) |\n", text, maxsplit=1)[0].removesuffix(".")
    return sentence if sentence.count(" ") >= _HINT_WORDS - 1 and not sentence.endswith(":") else ""


ROOTS = {Kind.RUBRIC: "base/rubric", Kind.JUDGE: "judge", Kind.DATASET: "dataset"}
_NEW = {name: kind.value for kind, name in ROOTS.items()}  # what `evalstore new` writes
SETTINGS = "evalstore"
ACCEPTED = "accepted"
CHECK, QUESTION = "check", "question"
_CHECK_SCHEMAS = "checks/"

# Parts that are checked without the document around them, by name: the schema that defines each.
_PARTS = {CHECK: "base/rubric", QUESTION: "dataset"}

_REFERENCES = ("rubric_ref", "judge_prompt_ref", "validated_against", "dataset")

# What another rule says better: (the last key of the pointer, the schema's keyword).
_LEFT_TO_OTHER_RULES = {
    *((key, keyword) for key in ("id", "version") for keyword in ("pattern", "not")),
    *((key, keyword) for key in _REFERENCES for keyword in ("pattern", "not")),
    *((key, keyword) for key in ("tpr", "tnr") for keyword in ("minimum", "maximum")),
    ("required", "pattern"),
    ("required", "not"),
    ("version", "type"),
    *((key, keyword) for key in ("validated_at", "until", "day", "since") for keyword in ("pattern", "not")),
}


def lint_artifact_shape(kind: Kind, value: Any) -> Iterator[Note]:
    """Yield what the schemas have against an artifact: its kind's, and for a rubric those of its checks' kinds."""
    yield from lint_shape(ROOTS[kind], value)
    if kind is Kind.RUBRIC:
        yield from lint_check_shapes(value)


def lint_shape(name: str, value: Any, pointer: Pointer = ()) -> Iterator[Note]:
    """Yield what the schema `name` has against `value`, which stands at `pointer`."""
    # Most values are valid, which a predicate says a hundred times as fast as the library.
    if (meets := _compile_named_predicate(name)) and meets(value):
        return
    for violation in _compile_named(name).find_violations(value):
        if (_last_key(violation.pointer), violation.keyword) not in _LEFT_TO_OTHER_RULES:
            found = _add_description(name, violation)
            yield from (_name_topic(note, name, found) for note in note_violation(found, pointer))


def _add_description(name: str, violation: Violation) -> Violation:
    """Return a violation with the words of its key, where the branch of a condition that it violates has none."""
    if not isinstance(violation.schema, dict) or "description" in violation.schema or len(violation.pointer) != 1:
        return violation
    key = load_schema(name).get("properties", {}).get(violation.pointer[0])
    if not isinstance(key, dict) or "else" not in key:
        return violation
    return replace(violation, schema={"description": key["description"], **violation.schema})


def _name_topic(note: Note, name: str, violation: Violation) -> Note:
    """Return a note that repeats what the schema says of a key, with the command that says all of it."""
    said, names = read_first_sentence(violation.schema), list_key_names(name)
    # A name that the user chose, as that of a target, is no key of the schema.
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
    """Yield what the kinds' schemas have against a rubric's checks."""
    for index, check in list_mappings(rubric, "checks"):
        pointer = ("checks", index)
        if "kind" not in check:
            continue
        kind = check["kind"]
        if isinstance(kind, str) and kind in list_check_kinds():
            yield from lint_shape(_CHECK_SCHEMAS + kind, check, pointer)
        else:
            hint = suggest_name(kind, list_check_kinds(), f"the kinds are {list_names(list_check_kinds())}")
            guess = find_only_near(kind, tuple(list_check_kinds())) if isinstance(kind, str) else None
            found, mend = describe_value(kind), Mend(guess) if guess else None
            yield make_note("check-kind-unknown", (*pointer, "kind"), mend=mend, found=found, hint=hint)


def is_valid_by_schema(name: str, value: Any) -> bool:
    """Whether `value` meets the schema `name` in full."""
    meets = _compile_named_predicate(name)
    return meets(value) if meets else _compile_named(name).is_valid(value)


@cache
def list_check_kinds() -> tuple[str, ...]:
    """Return the check kinds that have a schema."""
    return tuple(
        sorted(path.name.split(".")[0] for path in (find_resource_folder("schema") / "checks").glob("*.schema.json"))
    )


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return a schema as data, by its path below schema/, or a part of one: `question` is what one row meets."""
    if name in _PARTS:
        definitions = load_schema(_PARTS[name])["$defs"]
        return {**definitions[name], "$defs": definitions}
    data: dict[str, Any] = json.loads((find_resource_folder("schema") / f"{name}.schema.json").read_text("utf-8"))
    return data


@cache
def list_key_names(name: str) -> frozenset[str]:
    """Return the keys that a schema names, at any depth."""
    names: set[str] = set()
    waiting: list[Any] = [load_schema(name)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            properties = part.get("properties")
            names.update(properties if isinstance(properties, dict) else ())
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return frozenset(names)


def load_open_schema(name: str) -> Any:
    """Return the schema `name` with extra keys allowed everywhere: `keys` says better where one belongs."""
    return _drop_closed(load_schema(name))


def _drop_closed(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _drop_closed(item) for key, item in part.items() if key != "unevaluatedProperties"}
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
