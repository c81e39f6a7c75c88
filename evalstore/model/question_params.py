"""Finds the parameters of a check that are filled from the question, and fills them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evalstore.documents import Pointer
from evalstore.model.measures import MEASURES

# The parameters that may come from the question, whatever the kind; in `variables`, each text
# separately.
QUESTION_PARAMS = frozenset(
    {"values", "facts", "tools", "forbidden", "pattern", "schema", "expected_fields", "each"}
    | {"targets"}
    | {
        "required_sections",
        "forbidden_patterns",
        "min_headings",
        "max_heading_level",
        "min_code_blocks",
    }
    | {"min_paragraphs", "min_chars", "max_chars", "min_matches"}
    | {*MEASURES}
)
_FROM = "from"
_VARIABLES = "variables"


class QuestionValue(NamedTuple):
    """A place in a check's parameters whose value comes from the question's `key`."""

    pointer: Pointer
    key: str


def find_question_key(value: Any) -> str | None:
    """Return the key that `{from: key}` names; None for any other value.

    Other keys next to `from` are ignored.
    """
    key = value.get(_FROM) if isinstance(value, Mapping) else None
    return key if isinstance(key, str) and key else None


def is_empty(value: Any) -> bool:
    """Whether a question with this value gives a check nothing to grade by."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def list_question_values(params: Mapping[str, Any]) -> tuple[QuestionValue, ...]:
    """Return the places in a check's mapping that are filled from the question, in order."""
    return tuple(_find_question_values(params))


def list_value_keys(rubrics: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the question keys from which some check of these rubrics takes a value."""
    checks = (check for rubric in rubrics for check in rubric["checks"])
    return {place.key for check in checks for place in list_question_values(check)}


def _find_question_values(params: Mapping[str, Any]) -> Iterator[QuestionValue]:
    for name, value in params.items():
        if name in QUESTION_PARAMS and (key := find_question_key(value)):
            yield QuestionValue((name,), key)
        elif name == _VARIABLES and isinstance(value, Mapping):
            for variable, text in value.items():
                if key := find_question_key(text):
                    yield QuestionValue((name, variable), key)


def fill_params(params: Mapping[str, Any], values: Mapping[Pointer, Any]) -> dict[str, Any]:
    """Return a check's mapping with these values written in their places."""
    filled = dict(params)
    for pointer, value in values.items():
        name = str(pointer[0])
        filled[name] = value if len(pointer) == 1 else {**filled[name], pointer[1]: value}
    return filled
