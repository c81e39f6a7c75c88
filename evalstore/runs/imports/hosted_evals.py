"""Reads output items of OpenAI's hosted evals: answers, and each criterion's verdict.

The shapes are those of the API's published types; the service closed on 30 November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from evalstore.errors import Place
from evalstore.model import CheckResult, Output
from evalstore.runs.imports.entry import OutputEntry, Series, make_entry, read_id
from evalstore.runs.imports.grades import grade_by_checks, make_check, read_passed, read_score
from evalstore.runs.imports.messages import read_chat_output, read_last_question
from evalstore.runs.record_fields import get_mapping

PLACES = ("data",)
_ENGINE = "OpenAI hosted evals"


def is_item_list(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a page of output items."""
    return {"data[].datasource_item", "data[].results"} <= names


def read_row(row: Mapping[str, Any], place: Place, number: int) -> OutputEntry:
    """Return one output item; its question has the index of the item."""
    sample = get_mapping(row, "sample")
    output = sample.get("output")
    answer: Output | str = "the item has no output"
    if isinstance(output, list) and output:
        answer = read_chat_output(output, place) or answer
    model = sample.get("model")
    checks = list(_list_checks(row.get("results")))
    asked = read_last_question(sample.get("input"))
    id_ = read_id(row.get("datasource_item_id"))
    return make_entry(
        Series(model if isinstance(model, str) else None),
        id_ if id_ is not None else str(number),
        place.line or 0,
        answer,
        (asked,) if asked else (),
        grade=grade_by_checks(checks) if checks else None,
    )


def _list_checks(results: Any) -> Iterator[CheckResult]:
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict):
            name = read_id(result.get("name")) or "criterion"
            score, passed = read_score(result.get("score")), read_passed(result.get("passed"))
            yield make_check(name, score, passed, engine=_ENGINE)
