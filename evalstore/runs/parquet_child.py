"""Decodes a Parquet file in a process with a memory limit; sole user of Arrow's reader.

A page of a few bytes can expand to gigabytes, and some files crash Arrow. Here both end only this
process. The file is standard input. Standard output gets the number of columns and then, for each
row, its number, a tab and its line of JSON. An error is one JSON object on standard error, with
exit code 3.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

from evalstore.documents import LINE_LIMIT, read_row, write_row
from evalstore.errors import LoadError

MEMORY = 2 << 30  # bytes of address space; the libraries alone map about 0.6 GB of it
REFUSED = 3
ROWS, GROUPS = "rows", "groups"
# Bytes of rows that are decoded at once, by the sizes in the footer.
_BATCH_SIZE, _BATCH_ROWS = (
    64 << 20,
    1024,
)
# Columns whose texts are JSON, from tools that cannot write nested columns.
_NESTED = frozenset({"tool_calls", "messages", "interactions", "metadata", "evaluation"})
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class RowGroup(NamedTuple):
    """A separately readable part of a Parquet file: its first row (from 1), size and offset."""

    number: int
    first_row: int
    rows: int
    offset: int


class _RowError(Exception):
    """What is wrong with one row."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def list_groups(file: Any) -> Iterator[RowGroup]:
    """Yield the row groups of an open Parquet file, in order."""
    first = 1
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        yield RowGroup(number, first, group.num_rows, _find_offset(group))
        first += group.num_rows


def _find_offset(group: Any) -> int:
    """Return where the pages of a row group begin."""
    columns = map(group.column, range(group.num_columns))
    return min(
        (column.dictionary_page_offset or column.data_page_offset for column in columns), default=0
    )


def write_lines(batch: Any, first: int) -> Iterator[tuple[int, str]]:
    """Yield the number and JSON of each row of an Arrow batch.

    A batch that does not fit in memory is split in half.
    """
    if not batch.num_rows:
        return
    try:
        rows = batch.to_pylist(maps_as_pydicts="strict")
    except (MemoryError, UnicodeDecodeError) as error:
        if batch.num_rows == 1:
            raise _RowError(first, _describe(error)) from None
        half = batch.num_rows // 2
        yield from write_lines(batch.slice(0, half), first)
        yield from write_lines(batch.slice(half), first + half)
        return
    for number, row in enumerate(rows, first):
        try:
            line = _write_row(row)
        except (LoadError, MemoryError, UnicodeDecodeError) as error:
            raise _RowError(number, _describe(error)) from None
        if len(line) > LINE_LIMIT:
            raise _RowError(number, f"a row is larger than {LINE_LIMIT:,} characters")
        yield number, line


def _describe(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "a text is not UTF-8"
    return (
        error.message
        if isinstance(error, LoadError)
        else f"a row needs more than {MEMORY:,} bytes of memory"
    )


def _write_row(row: dict[str, Any]) -> str:
    found = {}
    for name, item in row.items():
        value = _convert_value(item)
        if name in _NESTED and isinstance(value, str):
            value = read_row(value.encode(), "", 0)
        if name == "evaluation" and isinstance(value, dict) and "score" not in value:
            value = _mark_unscored(value)
        if value is not None:
            found[name] = value
    try:
        return _encode(found)
    except TypeError:  # a decimal number
        return write_row(found).removesuffix("\n")
    except ValueError:
        raise LoadError("a number is infinite, and JSON has no such number") from None


def _mark_unscored(evaluation: dict[str, Any]) -> dict[str, Any]:
    # Imported late: loading `evalstore.runs` takes longer than reading most tables.
    from evalstore.runs.values import UNKNOWN

    return {"score": UNKNOWN, "is_correct": False} | evaluation


def _convert_value(value: Any) -> Any:
    """Return a value for JSON: no null or NaN in a struct, bytes as text, times in ISO 8601."""
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


def _count_batch_rows(group: Any) -> int:
    """Return how many rows to decode at once, by the footer; the memory limit holds anyway."""
    row = int(group.total_byte_size) // max(group.num_rows, 1)
    count: int = min(_BATCH_ROWS, _BATCH_SIZE // max(row, 1))
    return max(1, count)


def _write_rows(file: Any, start: int, end: int, out: BinaryIO) -> None:
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        raise LoadError("two columns have the same name")
    out.write(b"%d\n" % file.metadata.num_columns)
    for part in list_groups(file):
        if not part.rows or not start <= part.offset < end:
            continue
        number, count = part.first_row, _count_batch_rows(file.metadata.row_group(part.number))
        for batch in file.iter_batches(count, row_groups=[part.number], use_threads=False):
            out.writelines(
                b"%d\t%s\n" % (row, line.encode()) for row, line in write_lines(batch, number)
            )
            number += batch.num_rows
            out.flush()


def _open_file(source: BinaryIO) -> Any:
    pq = import_module("pyarrow.parquet")
    # Read only on demand: reading ahead would keep whole row groups in memory.
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=1 << 16)


def _limit_memory() -> None:
    with suppress(ValueError):  # the system has set a lower limit, which stays
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(message: str, row: int | None = None, hint: str = "") -> int:
    os.write(2, json.dumps({"message": message, "row": row, "hint": hint}).encode() + b"\n")
    return REFUSED


def decode_input(words: Sequence[str]) -> int:
    """Write standard input's row groups (`groups`), or rows in a byte range (`rows 0 900`).

    Returns the exit code.
    """
    action, *ends = words
    _limit_memory()
    arrow = import_module("pyarrow")
    arrow.set_cpu_count(1)
    out = sys.stdout.buffer
    try:
        with os.fdopen(0, "rb", closefd=False) as source, _open_file(source) as file:
            if action == GROUPS:
                out.write(json.dumps(list(list_groups(file))).encode())
            else:
                _write_rows(file, int(ends[0]), int(ends[1]), out)
        out.flush()
    except BrokenPipeError:
        # Else the interpreter flushes into the closed pipe again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return REFUSED
    except _RowError as error:
        out.flush()
        return _refuse(str(error), error.row)
    except LoadError as error:
        return _refuse(error.message)
    except MemoryError:
        return _refuse(f"reading it needs more than {MEMORY:,} bytes of memory")
    except (arrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        out.flush()
        return _refuse("is not a valid Parquet file", hint=next(iter(str(error).splitlines()), ""))
    return 0


if __name__ == "__main__":
    sys.exit(decode_input(sys.argv[1:]))
