"""Reads files of outputs and rows as JSON Lines, by a table of formats by suffix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from evalstore.documents import LINE_LIMIT
from evalstore.errors import UsageError
from evalstore.files import open_user_file
from evalstore.runs.packed import is_packed, open_unpacked
from evalstore.runs.parquet import cut_row_groups, import_parquet, read_parquet_lines, write_parquet
from evalstore.runs.spans import CutFile, OutputSpan, cut_lines
from evalstore.text import make_excerpt


class RowFormat(NamedTuple):
    """A file format of rows, known by its suffix.

    `read_lines` yields (number, line without its break) for each row, or for those of a span. `cut`
    makes spans of about a given number of bytes. `write` (None: lines are the format itself) writes
    lines into an open file. `require` raises `RefusedError` if the library for it is missing.
    """

    suffix: str
    read_lines: Callable[[Path, OutputSpan | None], Iterator[tuple[int, bytes]]]
    cut: Callable[[Path, int], CutFile]
    write: Callable[[Iterable[bytes], BinaryIO], None] | None = None
    require: Callable[[], Any] = lambda: None


def _read_text_lines(path: Path, span: OutputSpan | None) -> Iterator[tuple[int, bytes]]:
    with open_unpacked(path) as file:
        number, left = (span.first_line - 1, span.end - span.start) if span else (0, sys.maxsize)
        if span:
            file.seek(span.start)
        # A limit, because a file without line breaks is one line.
        while left > 0 and (line := file.readline(LINE_LIMIT + 2)):
            number += 1
            left -= len(line)
            if not line.isspace():
                yield number, line.removesuffix(b"\n")


JSON_LINES = RowFormat(".jsonl", _read_text_lines, cut_lines)
PARQUET = RowFormat(
    ".parquet",
    read_parquet_lines,
    cut_row_groups,
    write_parquet,
    import_parquet,
)
ROW_FORMATS = {format_.suffix: format_ for format_ in (JSON_LINES, PARQUET)}


def find_row_format(path: Path) -> RowFormat:
    """Return the format of a file by its suffix: JSON Lines if no other format matches."""
    return ROW_FORMATS.get(path.suffix, JSON_LINES)


def get_row_format(name: str) -> RowFormat:
    """Return the format of that name (`jsonl`, `parquet`); raises `UsageError` for another."""
    if (suffix := f".{name}") in ROW_FORMATS:
        return ROW_FORMATS[suffix]
    known = " or ".join(suffix.removeprefix(".") for suffix in ROW_FORMATS)
    raise UsageError(f"rows are written as {known}, not as '{make_excerpt(name, 40)}'")


def read_lines(path: Path, span: OutputSpan | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line without its break) of rows that are not blank; `LoadError` at its place.

    With a `span`, yield only its rows, numbered as in the whole file.
    """
    return find_row_format(path).read_lines(path, span)


def cut_rows(path: Path, size: int) -> CutFile:
    """Cut a file between its rows into spans of about `size` bytes, each readable by itself."""
    return find_row_format(path).cut(path, size)


def is_text_format(path: Path) -> bool:
    """Whether a file's format is lines of text, by its suffix."""
    return find_row_format(path) is JSON_LINES


def open_seekable_lines(path: Path) -> BinaryIO:
    """Open a file's lines for reading in any order: the file, or a temporary one with its lines."""
    if is_text_format(path) and not is_packed(path):
        return open_user_file(path)
    spool = TemporaryFile()  # noqa: SIM115  # the caller closes it
    spool.writelines(line + b"\n" for _, line in read_lines(path))
    spool.seek(0)
    return cast("BinaryIO", spool)
