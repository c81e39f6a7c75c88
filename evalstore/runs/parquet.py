"""Reads Parquet as the JSON Lines that it stands for, and writes the rows of a run; sole user of its library.

A column is a key, and what is null is absent, within structs too. Scores are null where there is none; in Every Eval
Ever they are -1. A column of Parquet's type JSON, or a text where only an object or a list can stand, is decoded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evalstore.about import suggest_install
from evalstore.documents import LINE_LIMIT, read_row, write_row
from evalstore.errors import LimitError, LoadError, Place, RefusedError
from evalstore.files import open_user_file
from evalstore.runs.eee_format import UNKNOWN
from evalstore.runs.spans import CutFile, OutputSpan, cut_at

# Rows that are decoded at once: few, because what compresses to nothing may be large.
_BATCH = 128
_BATCH_LIMIT = 64 * LINE_LIMIT
_GROUP_SIZE = 8 << 20  # bytes of the lines of a row group
# Where texts hold JSON, as in tables whose tool had no other way to nest.
_NESTED = frozenset({"tool_calls", "messages", "interactions", "metadata", "evaluation"})
_METADATA = (
    *("score", "verdict", "reason", "rubric", "rubric_digest", "checks"),
    *("input_digest", "reference_digest", "output_digest", "group", "sample", "tool_calls"),
)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class RowGroup(NamedTuple):
    """A part of a Parquet file that is read by itself: its first row from 1, how many rows it has, where they start."""

    number: int
    first_row: int
    rows: int
    offset: int


def list_row_groups(path: Path) -> tuple[RowGroup, ...]:
    """Return the row groups of a Parquet file, in their order; `LoadError` where it is none."""
    with _open_parquet(path) as file:
        return tuple(_iterate_groups(file))


def cut_row_groups(path: Path, size: int) -> CutFile:
    """Cut a Parquet file between row groups into spans of `size` bytes or more; its footer belongs to the last."""
    starts = list[tuple[int, int]]()
    for group in list_row_groups(path):
        if not starts or group.offset >= starts[-1][0] + size:
            starts.append((group.offset, group.first_row))
    return cut_at(path, starts)


def read_parquet_lines(path: Path, span: OutputSpan | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (row, its line of JSON without a line break) for the rows of a Parquet file, or of a span's row groups.

    Rows are counted from 1 in the whole file. Raises `LoadError` at the row that cannot be read.
    """
    with _open_parquet(path) as file:
        for part in _iterate_groups(file):
            if span is not None and not span.start <= part.offset < span.end:
                continue
            number = part.first_row
            for batch in file.iter_batches(_BATCH, row_groups=[part.number], use_threads=False):
                if batch.nbytes > _BATCH_LIMIT:
                    raise LimitError(f"the rows are larger than {LINE_LIMIT:,} bytes", place=Place(str(path), number))
                special = _list_special(batch.schema)
                for row in batch.to_pylist(maps_as_pydicts="strict"):
                    yield number, _encode_row(row, special, Place(str(path), number))
                    number += 1


def write_parquet(lines: Iterable[bytes], file: BinaryIO) -> None:
    """Write the rows of a run, each a line as evalstore writes it, as row groups of some megabytes."""
    pq = import_parquet()
    schema = _build_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _gather_groups(lines):
            writer.write_table(import_module("pyarrow").Table.from_pylist(rows, schema=schema))


def import_parquet() -> Any:
    """Return `pyarrow.parquet`; `RefusedError` where it is not installed."""
    try:
        return import_module("pyarrow.parquet")
    except ImportError:
        raise RefusedError("Parquet needs pyarrow, which is not installed", hint=suggest_install("parquet")) from None


def _iterate_groups(file: Any) -> Iterator[RowGroup]:
    first = 1
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        yield RowGroup(number, first, group.num_rows, _find_offset(group))
        first += group.num_rows


def _find_offset(group: Any) -> int:
    """Return where the pages of a row group begin."""
    columns = map(group.column, range(group.num_columns))
    return min((column.dictionary_page_offset or column.data_page_offset for column in columns), default=0)


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; what Arrow raises of its content becomes one sentence."""
    pq = import_parquet()
    with open_user_file(path) as source:
        try:
            # Read as it is asked for: reading ahead would hold whole row groups.
            with pq.ParquetFile(source, pre_buffer=False, buffer_size=1 << 16) as file:
                yield file
        except (import_module("pyarrow").ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
            first = next(iter(str(error).splitlines()), "")
            hint = f"Arrow says: {first}" if first else None
            raise LoadError("is no sound Parquet file", place=Place(str(path)), hint=hint) from None


@cache
def _list_special(schema: Any) -> frozenset[str]:
    """Return the columns whose values are more than texts, whole numbers and truth values."""
    types = import_module("pyarrow").types
    plain = (types.is_string, types.is_large_string, types.is_integer, types.is_boolean)
    return frozenset(
        field.name for field in schema if field.name in _NESTED or not any(is_type(field.type) for is_type in plain)
    )


def _encode_row(row: dict[str, Any], special: frozenset[str], place: Place) -> bytes:
    found = {
        key: _convert_column(key, value, place) if key in special else value
        for key, value in row.items()
        if value is not None
    }
    evaluation = found.get("evaluation")
    if isinstance(evaluation, dict) and "score" not in evaluation:
        found["evaluation"] = {"score": UNKNOWN, "is_correct": False, **evaluation}
    try:
        return _encode(found).encode()
    except TypeError:  # an exact number
        return write_row(found).removesuffix("\n").encode()
    except ValueError:
        raise LoadError("a number is infinite, or none at all, and JSON has neither", place=place) from None


def _convert_column(key: str, value: Any, place: Place) -> Any:
    if isinstance(value, str) and key in _NESTED:
        return read_row(value.encode(), place.file, place.line or 0)
    return _convert_value(value, place)


def _convert_value(value: Any, place: Place) -> Any:
    """Return a value as JSON has it: null and not-a-number in a struct are absent, bytes are text, times are words."""
    if isinstance(value, dict):
        converted = ((str(key), _convert_value(item, place)) for key, item in value.items())
        return {key: item for key, item in converted if item is not None}
    if isinstance(value, list):
        return [_convert_value(item, place) for item in value]
    if isinstance(value, bytes):
        return _decode_text(value, place)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if value is None or isinstance(value, str | int | Decimal) else str(value)


def _decode_text(value: bytes, place: Place) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise LoadError("a text is not UTF-8", place=place) from None


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
    """Return the columns of a run's rows: those of Every Eval Ever, with evalstore's own as a struct of texts."""
    pa = import_module("pyarrow")
    text = pa.string()
    texts = pa.list_(text)
    call = pa.struct([("id", text), ("name", text), ("arguments", pa.map_(text, text))])
    turn = pa.struct([("turn_idx", pa.int64()), ("role", text), ("content", text), ("tool_calls", pa.list_(call))])
    head = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id")
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
