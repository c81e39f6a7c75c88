"""Reads output items of OpenAI's hosted evals: answers, and each criterion's verdict.

The shapes are those of the API's published types and of its dashboard's exports. The service closed
on 30 November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import Place
from evalstore.model import CheckResult, Output
from evalstore.runs.imports.entry import (
    FileFacts,
    OutputEntry,
    Series,
    make_entry,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.grades import grade_by_checks, make_check, read_passed, read_score
from evalstore.runs.imports.messages import read_chat_output, read_last_question
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import get_mapping

PLACES = ("data",)
_ENGINE = "OpenAI hosted evals"
_MORE = "has_more"  # key of a page: the next page has more items


def is_item_list(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a page of output items."""
    return {"data[].datasource_item", "data[].results"} <= names


def is_item(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is an output item."""
    return {"datasource_item", "results"} <= names


def is_exported_item(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is an item as the dashboard exported it."""
    return {"data_source_idx", "grades"} <= names


def is_run(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a run of an eval, or a page of runs."""
    counts = "per_testing_criteria_results"
    return {"eval_id", counts} <= names or {"data[].eval_id", f"data[].{counts}"} <= names


def read_page_facts(path: Path) -> FileFacts:
    """Return the facts of a page: if there are more items, it has only a part of its run."""
    with open_unpacked(path) as file:
        found = JsonStream(file, str(path)).read_fields({_MORE})
    return FileFacts(status=_MORE if found.get(_MORE) is True else "")


def read_row(row: Mapping[str, Any], place: Place, number: int) -> OutputEntry:
    """Return one output item; its question's id is the index of the item."""
    sample, results = get_mapping(row, "sample"), row.get("results")
    model = sample.get("model")
    asked = read_last_question(sample.get("input"))
    found = filter(lambda one: isinstance(one, dict), results if isinstance(results, list) else ())
    checks = [
        _make_check(read_id(result.get("name")), result.get("score"), result.get("passed"))
        for result in found
    ]
    return make_entry(
        Series(model if isinstance(model, str) else None),
        read_id(row.get("datasource_item_id")) or str(number),
        place.line or 0,
        _read_answer(sample, "output", place),
        (asked,) if asked else (),
        grade=grade_by_checks(checks) if checks else None,
    )


def read_exported_row(row: Mapping[str, Any], place: Place, number: int) -> OutputEntry:
    """Return one item of a dashboard export; it names no model, so the run's id stands for it."""
    sample, grades, passes = (get_mapping(row, key) for key in ("sample", "grades", "passes"))
    names = dict.fromkeys([*grades, *passes])
    checks = [_make_check(name, grades.get(name), passes.get(name)) for name in names]
    return make_entry(
        Series(read_id(row.get("run_id"))),
        read_id(row.get("data_source_idx")) or str(number),
        place.line or 0,
        _read_answer(sample, "outputs", place),
        grade=grade_by_checks(checks) if checks else None,
    )


def _read_answer(sample: Mapping[str, Any], key: str, place: Place) -> Output | str:
    """Return the answer, or why there is none; a message without a role is an answer."""
    said, error = sample.get(key), sample.get("error")
    if isinstance(said, list) and said:
        said = [{"role": "assistant", **one} if isinstance(one, dict) else one for one in said]
        answer = read_chat_output(said, place, sample.get("finish_reason"))
        if answer:
            return answer
    why = error.get("message") if isinstance(error, dict) else error
    return shorten_reason(why, "the item has no output")


def _make_check(name: str | None, score: Any, passed: Any) -> CheckResult:
    """Return what a grader said; if its score is not between 0 and 1, its verdict counts."""
    number, verdict = read_score(score), read_passed(passed)
    if number is None or verdict is None or 0 <= number <= 1:
        return make_check(name or "criterion", number, verdict, engine=_ENGINE)
    reason = f"its score is {float(number):g}"
    return make_check(name or "criterion", None, verdict, reason=reason, engine=_ENGINE)
