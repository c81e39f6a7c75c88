"""Reads results of waza: tasks, each with its runs, and each grader's result for a run.

The shape is that of waza's type `EvaluationOutcome` in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Output
from evalstore.model.measures import Measures, read_measure
from evalstore.runs.imports.containers import iterate_rows
from evalstore.runs.imports.entry import (
    FileFacts,
    OutputEntry,
    Series,
    make_entry,
    make_unread_entry,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.grades import compute_average, make_check, make_grade, read_score
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import explain_shape_errors, get_mapping

PLACES = ("tasks",)
_ODD = "this task has another shape than waza writes"
_PASSED = {"passed": True, "failed": False}  # a run with another status was not graded


def is_result_file(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is the result of a suite of waza."""
    return {"tasks[].test_id", "tasks[].runs", "summary"} <= names


def read_runs(path: Path) -> Iterator[OutputEntry]:
    """Yield every run of every task; the runs of a task are numbered."""
    for place, row in iterate_rows(path, PLACES):
        if isinstance(row, LoadError):
            yield make_unread_entry(row)
            continue
        try:
            with explain_shape_errors(place, _ODD):
                entries = [_read_run(row["test_id"], run, place) for run in row["runs"]]
        except LoadError as error:
            entries = [make_unread_entry(error, row.get("test_id"))]
        yield from entries


def read_facts(path: Path) -> FileFacts:
    """Return the name of the suite, its model, and when it was run."""
    with open_unpacked(path) as file:
        found = JsonStream(file, str(path)).read_fields({"eval_name", "config", "timestamp"})
    said = (found.get("eval_name"), get_mapping(found, "config").get("model_id"))
    name, model = (read_id(one) or "" for one in said)
    return FileFacts(name, model, read_id(found.get("timestamp")) or "")


def _read_run(task: str, run: Mapping[str, Any], place: Place) -> OutputEntry:
    used = get_mapping(get_mapping(run, "session_digest"), "usage")
    measures = Measures(
        latency_ms=read_measure(run.get("duration_ms")),
        input_tokens=read_measure(used.get("input_tokens")),
        output_tokens=read_measure(used.get("output_tokens")),
    )
    answer, passed = run.get("final_output"), _PASSED.get(str(run.get("status")))
    checks = [_read_check(*one) for one in get_mapping(run, "validations").items()]
    score = compute_average(check.score for check in checks)
    return make_entry(
        Series(epoch=read_id(run.get("run_number"))),
        task,
        place.line or 0,
        Output(answer, measures=measures)
        if isinstance(answer, str) and answer
        else shorten_reason(run.get("error_msg"), "the run has no output"),
        grade=None if passed is None else make_grade(score, passed, checks),
    )


def _read_check(name: str, said: Mapping[str, Any]) -> CheckResult:
    score, passed = read_score(said.get("score")), said.get("passed")
    return make_check(name, score, passed, reason=said.get("feedback"), engine="waza")
