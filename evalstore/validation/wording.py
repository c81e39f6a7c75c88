"""Violations of a schema in the words of people: one row per keyword of JSON Schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from evalstore.documents import Pointer, write_canonical
from evalstore.schemas import Violation
from evalstore.validation.notes import Note, guessed, listed, named, note, shown

_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}
_EMPTY = "is empty"
_HINT_WORDS = 4  # a shorter description says nothing that the key does not say
_LITERAL = re.compile(r"true|false|[-+]?[0-9]+(\.[0-9]+)?")

# Keys that a schema forbids (`not: {}`) because another one stands beside them.
_FORBIDDEN = {
    "questions": "`rows` takes its place: keep one of the two",
    "judge_prompt_ref": "`jury` takes its place: keep one of the two",
    "schema": "`expected_fields` takes its place: keep one of the two",
    "scale": "only score_type: continuous has a scale",
    "level_names": "only score_type: levels has levels",
}


def worded(violation: Violation, at: Pointer) -> Iterator[Note]:
    """Yield the notes of a violation in a value that stands at `at`."""
    return _WORDS.get(violation.keyword, _other)(violation, (*at, *violation.pointer))


def _required(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    properties = violation.schema.get("properties", {})
    for key in violation.expected:
        if key not in violation.instance:
            described = properties.get(key, {})
            yield note("key-missing", pointer, name=_inside(key, pointer), hint=_first_sentence(described))


def _dependent(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    for key, needed in violation.expected.items():
        for missing in needed if key in violation.instance else ():
            if missing not in violation.instance:
                yield note("key-missing", (*pointer, key), of_key=True, name=f"`{missing}`", hint=f"`{key}` needs it")


def _type(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    value, types = violation.instance, violation.expected
    types = [types] if isinstance(types, str) else types
    hint = _first_sentence(violation.schema)
    if isinstance(value, str) and {"number", "integer", "boolean"} & set(types) and _LITERAL.fullmatch(value):
        hint = "remove the quotes"
    elif "string" in types and not isinstance(value, dict | list | None):
        hint = "put it in quotes"
    wanted = " or ".join(_TYPES[type_] for type_ in types)
    yield note("value-type-wrong", pointer, name=named(pointer), wanted=wanted, found=_with_type(value), hint=hint)


def _enum(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    allowed = [violation.expected] if violation.keyword == "const" else violation.expected
    value, names = violation.instance, [item for item in allowed if isinstance(item, str)]
    hint = guessed(value, names, _first_sentence(violation.schema))
    wanted = ("one of " if len(allowed) > 1 else "") + ", ".join(str(item) for item in allowed)
    yield note("value-not-allowed", pointer, name=named(pointer), wanted=wanted, found=shown(value), hint=hint)


def _limit(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    size = _size(violation.instance)
    problem = size if size == _EMPTY else f"{size}; {_BOUNDS[violation.keyword].format(violation.expected)}"
    hint = _first_sentence(violation.schema)
    yield note("value-out-of-range", pointer, name=named(pointer), problem=problem, hint=hint)


def _form(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    examples = violation.schema.get("examples", ())
    hint = f"as in {shown(examples[0])}" if examples else _first_sentence(violation.schema)
    yield note(
        "value-malformed",
        pointer,
        of_key=violation.of_key,
        name="the key" if violation.of_key else named(pointer),
        found=shown(violation.instance),
        hint=hint,
    )


def _not(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    if violation.expected:
        yield from _form(violation, pointer)
    else:
        hint = _FORBIDDEN.get(str(pointer[-1]) if pointer else "", "")
        yield note("key-not-allowed", pointer, of_key=True, name=named(pointer), hint=hint)


def _additional(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    known = violation.schema.get("properties", {})
    hint = guessed(pointer[-1], known, f"the keys are {listed(known)}" if known else "")
    yield note("key-not-allowed", pointer, of_key=True, name=named(pointer), hint=hint)


def _repeats(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    counts = Counter(write_canonical(item) for item in violation.instance)
    repeated = next((item for item in violation.instance if counts[write_canonical(item)] > 1), None)
    yield note(
        "value-out-of-range",
        pointer,
        name=named(pointer),
        problem=f"holds {shown(repeated)} twice",
        hint="keep one of the two",
    )


def _other(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    """Say the keyword only: the library's sentence holds the whole value, as Python writes it."""
    hint = _first_sentence(violation.schema)
    yield note("schema-violated", pointer, name=named(pointer), keyword=violation.keyword, hint=hint)


def _false(_: Violation, pointer: Pointer) -> Iterator[Note]:
    """Speak of the mapping around it, because the library has lost the key by then."""
    yield note("key-not-allowed", pointer, name=f"a key of {named(pointer)}", hint="")


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
    **dict.fromkeys(_BOUNDS, _limit),
    "required": _required,
    "dependentRequired": _dependent,
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "pattern": _form,
    "format": _form,
    "not": _not,
    "None": _false,  # the schema `false` has no keyword
    "additionalProperties": _additional,
    "unevaluatedProperties": _additional,
    "uniqueItems": _repeats,
}


def _size(value: Any) -> str:
    if not isinstance(value, str | list | dict):
        return f"is {shown(value)}"
    unit = "characters" if isinstance(value, str) else "items" if isinstance(value, list) else "keys"
    return f"has {len(value):,} {unit}" if value else _EMPTY


def _with_type(value: Any) -> str:
    return f"the text {shown(value)}" if isinstance(value, str) else shown(value)


def _inside(key: str, pointer: Pointer) -> str:
    return f"`{key}` of {named(pointer)}" if pointer else f"`{key}`"


def _first_sentence(described: Any) -> str:
    text: str = described.get("description", "") if isinstance(described, dict) else ""
    sentence = re.split(r"(?<=[.]) |\n", text, maxsplit=1)[0].removesuffix(".")
    return sentence if sentence.count(" ") >= _HINT_WORDS - 1 and not sentence.endswith(":") else ""
