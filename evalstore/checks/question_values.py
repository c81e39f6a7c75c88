"""Values that a check takes from the question: `{from: key}` in place of a list, a text, a number or a schema.

A check that takes values is, for each question, the plain check with the values written in: it is filled and prepared
question by question, and no kind knows where its parameters come from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.documents import Pointer, format_json_pointer
from evalstore.model import Grade, Question
from evalstore.model.outcome import grade_error, grade_missing
from evalstore.model.rubric import QuestionValue, fill_params, find_question_key, is_empty
from evalstore.places import find_resource_folder
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.languages.schemas import Schema

_TYPE_NAMES = {"array": "a list", "string": "a text", "integer": "a whole number", "object": "a mapping"}


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
    from evalstore.languages.schemas import compile_shipped_schema  # most rubrics take no values

    text = (find_resource_folder("schema") / "checks" / f"{kind}.schema.json").read_text("utf-8")
    schema = json.loads(text)
    param = schema["properties"][name]
    param = param["additionalProperties"] if inner else param
    # Without the mapping that names a key of the question.
    plain = {key: item for key, item in param.items() if key not in {"if", "then", "else"}}
    return compile_shipped_schema({"$defs": schema["$defs"], **plain, **param.get("else", {})})
