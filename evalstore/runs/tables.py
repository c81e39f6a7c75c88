"""Builds tables: of a run for pandas and Arrow, one row an output, null where there is no score, and of an index."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO

from evalstore.errors import RefusedError
from evalstore.model import Verdict
from evalstore.runs.parquet import import_parquet
from evalstore.runs.read import read_rows
from evalstore.runs.values import Run

_INTEGERS = range(-(1 << 63), 1 << 63)


class ColumnType(StrEnum):
    """What a column holds, null aside: a whole number has 64 bits, a time is in UTC."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"


def write_json_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, ColumnType], file: BinaryIO) -> None:
    """Write rows as JSON Lines, times as texts of ISO 8601."""
    for row in _iterate_fitted(rows, columns):
        found = {name: _format_time(value) for name, value in row.items() if value is not None}
        file.write(json.dumps(found, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def write_parquet_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, ColumnType], file: BinaryIO) -> None:
    """Write rows as Parquet with all columns; `RefusedError` where pyarrow is not installed."""
    pq, pa = import_parquet(), import_module("pyarrow")
    types = {
        ColumnType.TEXT: pa.string(),
        ColumnType.INTEGER: pa.int64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.FLAG: pa.bool_(),
        ColumnType.TIME: pa.timestamp("us"),  # with a zone every reader would show its own,
    }
    schema = pa.schema([(name, types[type_]) for name, type_ in columns.items()])
    fitted = _iterate_fitted(rows, columns)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(islice(fitted, 10_000)):  # rows of a row group
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _iterate_fitted(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, ColumnType]) -> Iterator[dict[str, Any]]:
    """Yield the rows in the order of the columns, each value as its column can hold it in every format."""
    for row in rows:
        yield {name: _FITS[type_](value) for name, type_ in columns.items() if (value := row.get(name)) is not None}


def fit_text(value: str) -> str:
    """Return a text as every table can hold it."""
    # Half a surrogate pair is a text in Python and in JSON, and none in UTF-8.
    return str(value).encode("utf-8", "backslashreplace").decode()


def _fit_integer(value: int) -> int | None:
    return value if value in _INTEGERS else None


def _fit_number(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _format_time(value: Any) -> Any:
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else value


_FITS: Mapping[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TEXT: fit_text,
    ColumnType.INTEGER: _fit_integer,
    ColumnType.NUMBER: _fit_number,
    ColumnType.FLAG: bool,
    ColumnType.TIME: lambda value: value.astimezone(UTC).replace(tzinfo=None),
}


_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.UNSCORED: None}


def build_columns(run: Run) -> dict[str, list[Any]]:
    """Return the columns by name: id, sample, score (0 to 1, or None), passed, …, and two for each check.

    `check.<id>` is its score, and `reason.<id>` says why: of a judge, what it said. Rows are in the order of the run; a
    check that did not grade a row has None there.
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
            checks[f"check.{check.id}"][number] = None if check.score is None else float(check.score)
            checks[f"reason.{check.id}"][number] = check.reason
    return {**columns, **checks}


def build_frame(run: Run) -> Any:
    """Return a pandas `DataFrame` of nullable columns; raises `RefusedError` where pandas is not installed."""
    pd = _import_library("pandas")
    types = {"score": "Float64", "passed": "boolean", "sample": "Int64"}
    return pd.DataFrame(
        {
            name: pd.array(values, dtype=types.get(name, "Float64" if name.startswith("check.") else "string"))
            for name, values in build_columns(run).items()
        }
    )


def build_table(run: Run) -> Any:
    """Return an Arrow `Table`; raises `RefusedError` where pyarrow is not installed."""
    pa = _import_library("pyarrow")
    types = {"score": pa.float64(), "passed": pa.bool_(), "sample": pa.int64()}
    return pa.table(
        {
            name: pa.array(values, type=types.get(name, pa.float64() if name.startswith("check.") else pa.string()))
            for name, values in build_columns(run).items()
        }
    )


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise RefusedError(f"{name} is not installed", hint=f"pip install {name}") from None
