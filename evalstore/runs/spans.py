"""Cuts a file of outputs into spans: byte ranges that end with lines or row groups."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalstore.files import BLOCK, open_user_file

WHOLE_FILE, BYTE_RANGE = "file", "bytes"


class OutputSpan(NamedTuple):
    """A part of a file, from `start` to `end` in bytes, and the SHA-256 of its bytes.

    `first_line` is the number of its first line in the file, from 1, which messages need.
    """

    unit: str
    start: int
    end: int
    first_line: int
    sha256: str


class CutFile(NamedTuple):
    """A file of outputs, cut into consecutive spans; with its size in bytes and its SHA-256."""

    size: int
    sha256: str
    spans: tuple[OutputSpan, ...]


def keep_whole(path: Path) -> CutFile:
    """Return a file as one span, for a format whose outputs are not on separate lines."""
    cut = cut_at(path, [(0, 1)])
    return cut._replace(spans=(cut.spans[0]._replace(unit=WHOLE_FILE),))


def cut_lines(path: Path, size: int) -> CutFile:
    """Cut a file at the first line end at least `size` bytes after the previous cut.

    A line longer than `size` is never cut; an empty file is one empty span.
    """
    starts, line, position = [(0, 1)], 1, 0
    with open_user_file(path) as file:
        while block := file.read(BLOCK):
            taken = 0
            while (
                end := block.find(b"\n", max(taken, starts[-1][0] + size - 1 - position)) + 1
            ) > 0:
                line += block.count(b"\n", taken, end)
                taken = end
                starts.append((position + taken, line))
            line += block.count(b"\n", taken)
            position += len(block)
    return cut_at(path, [starts[0], *(start for start in starts[1:] if start[0] < position)])


def cut_at(path: Path, starts: Sequence[tuple[int, int]]) -> CutFile:
    """Cut a file at offsets, the first of which is 0, each with its line number."""
    whole, spans = hashlib.sha256(), list[OutputSpan]()
    with open_user_file(path) as file:
        size = file.seek(0, SEEK_END)
        for (start, first_line), end in zip(
            starts, [*(start for start, _ in starts[1:]), size], strict=True
        ):
            found = hashlib.sha256()
            for block in _read_blocks(file, start, end):
                found.update(block)
                whole.update(block)
            spans.append(OutputSpan(BYTE_RANGE, start, end, first_line, found.hexdigest()))
    return CutFile(size, whole.hexdigest(), tuple(spans))


def compute_span_sha256(path: Path, span: OutputSpan) -> str:
    """Return the SHA-256 of a span's bytes now.

    If the span is the whole file, the file is read to its end. If the file has become shorter, only
    the remaining bytes are used.
    """
    found = hashlib.sha256()
    with open_user_file(path) as file:
        for block in _read_blocks(
            file, span.start, sys.maxsize if span.unit == WHOLE_FILE else span.end
        ):
            found.update(block)
    return found.hexdigest()


def _read_blocks(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end and (block := file.read(min(BLOCK, end - start))):
        start += len(block)
        yield block
