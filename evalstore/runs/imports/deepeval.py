"""Reads test runs of DeepEval (`test_run_TIME.json`, `.latest_test_run.json`), and its tables.

The keys of a file are in camelCase; those of Python values, and of tables made from them, are in
snake_case. A metric that raised an exception has an `error`, no score, and `success: false`: that
is no verdict, not a failure. Tried with deepeval 4.3.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from evalstore.errors import Place
from evalstore.model import CheckResult, Output
from evalstore.runs.imports.entry import OutputEntry, Series, make_entry, read_asked, read_id
from evalstore.runs.imports.grades import (
    compute_average,
    make_check,
    make_grade,
    read_passed,
    read_score,
)
from evalstore.runs.imports.messages import read_chat_output, read_last_question

_LISTS = ("testCases", "conversationalTestCases", "test_results")
PLACES = (*_LISTS, *(f"testRunData.{name}" for name in _LISTS))


def is_test_run(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a test run."""
    metrics = {f"{place}[].{key}" for place in PLACES for key in ("metricsData", "metrics_data")}
    return not names.isdisjoint(metrics) or {"testCases", "metricsScores"} <= names


def is_table_row(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is from a table of test results."""
    return {"input", "actual_output", "success"} <= names


def read_row(case: Mapping[str, Any], place: Place, number: int) -> OutputEntry:
    """Return one test case."""
    turns = case.get("turns")
    output = case.get("actualOutput", case.get("actual_output"))
    answer = Output(output) if isinstance(output, str) else None
    if answer is None and isinstance(turns, list):
        answer = read_chat_output(turns, place)
    asked = read_last_question(turns) or read_asked(case.get("input"))
    expected = case.get("expectedOutput", case.get("expected_output"))
    checks = list(_list_checks(case.get("metricsData", case.get("metrics_data"))))
    was_graded = not checks or any(check.score is not None for check in checks)
    grade = make_grade(
        compute_average(check.score for check in checks),
        read_passed(case.get("success")) if was_graded else None,
        checks,
        reference=(expected,) if isinstance(expected, str) else (),
    )
    return make_entry(
        Series(),
        read_id(case.get("name")) or str(number),
        place.line or 0,
        answer or "the test case has no actual output",
        (asked,) if asked else (),
        grade=grade,
    )


def read_table_row(row: Mapping[str, Any], place: Place, number: int) -> OutputEntry:
    """Return one row of a table; in CSV its cells are texts."""
    metrics = row.get("metrics_data")
    if isinstance(metrics, str):
        try:
            metrics = json.loads(metrics)
        except (ValueError, RecursionError):
            metrics = None  # the cell is Python's printed values, not JSON: keep only the verdict
    return read_row({**row, "metrics_data": metrics}, place, number)


def _list_checks(metrics: Any) -> Iterator[CheckResult]:
    for one in metrics if isinstance(metrics, list) else ():
        if isinstance(one, dict):
            score, has_raised = read_score(one.get("score")), bool(one.get("error"))
            yield make_check(
                read_id(one.get("name")) or "a metric",
                score,
                None if has_raised and score is None else read_passed(one.get("success")),
                reason=one.get("error") or one.get("reason"),
                engine="deepeval",
            )
