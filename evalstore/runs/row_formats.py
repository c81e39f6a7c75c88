"""Opens files of outputs and of rows as JSON Lines, whatever format their suffix says: one row of a table each."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from evalstore.documents import LINE_LIMIT
from evalstore.errors import UsageError
from evalstore.files import open_user_file
from evalstore.text import make_excerpt

WHOLE_FILE, BYTE_RANGE = "file", "bytes"
_BLOCK = 1 << 20


class OutputSpan(NamedTuple):
    """A stretch of a file of outputs, from `start` up to `end` in its unit, and the SHA-256 of its bytes.

    `first_line` is the number of its first line, from 1, by which messages name the lines of the file.
    """

    unit: str
    start: int
    end: int
    first_line: int
    sha256: str


class CutFile(NamedTuple):
    """A file of outputs in spans that follow one another: its size in bytes and its SHA-256."""

    size: int
    sha256: str
    spans: tuple[OutputSpan, ...]


@dataclass(slots=True)
class _SpanHash:
    """The hash of a span so far, and where it began."""

    start: int
    first_line: int
    hash: Any = field(default_factory=hashlib.sha256)
    lines: int = 0

    def add(self, data: bytes | memoryview, lines: int) -> None:
        self.hash.update(data)
        self.lines += lines


def keep_whole(path: Path, size: int) -> CutFile:  # noqa: ARG001  # the signature of what cuts
    """Return a file as one span, whatever `size` asks for: of a format whose outputs are not on lines of their own."""
    found, length = hashlib.sha256(), 0
    with open_user_file(path) as file:
        while block := file.read(_BLOCK):
            found.update(block)
            length += len(block)
    sha256 = found.hexdigest()
    return CutFile(length, sha256, (OutputSpan(WHOLE_FILE, 0, length, 1, sha256),))


def cut_lines(path: Path, size: int) -> CutFile:
    """Cut a file behind the first end of a line that lies `size` bytes or more behind the cut before, in one pass.

    A line longer than `size` is a span of its own; an empty file is one empty span.
    """
    whole, spans, here, position = hashlib.sha256(), list[OutputSpan](), _SpanHash(0, 1), 0
    with open_user_file(path) as file:
        while block := file.read(_BLOCK):
            whole.update(block)
            taken = 0
            while (at := block.find(b"\n", max(taken, here.start + size - 1 - position))) >= 0:
                here.add(memoryview(block)[taken : at + 1], block.count(b"\n", taken, at + 1))
                taken = at + 1
                spans.append(_close_span(here, position + taken))
                here = _SpanHash(position + taken, here.first_line + here.lines)
            here.add(memoryview(block)[taken:], block.count(b"\n", taken))
            position += len(block)
    if here.start < position or not spans:
        spans.append(_close_span(here, position))
    return CutFile(position, whole.hexdigest(), tuple(spans))


def cut_at(path: Path, starts: Sequence[tuple[int, int]]) -> CutFile:
    """Cut a file at some offsets, each with the number of the first line behind it, into spans of all of its bytes."""
    size = path.stat().st_size
    ends = [*(start for start, _ in starts[1:]), size]
    bounds = [(0 if number == 0 else start, first) for number, (start, first) in enumerate(starts)] or [(0, 1)]
    bare = [OutputSpan(BYTE_RANGE, start, end, first, "") for (start, first), end in zip(bounds, ends, strict=True)]
    whole = compute_span_sha256(path, OutputSpan(WHOLE_FILE, 0, size, 1, ""))
    return CutFile(size, whole, tuple(span._replace(sha256=compute_span_sha256(path, span)) for span in bare))


def _close_span(found: _SpanHash, end: int) -> OutputSpan:
    return OutputSpan(BYTE_RANGE, found.start, end, found.first_line, found.hash.hexdigest())


def compute_span_sha256(path: Path, span: OutputSpan) -> str:
    """Return the SHA-256 of the bytes that a span has now: a whole file to its end, of a shorter file what is left."""
    found = hashlib.sha256()
    with open_user_file(path) as file:
        for block in _read_blocks(file, span):
            found.update(block)
    return found.hexdigest()


def _read_blocks(file: BinaryIO, span: OutputSpan) -> Iterator[bytes]:
    file.seek(span.start)
    left = span.end - span.start
    while block := file.read(_BLOCK if span.unit == WHOLE_FILE else min(_BLOCK, left)):
        left -= len(block)
        yield block


class RowFormat(NamedTuple):
    """A file format of rows, known by its suffix.

    `read_lines` yields (number, line without its break) for each row, or for those of a span, of which `cut` makes some
    of about so many bytes; `write` (None: lines are the format) writes
    lines into an open file; `require` raises `RefusedError` where the library for it is missing.
    """

    suffix: str
    read_lines: Callable[[Path, OutputSpan | None], Iterator[tuple[int, bytes]]]
    cut: Callable[[Path, int], CutFile]
    write: Callable[[Iterable[bytes], BinaryIO], None] | None = None
    require: Callable[[], Any] = lambda: None


def _read_text_lines(path: Path, span: OutputSpan | None) -> Iterator[tuple[int, bytes]]:
    with open_user_file(path) as file:
        number, left = (span.first_line - 1, span.end - span.start) if span else (0, sys.maxsize)
        file.seek(span.start if span else 0)
        # A limit, because the whole of a file without line breaks would be one line.
        while left > 0 and (line := file.readline(LINE_LIMIT + 2)):
            number += 1
            left -= len(line)
            if not line.isspace():
                yield number, line.removesuffix(b"\n")


def _call_parquet(name: str, *arguments: Any) -> Any:
    # Only who has such a file pays for the import of its reader.
    return getattr(import_module("evalstore.runs.tables"), name)(*arguments)


JSON_LINES = RowFormat(".jsonl", _read_text_lines, cut_lines)
PARQUET = RowFormat(
    ".parquet",
    partial(_call_parquet, "read_parquet_lines"),
    partial(_call_parquet, "cut_row_groups"),
    partial(_call_parquet, "write_parquet"),
    partial(_call_parquet, "import_parquet"),
)
ROW_FORMATS = {format_.suffix: format_ for format_ in (JSON_LINES, PARQUET)}


def find_row_format(path: Path) -> RowFormat:
    """Return the format of a file by its suffix: JSON Lines for any that no other has."""
    return ROW_FORMATS.get(path.suffix, JSON_LINES)


def get_row_format(name: str) -> RowFormat:
    """Return the format of that name (`jsonl`, `parquet`); raises `UsageError` for another."""
    if (suffix := f".{name}") in ROW_FORMATS:
        return ROW_FORMATS[suffix]
    known = " or ".join(suffix.removeprefix(".") for suffix in ROW_FORMATS)
    raise UsageError(f"rows are written as {known}, not as '{make_excerpt(name, 40)}'")


def read_lines(path: Path, span: OutputSpan | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of every row that is not blank, without the line break; raises `LoadError` at its place.

    With a `span` only its rows, which are numbered as in the whole file.
    """
    return find_row_format(path).read_lines(path, span)


def cut_rows(path: Path, size: int) -> CutFile:
    """Cut a file between its rows into spans of about `size` bytes that can be read each by itself."""
    return find_row_format(path).cut(path, size)


def is_text_format(path: Path) -> bool:
    """Whether the bytes of a file are its lines."""
    return find_row_format(path) is JSON_LINES


def open_seekable_lines(path: Path) -> BinaryIO:
    """Open the lines of a file for reading in any order: the file, or a temporary one of what it stands for."""
    if is_text_format(path):
        return open_user_file(path)
    spool = TemporaryFile()  # noqa: SIM115  # the caller closes it
    spool.writelines(line + b"\n" for _, line in read_lines(path))
    spool.seek(0)
    return cast("BinaryIO", spool)
