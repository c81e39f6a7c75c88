"""Values that a check takes from the question: `{from: key}` in place of a list, a text, a number or a schema.

A check that takes values is, for each question, the plain check with the values written in: it is filled and prepared
question by question, and no kind knows where its parameters come from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from evalstore.documents import Pointer, format_json_pointer
from evalstore.languages.schemas import Schema, compile_shipped_schema
from evalstore.model import Grade, Question
from evalstore.model.outcome import grade_error, grade_missing
from evalstore.places import find_resource_folder
from evalstore.text import make_excerpt

# The parameters that may come from the question, whatever the kind; of `variables`, each text by itself.
QUESTION_PARAMS = frozenset(
    {"values", "facts", "tools", "forbidden", "pattern", "schema", "expected_fields", "each"}
    | {"required_sections", "forbidden_patterns", "min_headings", "max_heading_level", "min_code_blocks"}
    | {"min_paragraphs", "min_chars", "max_chars", "min_matches"}
)
_TYPE_NAMES = {"array": "a list", "string": "a text", "integer": "a whole number", "object": "a mapping"}
_FROM = "from"
_VARIABLES = "variables"


class QuestionValue(NamedTuple):
    """A place in a check's parameters whose value is the question's, under `key`."""

    pointer: Pointer
    key: str


def find_question_key(value: Any) -> str | None:
    """Return the key that `{from: key}` names; None for any other value. Beside `from`, nothing is read."""
    key = value.get(_FROM) if isinstance(value, Mapping) else None
    return key if isinstance(key, str) and key else None


def is_empty(value: Any) -> bool:
    """Whether a question that has this value gives a check nothing to grade by."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def list_question_values(params: Mapping[str, Any]) -> tuple[QuestionValue, ...]:
    """Return the places of a check's mapping that are filled from the question, in order."""
    return tuple(_find_question_values(params))


def _find_question_values(params: Mapping[str, Any]) -> Iterator[QuestionValue]:
    for name, value in params.items():
        if name in QUESTION_PARAMS and (key := find_question_key(value)):
            yield QuestionValue((name,), key)
        elif name == _VARIABLES and isinstance(value, Mapping):
            for variable, text in value.items():
                if key := find_question_key(text):
                    yield QuestionValue((name, variable), key)


def fill_params(params: Mapping[str, Any], values: Mapping[Pointer, Any]) -> dict[str, Any]:
    """Return a check's mapping with these values written at their places."""
    filled = dict(params)
    for pointer, value in values.items():
        name = str(pointer[0])
        filled[name] = value if len(pointer) == 1 else {**filled[name], pointer[1]: value}
    return filled


def fill_from_question(
    params: Mapping[str, Any], places: tuple[QuestionValue, ...], question: Question | None
) -> Mapping[str, Any] | Grade:
    """Return a check with the question's values, or its grade where there is no value, or none of the right type."""
    row = question.row if question else {}
    for place in places:
        if is_empty(row.get(place.key)):
            return grade_missing(_explain_absence(place.key, question))
    found = {place.pointer: row[place.key] for place in places}
    for place in places:
        if problem := next(find_value_problems(str(params["kind"]), place.pointer, row[place.key]), None):
            where = question.place if question else ""
            at = format_json_pointer(problem.pointer)
            return grade_error(f"the question's {make_excerpt(place.key)}{at} {problem.message}{where}")
    return fill_params(params, found)


def _explain_absence(key: str, question: Question | None) -> str:
    name = make_excerpt(key)
    if question is None:
        return f"no question was given to take {name} from"
    if key in question.row:
        return f"the question's {name} is empty"
    return f"the question has no {name}{question.explain_absence(key)}"


class ValueProblem(NamedTuple):
    """What is wrong with a value that a question gives a check, as in `is not a list`, at a place within the value."""

    pointer: Pointer
    message: str


def find_value_problems(kind: str, at: Pointer, value: Any) -> Iterator[ValueProblem]:
    """Yield why a parameter of this kind, at `at` in the check, cannot have this value."""
    if find_question_key(value):
        yield ValueProblem((), "is not a value: it names another key")
        return
    for violation in _compile_param(kind, str(at[0]), inner=len(at) > 1).find_violations(value):
        name = _TYPE_NAMES.get(str(violation.expected)) if violation.keyword == "type" else None
        yield ValueProblem(violation.pointer, f"is not {name or f'valid: {violation.message}'}")


@cache
def _compile_param(kind: str, name: str, *, inner: bool) -> Schema:
    """Return the schema of one parameter of a kind, without `from`; `inner`: of a text within it."""
    text = (find_resource_folder("schema") / "checks" / f"{kind}.schema.json").read_text("utf-8")
    schema = json.loads(text)
    param = schema["properties"][name]
    param = param["additionalProperties"] if inner else param
    # Without the mapping that names a key of the question.
    plain = {key: item for key, item in param.items() if key not in {"if", "then", "else"}}
    return compile_shipped_schema({"$defs": schema["$defs"], **plain, **param.get("else", {})})
