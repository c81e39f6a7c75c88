"""Cuts a file of rows between its lines into spans, and reads the lines of one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalstore.documents import LINE_LIMIT
from evalstore.files import open_below

_BLOCK = 1 << 20


class RowSpan(NamedTuple):
    """The bytes `[start, end)` of a file, which begin with a line: its number, from 1."""

    start: int
    end: int
    first_line: int


ALL_ROWS = RowSpan(0, sys.maxsize, 1)


def cut_row_spans(root: Path, path: str, size: int) -> list[RowSpan]:
    """Cut the file `root/path` into spans of `size` bytes or a line more; `LoadError` where it cannot be read."""
    spans: list[RowSpan] = []
    start, line, here, lines = 0, 1, 0, 0
    with open_below(root, path) as stream:
        while block := stream.readline(_BLOCK):
            here += len(block)
            lines += block.endswith(b"\n")
            if here - start >= size and block.endswith(b"\n"):
                spans.append(RowSpan(start, here, line))
                start, line = here, lines + 1
    return [*spans, RowSpan(start, here, line)] if here > start else spans


def read_span_lines(stream: BinaryIO, span: RowSpan) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) for every line of a span that is not blank; of one beyond the limit, its beginning."""
    stream.seek(span.start)
    number, left = span.first_line - 1, span.end - span.start
    while left > 0 and (line := stream.readline(LINE_LIMIT + 2)):
        number += 1
        left -= len(line)
        rest = line
        while len(rest) > LINE_LIMIT and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_LIMIT + 2)
            left -= len(rest)
        if not line.isspace():
            yield number, line.removesuffix(b"\n")
