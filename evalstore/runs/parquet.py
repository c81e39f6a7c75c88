"""Reads Parquet as JSON Lines, in a separate process, and writes the rows of a run.

A column is a key; nulls are left out, also inside structs. A missing score is null in Parquet, but
-1 in Every Eval Ever. JSON is decoded in a column of Parquet's type JSON, and in a text where the
format allows only an object or a list.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from evalstore.about import suggest_install
from evalstore.documents import LINE_LIMIT
from evalstore.documents.json_stream import count_parts
from evalstore.errors import LimitError, LoadError, Place, RefusedError
from evalstore.files import open_user_file
from evalstore.runs import parquet_child
from evalstore.runs.parquet_child import GROUPS, REFUSED, ROWS, RowGroup
from evalstore.runs.spans import CutFile, OutputSpan, cut_at
from evalstore.runs.unpack_budget import UnpackBudget
from evalstore.runs.values import UNKNOWN
from evalstore.text import make_excerpt

_STEPS = 32  # allowed steps for each byte of a file; runs of short outputs take twenty
# Steps to write a row as JSON and read it again: for the row, for each of its columns, and for each
# comma or bracket in it.
_ROW_STEPS, _COLUMN_STEPS, _PART_STEPS = 220, 8, 36
_GROUP_SIZE = 8 << 20  # bytes of the lines of a row group
_ADVICE = "write the table as JSON Lines"
_METADATA = (
    *("score", "verdict", "reason", "rubric", "rubric_digest", "checks"),
    *(
        "input_digest",
        "reference_digest",
        "output_digest",
        "group",
        "sample",
        "output_end",
        "tool_calls",
        "measures",
        "asked",
    ),
)


def list_row_groups(path: Path) -> tuple[RowGroup, ...]:
    """Return the row groups of a Parquet file in order; raises `LoadError` if it is not Parquet."""
    with open_user_file(path) as source, _start_child(source, path, GROUPS) as out:
        text = out.read()
    return tuple(RowGroup(*group) for group in json.loads(text))


def cut_row_groups(path: Path, size: int) -> CutFile:
    """Cut a Parquet file between row groups into spans of at least `size` bytes.

    The last span also contains the footer.
    """
    starts = [(0, 1)]
    for group in list_row_groups(path)[1:]:
        if group.offset >= starts[-1][0] + size:
            starts.append((group.offset, group.first_row))
    return cut_at(path, starts)


def read_parquet_lines(path: Path, span: OutputSpan | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (row number, line of JSON without a line break) for a Parquet file's rows, or a span's.

    Rows are counted from 1 in the whole file. Raises `LoadError` at a row that cannot be read.
    """
    with open_user_file(path) as source:
        size = source.seek(0, SEEK_END)
        budget = UnpackBudget(size, Place(str(path)), steps=_STEPS, advice=_ADVICE)
        start, end = (span.start, span.end) if span else (0, size + 1)
        with _start_child(source, path, ROWS, str(start), str(end)) as out:
            row_steps = _ROW_STEPS + _COLUMN_STEPS * int(out.readline() or 0)
            while line := out.readline(LINE_LIMIT + 64):
                number, _, data = line.removesuffix(b"\n").partition(b"\t")
                budget.spend_bytes(len(data))
                budget.spend_steps(row_steps + _PART_STEPS * count_parts(data.decode()))
                yield int(number), data


@contextmanager
def _start_child(source: BinaryIO, path: Path, *words: str) -> Iterator[IO[bytes]]:
    """Yield the output of the process that reads a Parquet file; raises `LoadError` if it fails."""
    import_parquet()
    source.seek(0)
    # Started by its path, the child does not import the package `evalstore.runs`. Without -P,
    # Python would look for modules in the child's own folder first.
    command = [sys.executable, "-P", parquet_child.__file__, *words]
    root = str(Path(__file__).parents[2])
    settings = {"PYTHONPATH": root, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    with TemporaryFile() as errors:
        child = subprocess.Popen(  # noqa: S603  # our own module, and numbers
            command, stdin=source, stdout=subprocess.PIPE, stderr=errors, env=os.environ | settings
        )
        try:
            if child.stdout is None:
                raise AssertionError("the process has no standard output")
            with child.stdout as out:
                yield out
            if child.wait():
                errors.seek(0)
                raise _make_error(child.returncode, errors.read(1 << 16), path)
        finally:
            child.kill()
            child.wait()


def _make_error(code: int, said: bytes, path: Path) -> LoadError:
    if code != REFUSED:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        reason = next(
            (line.partition(b"what():")[2] for line in said.splitlines() if b"what():" in line), b""
        )
        hint = (
            f"Arrow says: {make_excerpt(reason.decode(errors='replace').strip(), 200)}"
            if reason
            else _ADVICE
        )
        return LoadError(
            f"cannot be read: Arrow ended with {how}", place=Place(str(path)), hint=hint
        )
    found = json.loads(said.splitlines()[-1])
    hint = f"Arrow says: {found['hint']}" if found["hint"] else _ADVICE
    type_ = (
        LimitError
        if " more than " in found["message"] or " larger than " in found["message"]
        else LoadError
    )
    return type_(found["message"], place=Place(str(path), found["row"]), hint=hint)


def write_parquet(lines: Iterable[bytes], file: BinaryIO) -> None:
    """Write the rows of a run, given as evalstore's lines, in row groups of a few MB."""
    pq = import_parquet()
    schema = _build_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _gather_groups(lines):
            writer.write_table(import_module("pyarrow").Table.from_pylist(rows, schema=schema))


def import_parquet() -> Any:
    """Return `pyarrow.parquet`, imported on use; `RefusedError` if it is not installed."""
    try:
        return import_module("pyarrow.parquet")
    except ImportError:
        raise RefusedError(
            "Parquet needs pyarrow, which is not installed", hint=suggest_install("parquet")
        ) from None


def _gather_groups(lines: Iterable[bytes]) -> Iterator[list[dict[str, Any]]]:
    rows, size = list[dict[str, Any]](), 0
    for line in lines:
        row = json.loads(line)
        if row["evaluation"]["score"] == UNKNOWN:
            row["evaluation"] = {}
        rows.append(row)
        size += len(line)
        if size >= _GROUP_SIZE:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _build_schema() -> Any:
    """Return the columns of a run's rows: Every Eval Ever's, with evalstore's as a struct."""
    pa = import_module("pyarrow")
    text = pa.string()
    texts = pa.list_(text)
    call = pa.struct([("id", text), ("name", text), ("arguments", pa.map_(text, text))])
    turn = pa.struct(
        [
            ("turn_idx", pa.int64()),
            ("role", text),
            ("content", text),
            ("tool_calls", pa.list_(call)),
        ]
    )
    head = (
        "schema_version",
        "evaluation_id",
        "model_id",
        "evaluation_name",
        "evaluation_result_id",
    )
    return pa.schema(
        [
            *((name, text) for name in (*head, "sample_id", "sample_hash", "interaction_type")),
            ("input", pa.struct([("raw", text), ("reference", texts)])),
            ("output", pa.struct([("raw", texts)])),
            ("messages", pa.list_(turn)),
            ("answer_attribution", texts),
            ("evaluation", pa.struct([("score", pa.float64()), ("is_correct", pa.bool_())])),
            ("error", text),
            ("metadata", pa.struct([(f"evalstore_{name}", text) for name in _METADATA])),
        ]
    )
