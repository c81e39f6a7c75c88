"""Reads Parquet as the JSON Lines that it stands for, and writes the rows of a run; sole user of its library.

A column is a key, and what is null is absent, within structs too. Scores are null where there is none; in Every Eval
Ever they are -1. A column of Parquet's type JSON, or a text where only an object or a list can stand, is decoded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from importlib import import_module
from io import SEEK_END, SEEK_SET, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evalstore.about import suggest_install
from evalstore.documents import LINE_LIMIT, read_row, write_row
from evalstore.documents.json_stream import count_parts
from evalstore.errors import LimitError, LoadError, Place, RefusedError
from evalstore.files import open_user_file
from evalstore.runs.parquet_pages import (
    LIMITS,
    check_columns,
    check_footer,
    count_batch_rows,
    list_dictionaries,
)
from evalstore.runs.spans import CutFile, OutputSpan, cut_at
from evalstore.runs.unpack_budget import UnpackBudget
from evalstore.runs.values import UNKNOWN

_BATCH_LIMIT = 4 * LINE_LIMIT  # characters of the rows that are decoded at once
_STEPS = 32  # that each byte of a file may take; runs of short outputs take twenty
# To write a row as JSON and read it again, for each of its columns, and for each comma or bracket in it.
_ROW_STEPS, _COLUMN_STEPS, _PART_STEPS = 220, 8, 36
_GROUP_SIZE = 8 << 20  # bytes of the lines of a row group
# Where texts hold JSON, as in tables whose tool had no other way to nest.
_NESTED = frozenset({"tool_calls", "messages", "interactions", "metadata", "evaluation"})
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_METADATA = (
    *("score", "verdict", "reason", "rubric", "rubric_digest", "checks"),
    *("input_digest", "reference_digest", "output_digest", "group", "sample", "output_end", "tool_calls"),
)


class RowGroup(NamedTuple):
    """A part of a Parquet file that is read by itself: its first row from 1, how many rows it has, where they start."""

    number: int
    first_row: int
    rows: int
    offset: int


def list_row_groups(path: Path) -> tuple[RowGroup, ...]:
    """Return the row groups of a Parquet file, in their order; `LoadError` where it is none."""
    with _open_parquet(path) as (_, file, _):
        return tuple(_iterate_groups(file))


def cut_row_groups(path: Path, size: int) -> CutFile:
    """Cut a Parquet file between row groups into spans of `size` bytes or more; its footer belongs to the last."""
    starts = [(0, 1)]
    for group in list_row_groups(path)[1:]:
        if group.offset >= starts[-1][0] + size:
            starts.append((group.offset, group.first_row))
    return cut_at(path, starts)


def read_parquet_lines(path: Path, span: OutputSpan | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (row, its line of JSON without a line break) for the rows of a Parquet file, or of a span's row groups.

    Rows are counted from 1 in the whole file. Raises `LoadError` at the row that cannot be read.
    """
    with _open_parquet(path) as (source, file, dictionaries):
        size, advice = source.seek(0, SEEK_END), "write the table as JSON Lines"
        budget = UnpackBudget(size, Place(str(path)), steps=_STEPS, advice=advice)
        row_steps = _ROW_STEPS + _COLUMN_STEPS * file.metadata.num_columns
        for part in _iterate_groups(file):
            if not part.rows or (span is not None and not span.start <= part.offset < span.end):
                continue
            number, place = part.first_row, Place(str(path), part.first_row)
            count = count_batch_rows(source, file.metadata, part.number, dictionaries, place)
            for batch in file.iter_batches(count, row_groups=[part.number], use_threads=False):
                for line in _write_lines(batch, Place(str(path), number)):
                    data = line.encode()
                    budget.spend_bytes(len(data))
                    budget.spend_steps(row_steps + _PART_STEPS * count_parts(line))
                    yield number, data
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
def _open_parquet(path: Path) -> Iterator[tuple[BinaryIO, Any, frozenset[str]]]:
    """Yield the bytes of a Parquet file, Arrow's reader of it, and the paths of the columns it reads as dictionaries.

    What Arrow raises of its content becomes one sentence.
    """
    pq = import_parquet()
    with open_user_file(path) as source:
        try:
            check_footer(source, Place(str(path)))
            # Read as it is asked for: reading ahead would hold whole row groups.
            options: dict[str, Any] = {
                "pre_buffer": False,
                "buffer_size": 1 << 16,
                "thrift_container_size_limit": LIMITS.containers,
            }
            metadata = pq.ParquetFile(source, **options).metadata
            check_columns(metadata, Place(str(path)))
            _check_chunks(metadata, source.seek(0, SEEK_END), options)
            dictionaries = list_dictionaries(metadata)
            with pq.ParquetFile(source, metadata=metadata, read_dictionary=dictionaries, **options) as file:
                yield source, file, frozenset(dictionaries)
        except (import_module("pyarrow").ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
            first = next(iter(str(error).splitlines()), "")
            hint = f"Arrow says: {first}" if first else None
            raise LoadError("is not a valid Parquet file", place=Place(str(path)), hint=hint) from None


class _PageAskedError(Exception):
    """Arrow has no more to say against what a footer says, and asks for a page."""


class _NoPages(RawIOBase):
    """A file of so many bytes, none of which may be read."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        raise _PageAskedError(size)


def _check_chunks(metadata: Any, size: int, options: dict[str, Any]) -> None:
    """Raise what Arrow raises of the columns in a footer: asked for one that it refuses, pyarrow ends the process.

    Before it asks for the first page of a row group, Arrow makes a reader for each of its columns.
    """
    with import_parquet().ParquetFile(_NoPages(size), metadata=metadata, **options | {"buffer_size": 1}) as file:
        for group in range(metadata.num_row_groups):
            with suppress(_PageAskedError):
                next(file.iter_batches(1, row_groups=[group], use_threads=False), None)


def _write_lines(batch: Any, place: Place) -> Iterator[str]:
    """Yield the JSON of each row from the one at `place` on; what Arrow cannot list is tried in halves."""
    if not batch.num_rows:
        return
    first = place.line or 1
    try:
        rows = _list_rows(batch, min(_BATCH_LIMIT, batch.num_rows * LINE_LIMIT))
    except LoadError as error:
        if batch.num_rows == 1:
            raise type(error)(error.message, place=place, hint=error.hint) from None
        half = batch.num_rows // 2
        yield from _write_lines(batch.slice(0, half), place)
        yield from _write_lines(batch.slice(half), Place(place.file, first + half))
        return
    for number, row in enumerate(rows, first):
        try:
            line = _write_row(row)
        except UnicodeDecodeError:
            raise LoadError("a text is not UTF-8", place=Place(place.file, number)) from None
        except LoadError as error:
            raise type(error)(error.message, place=Place(place.file, number), hint=error.hint) from None
        yield line


def _list_rows(batch: Any, limit: int) -> list[dict[str, Any]]:
    names = batch.schema.names
    if len(set(names)) < len(names):
        raise LoadError("two columns have the same name")
    keys = sum(len(name) * (len(array) - array.null_count) for name, array in zip(names, batch.columns, strict=True))
    if keys + sum(map(_count_bytes, batch.columns)) > limit:
        raise LimitError(f"a row is larger than {limit:,} characters")
    try:
        rows: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    except UnicodeDecodeError:
        raise LoadError("a text is not UTF-8") from None
    return rows


def _count_bytes(array: Any) -> int:
    """Return the bytes of an array's values as they are written, a text of a dictionary as often as a row has it."""
    types, pc = import_module("pyarrow").types, import_module("pyarrow.compute")
    if types.is_dictionary(array.type) and not types.is_primitive(array.type.value_type):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(lengths).as_py() or 0)
    if types.is_struct(array.type):
        keys = sum(len(array.type.field(number).name) for number in range(array.type.num_fields))
        return keys * int(len(array) - array.null_count) + sum(map(_count_bytes, array.flatten()))
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _count_bytes(array.flatten())
    if types.is_map(array.type):
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_count_bytes(part.slice(start, end - start)) for part in (array.keys, array.items))
    return int(array.nbytes)


def _write_row(row: dict[str, Any]) -> str:
    found = {}
    for name, item in row.items():
        value = _convert_value(item)
        if name in _NESTED and isinstance(value, str):
            value = read_row(value.encode(), "", 0)
        if name == "evaluation" and isinstance(value, dict) and "score" not in value:
            value = {"score": UNKNOWN, "is_correct": False} | value
        if value is not None:
            found[name] = value
    try:
        return _encode(found)
    except TypeError:  # an exact number
        return write_row(found).removesuffix("\n")
    except ValueError:
        raise LoadError("a number is infinite, and JSON has no such number") from None


def _convert_value(value: Any) -> Any:
    """Return a value as JSON has it: null and not-a-number in a struct are absent, bytes are text, times are words."""
    if isinstance(value, dict):
        converted = ((str(key), _convert_value(item)) for key, item in value.items())
        return {key: item for key, item in converted if item is not None}
    if isinstance(value, list):
        return [_convert_value(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if value is None or isinstance(value, str | int | Decimal) else str(value)


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
