"""Builds tables of a run for pandas and Arrow: one row for each output, null without a score."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from typing import Any

from evalstore.errors import RefusedError
from evalstore.model import Verdict
from evalstore.runs.read import read_rows
from evalstore.runs.values import Run

_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.UNSCORED: None}


def build_columns(run: Run) -> dict[str, list[Any]]:
    """Return the columns by name: id, sample, score (0 to 1, or None), passed, …, two per check.

    `check.<id>` is a check's score, `reason.<id>` its reason, such as a judge's words. Rows are in
    the order of the run; a check that did not grade a row has None there.
    """
    rows = list(read_rows(run))
    columns: dict[str, list[Any]] = {
        "id": [row.id for row in rows],
        "sample": [row.sample for row in rows],
        "group": [row.group for row in rows],
        "score": [None if row.score is None else float(row.score) for row in rows],
        "passed": [_PASSED[row.verdict] for row in rows],
        "reason": [row.reason for row in rows],
        "rubric": [row.rubric for row in rows],
        "input": [row.input for row in rows],
        "output": [row.output.text for row in rows],
    }
    checks: defaultdict[str, list[float | str | None]] = defaultdict(lambda: [None] * len(rows))
    for number, row in enumerate(rows):
        for check in row.checks:
            checks[f"check.{check.id}"][number] = (
                None if check.score is None else float(check.score)
            )
            checks[f"reason.{check.id}"][number] = check.reason
    return {**columns, **checks}


def build_frame(run: Run) -> Any:
    """Return a pandas `DataFrame` of nullable columns.

    Raises `RefusedError` if pandas is not installed.
    """
    pd = _import_library("pandas")
    types = {"score": "Float64", "passed": "boolean", "sample": "Int64"}
    columns: dict[str, Any] = {}
    for name, values in build_columns(run).items():
        usual = "Float64" if name.startswith("check.") else "string"
        columns[name] = pd.array(values, dtype=types.get(name, usual))
    return pd.DataFrame(columns)


def build_table(run: Run) -> Any:
    """Return an Arrow `Table`; raises `RefusedError` where pyarrow is not installed."""
    pa = _import_library("pyarrow")
    types = {"score": pa.float64(), "passed": pa.bool_(), "sample": pa.int64()}
    columns: dict[str, Any] = {}
    for name, values in build_columns(run).items():
        usual = pa.float64() if name.startswith("check.") else pa.string()
        columns[name] = pa.array(values, type=types.get(name, usual))
    return pa.table(columns)


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise RefusedError(f"{name} is not installed", hint=f"pip install {name}") from None
