"""Reads tables of results that pandas writes for MLflow and Ragas: a column for each metric.

A row's id is its `id` (or `trace_id`), else its number from 0, as pandas numbers rows. MLflow has a
column `NAME/value` both for what a scorer found and for what was expected; only its `assessments`
distinguish them. It has `NAME/error_message` if a scorer raised an exception. Tried with mlflow
3.17.2 (`mlflow.genai.evaluate` and `mlflow.models.evaluate`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream, write_row
from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Output
from evalstore.runs.imports.entry import (
    OutputEntry,
    Series,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
)
from evalstore.runs.imports.grades import grade_by_checks, make_check, read_passed, read_score
from evalstore.runs.packed import open_unpacked

_SCORES = ("/value", "/score")
_REASONS = ("/rationale", "/justification", "/error_message")
_RAISED = "/error_message"
# Expectations that MLflow's own scorers use, in case a table has no `assessments`.
_EXPECTED = frozenset(
    {"expected_response", "expected_facts", "expected_retrieved_context", "guidelines"}
)
_EXPECTATION = re.compile(  # in Python's printed form, which pandas writes into CSV cells
    r"'assessment_name': '([^']*)'(?:(?!'assessment_name').)*?'expectation':", re.DOTALL
)
_IDS = ("id", "trace_id", "request_id")
_INDEX = ""  # the first column of a table that pandas wrote with its index
_ASKED = ("inputs", "request", "user_input", "question", "query", "input", "prompt")
_ANSWERS = ("outputs", "response", "answer", "predictions", "prediction", "output")
_REFERENCES = (
    *("targets", "ground_truth", "reference", "expected_response", "expected_response/value"),
    *("expectations", "ground_truths"),
)
_RAGAS = (frozenset({"user_input", "response"}), frozenset({"question", "answer", "contexts"}))
_RAGAS_OWN = frozenset(
    {
        *("retrieved_contexts", "reference_contexts", "contexts", "rubrics", "multi_responses"),
        *("retrieved_context_ids", "reference_context_ids", "synthesizer_name", "persona_name"),
        *("query_style", "query_length", "index", _INDEX, *_IDS, *_ASKED, *_ANSWERS, *_REFERENCES),
    }
)


def is_split_table(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is MLflow's table: `columns`, and `data` by row."""
    return {"columns", "data"} <= names


def is_mlflow_row(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys has scores of MLflow."""
    return any(name.endswith(_SCORES) for name in names) and not names.isdisjoint(_ANSWERS)


def is_ragas_row(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys has an answer and scores of Ragas."""
    return any(keys <= names for keys in _RAGAS) and bool(names - _RAGAS_OWN)


def read_split_table(path: Path) -> Iterator[OutputEntry]:
    """Yield the rows of a table as MLflow logs it."""
    columns: list[str] = []
    with open_unpacked(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key == "columns":
                columns = [str(name) for name in stream.read()]
            elif key == "data" and stream.peek() == "[":
                for number in stream.iterate_items():
                    place = stream.locate()
                    try:
                        row = dict(zip(columns, stream.read(), strict=True))
                    except LoadError as error:
                        yield make_unread_entry(error)
                    except (TypeError, ValueError):
                        yield make_unread_entry(
                            LoadError("it has not a value for each column", place=place)
                        )
                    else:
                        yield read_mlflow_row((), row, place, number)
            else:
                stream.skip()


def read_mlflow_row(
    metrics: Collection[str], row: Mapping[str, Any], place: Place, number: int
) -> OutputEntry:
    """Return one row: a check for each column `NAME/value`, `NAME/score` or `NAME/v1/score`.

    An empty CSV cell is not in its row, so a metric in `metrics` may have no score there.
    """
    complete = {**dict.fromkeys(metrics), **row}
    return _read_row(row, place, number, list(_list_mlflow_checks(complete)))


def list_mlflow_metrics(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns in which an MLflow scorer said something about a row."""
    expected = _list_expectations(row.get("assessments"))
    for name, value in row.items():
        if name.endswith(_SCORES) and name.rpartition("/")[0] not in expected and value is not None:
            yield name


def list_ragas_metrics(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns in which a Ragas metric gave a row a number."""
    for name, value in row.items():
        if name not in _RAGAS_OWN and read_score(value) is not None:
            yield name


def read_ragas_row(
    metrics: Collection[str], row: Mapping[str, Any], place: Place, number: int
) -> OutputEntry:
    """Return one row: a check for each metric, without a score if its cell has no number."""
    checks = [make_check(name, read_score(row.get(name)), engine="ragas") for name in metrics]
    return _read_row(row, place, number, checks)


def _list_mlflow_checks(row: Mapping[str, Any]) -> Iterator[CheckResult]:
    expected = _list_expectations(row.get("assessments"))
    for column, value in row.items():
        stem = column.rpartition("/")[0]
        has_score = column.endswith(_SCORES)
        has_only_raised = column.endswith(_RAISED) and not any(stem + end in row for end in _SCORES)
        if not (has_score or (has_only_raised and value)) or isinstance(value, dict | list):
            continue
        if stem in expected:
            continue
        reason = next((row[stem + end] for end in _REASONS if row.get(stem + end)), "")
        name = stem.removesuffix("/v1")
        score = read_score(value) if has_score else None
        passed = read_passed(value) if has_score and score is None else None
        yield make_check(name, score, passed, reason=reason, engine="mlflow")


def _list_expectations(assessments: Any) -> AbstractSet[str]:
    """Return the names of a row's expectations, which are not results of scorers."""
    if isinstance(assessments, str):
        return _EXPECTED.union(_EXPECTATION.findall(assessments))
    several = assessments if isinstance(assessments, list) else ()
    own = (one for one in several if isinstance(one, dict) and "expectation" in one)
    return _EXPECTED.union(name for one in own if (name := read_id(one.get("assessment_name"))))


def _read_row(
    row: Mapping[str, Any], place: Place, number: int, checks: list[CheckResult]
) -> OutputEntry:
    # The nameless column is pandas' index only if it is first; elsewhere it may be notes.
    names = (*_IDS, _INDEX) if next(iter(row), None) == _INDEX else _IDS
    id_ = next((found for name in names if (found := read_id(row.get(name)))), str(number))
    answer = _read_first(row, _ANSWERS)
    asked, reference = (_read_first(row, names) for names in (_ASKED, _REFERENCES))
    grade = grade_by_checks(checks, reference=(reference,) if reference else ())
    return make_entry(
        Series(),
        id_,
        place.line or 0,
        Output(answer) if answer is not None else "its row has no answer",
        tuple(filter(None, (asked, *_list_parts(row)))),
        grade=grade,
    )


def _list_parts(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a question that has several named parts, such as MLflow's `inputs`."""
    value = next((row[name] for name in _ASKED if row.get(name) is not None), None)
    if isinstance(value, dict) and "messages" not in value:
        yield from (one for one in value.values() if isinstance(one, str))


def _read_first(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first value under these names as text: the content of messages, else JSON."""
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    if value is None or isinstance(value, str):
        return value
    several = value.get("messages", value) if isinstance(value, dict) else value
    return read_asked(several) or write_row(value).removesuffix("\n")
