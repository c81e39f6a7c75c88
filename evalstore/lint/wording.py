"""Words schema violations for people: a row for each keyword of JSON Schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evalstore.documents import Pointer, write_canonical
from evalstore.lint.notes import (
    Fix,
    Note,
    describe_value,
    list_names,
    make_note,
    name_place,
    suggest_name,
)
from evalstore.text import find_only_near

if TYPE_CHECKING:
    from evalstore.languages.schemas import Violation

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

# Keys that a schema forbids (`not: {}`) because of another one.
_FORBIDDEN = {
    "questions": "`rows` replaces it: keep one of them",
    "judge_prompt_ref": "`jury` replaces it: keep one of them",
    "schema": "`expected_fields` replaces it: keep one of them",
    "scale": "only score_type: continuous has a scale",
    "level_names": "only score_type: levels has levels",
}
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


def note_violation(violation: Violation, at: Pointer) -> Iterator[Note]:
    """Yield the notes on a violation in the value at `at`."""
    return _WORDS.get(violation.keyword, _note_other)(violation, (*at, *violation.pointer))


def _note_missing(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    properties = violation.schema.get("properties", {})
    for key in violation.expected:
        if key not in violation.instance:
            described = properties.get(key, {})
            yield make_note(
                "key-missing",
                pointer,
                name=_name_inside(key, pointer),
                hint=read_first_sentence(described),
            )


def _note_choice(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    """Name the keys one of which is needed; any other choice is named by its keyword."""
    keys = violation.needed_keys
    if not keys:
        yield from _note_other(violation, pointer)
        return
    others = ", ".join(f"`{key}`" for key in keys[:-1])
    name = f"{others} or {_name_inside(keys[-1], pointer)}"
    yield make_note("key-missing", pointer, name=name, hint="")


def _note_dependent(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    for key, needed in violation.expected.items():
        for missing in needed if key in violation.instance else ():
            if missing not in violation.instance:
                yield make_note(
                    "key-missing",
                    (*pointer, key),
                    of_key=True,
                    name=f"`{missing}`",
                    hint=f"`{key}` needs it",
                )


def _note_type(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    value, types = violation.instance, violation.expected
    types = [types] if isinstance(types, str) else types
    hint, fix = read_first_sentence(violation.schema), None
    if (
        isinstance(value, str)
        and {"number", "integer", "boolean"} & set(types)
        and _LITERAL.fullmatch(value)
    ):
        hint, fix = "remove the quotes", Fix(quoted=False)
    elif "string" in types and not isinstance(value, dict | list | None):
        hint, fix = "put it in quotes", Fix(quoted=True)
    elif "string" in types and value is not None:
        hint = "; ".join(
            filter(None, ("in YAML, a string that begins with { or [ needs quotes", hint))
        )
    elif "array" in types:
        hint = "; ".join(filter(None, ("begin each item with - and a space", hint)))
    wanted, found = " or ".join(_TYPES[type_] for type_ in types), _with_type(value)
    yield make_note(
        "value-type-wrong",
        pointer,
        fix=fix,
        name=name_place(pointer),
        wanted=wanted,
        found=found,
        hint=hint,
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
        fix=Fix(guess) if guess else None,
        name=name_place(pointer),
        wanted=wanted,
        found=describe_value(value),
        hint=hint,
    )


def _note_limit(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    size = _describe_size(violation.instance)
    problem = (
        size
        if size == _EMPTY
        else f"{size}; {_BOUNDS[violation.keyword].format(violation.expected)}"
    )
    hint = read_first_sentence(violation.schema)
    yield make_note(
        "value-out-of-range", pointer, name=name_place(pointer), problem=problem, hint=hint
    )


def _note_form(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    examples = violation.schema.get("examples", ())
    hint = (
        f"as in {describe_value(examples[0])}"
        if examples
        else read_first_sentence(violation.schema)
    )
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
        yield make_note(
            "key-not-allowed", pointer, of_key=True, name=name_place(pointer), hint=hint
        )


def _note_additional(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    known = violation.schema.get("properties", {})
    hint = suggest_name(pointer[-1], known, f"the keys are {list_names(known)}" if known else "")
    yield make_note("key-not-allowed", pointer, of_key=True, name=name_place(pointer), hint=hint)


def _note_repeats(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    counts = Counter(write_canonical(item) for item in violation.instance)
    repeated = next(
        (item for item in violation.instance if counts[write_canonical(item)] > 1), None
    )
    yield make_note(
        "value-out-of-range",
        pointer,
        name=name_place(pointer),
        problem=f"contains {describe_value(repeated)} twice",
        hint="keep one of them",
    )


def _note_other(violation: Violation, pointer: Pointer) -> Iterator[Note]:
    """Name only the keyword: the library's sentence has the whole value in Python's spelling."""
    hint = read_first_sentence(violation.schema)
    yield make_note(
        "schema-violated", pointer, name=name_place(pointer), keyword=violation.keyword, hint=hint
    )


def _note_false(_: Violation, pointer: Pointer) -> Iterator[Note]:
    """Name the mapping around the key, because the library no longer knows the key."""
    yield make_note("key-not-allowed", pointer, name=f"a key of {name_place(pointer)}", hint="")


_WORDS: dict[str, Callable[[Violation, Pointer], Iterator[Note]]] = {
    **dict.fromkeys(_BOUNDS, _note_limit),
    "anyOf": _note_choice,
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
    return f"has {len(value):,} {_name_unit(value)}" if value else _EMPTY


def _name_unit(value: str | list[Any] | dict[str, Any]) -> str:
    if isinstance(value, str):
        return "characters"
    return "items" if isinstance(value, list) else "keys"


def _with_type(value: Any) -> str:
    return (
        f"the string {describe_value(value)}" if isinstance(value, str) else describe_value(value)
    )


def _name_inside(key: str, pointer: Pointer) -> str:
    return f"`{key}` of {name_place(pointer)}" if pointer else f"`{key}`"


def read_first_sentence(described: Any) -> str:
    """Return the first sentence of a schema about a key, without the full stop.

    It is "" if it only repeats the key.
    """
    text: str = described.get("description", "") if isinstance(described, dict) else ""
    sentence = re.split(r"(?<=[.]) |\n", text, maxsplit=1)[0].removesuffix(".")
    return sentence if sentence.count(" ") >= _HINT_WORDS - 1 and not sentence.endswith(":") else ""
