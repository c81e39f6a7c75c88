"""Values that a check takes from the question: `{from: key}` in place of a list, text or number.

For each question, a check that takes values is the plain check with the values written in: it is
filled and prepared question by question, and no kind knows where its parameters come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.documents import Pointer, format_json_pointer, write_canonical
from evalstore.model import Grade, Question
from evalstore.model.check_schemas import load_check_schema
from evalstore.model.outcome import grade_error, grade_missing
from evalstore.model.question_params import (
    QuestionValue,
    fill_params,
    find_question_key,
    is_empty,
    list_question_values,
)
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.languages.schemas import Schema

_NAME = "name"
_LARGEST = 10**18  # every count is less
_TYPE_NAMES = {
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "object": "a mapping",
}


def fill_from_question(
    params: Mapping[str, Any], places: tuple[QuestionValue, ...], question: Question | None
) -> Mapping[str, Any] | Grade:
    """Return a check with the question's values, or its grade if one is missing or a misfit."""
    row = question.row if question else {}
    for place in places:
        if is_empty(row.get(place.key)):
            return grade_missing(_explain_absence(place.key, question))
    for place in places:
        if problem := next(
            find_value_problems(str(params["kind"]), place.pointer, row[place.key]), None
        ):
            where = question.place if question else ""
            at = format_json_pointer(problem.pointer)
            return grade_error(
                f"the question's {make_excerpt(place.key)}{at} {problem.message}{where}"
            )
    return fill_values(str(params["kind"]), params, row)


def fill_values(kind: str, params: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a check's mapping with the values that it takes from a question that has them all."""
    places = list_question_values(params)
    return fill_params(
        params, {place.pointer: read_value(kind, place.pointer, row[place.key]) for place in places}
    )


def _explain_absence(key: str, question: Question | None) -> str:
    name = make_excerpt(key)
    if question is None:
        return f"no question was given to take {name} from"
    if key in question.row:
        return f"the question's {name} is empty"
    return f"the question has no {name}{question.explain_absence(key)}"


class ValueProblem(NamedTuple):
    """What is wrong with a question's value, such as `is not a list`, at a place within it."""

    pointer: Pointer
    message: str


def read_value(kind: str, at: Pointer, value: Any) -> Any:
    """Return a question's value in the form of the parameter at `at`; a misfit stays as it is.

    A text or a number in place of a list becomes a list of one text, `4000.0` is the integer 4000,
    and a tool's name means the tool.
    """
    wanted = _find_param(kind, str(at[0]), inner=len(at) > 1)
    if wanted.type == "integer":
        return _read_integer(value)
    if wanted.type != "array":
        return value
    items = value if isinstance(value, list | tuple | dict) else _read_lone_item(value)
    if not wanted.of_named or not isinstance(items, list | tuple):
        return items
    return [{_NAME: item} if isinstance(item, str) else item for item in items]


def _read_lone_item(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return value
    # Equal numbers become one text, however they are written.
    return [value if isinstance(value, str) else write_canonical(value)]


def _read_integer(value: Any) -> Any:
    # The range comes first: infinity has no whole part, and a large power of ten would be written
    # out.
    if not isinstance(value, float | Decimal) or not -_LARGEST < value < _LARGEST:
        return value
    return int(value) if value == int(value) else value


def locate_in_value(value: Any, pointer: Pointer) -> Pointer:
    """Return where a place in the read value is in the question's own, as far as it is written."""
    for depth, step in enumerate(pointer):
        within = isinstance(value, dict) and step in value
        if not within and not (
            isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
        ):
            return pointer[:depth]
        value = value[step]
    return pointer


def find_value_problems(kind: str, at: Pointer, value: Any) -> Iterator[ValueProblem]:
    """Yield why a parameter of this kind, at `at` in the check, cannot have this value."""
    if find_question_key(value):
        yield ValueProblem((), "is not a value: it names another key")
        return
    schema = _find_param(kind, str(at[0]), inner=len(at) > 1).schema
    for violation in schema.find_violations(read_value(kind, at, value)):
        name = _TYPE_NAMES.get(str(violation.expected)) if violation.keyword == "type" else None
        where = locate_in_value(value, violation.pointer)
        yield ValueProblem(where, f"is not {name or f'valid: {violation.message}'}")


def find_wanted_type(kind: str, at: Pointer) -> str:
    """Return in words what type a parameter takes from a question, such as a list or an integer."""
    return _TYPE_NAMES.get(_find_param(kind, str(at[0]), inner=len(at) > 1).type, "a JSON Schema")


class _Param(NamedTuple):
    """A parameter without `from`: its schema, its values' type, and if these are named mappings."""

    schema: Schema
    type: str
    of_named: bool


@cache
def _find_param(kind: str, name: str, *, inner: bool) -> _Param:
    """Return one parameter of a kind; `inner` is a text within it."""
    from evalstore.languages.schemas import compile_shipped_schema  # most rubrics take no values

    schema = load_check_schema(kind)
    param = schema["properties"][name]
    param = param["additionalProperties"] if inner else param
    # Without the mapping that names a key of the question.
    plain = {key: item for key, item in param.items() if key not in {"if", "then", "else"}}
    plain |= param.get("else", {})
    item = schema["$defs"].get(str(plain.get("items", {}).get("$ref")).rpartition("/")[2], {})
    of_named = item.get("type") == "object" and item.get("required") == [_NAME]
    return _Param(
        compile_shipped_schema({"$defs": schema["$defs"], **plain}),
        str(plain.get("type")),
        of_named,
    )
