"""Cuts a file of outputs into spans that are read each by itself: byte ranges that end where lines or row groups do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evalstore.files import BLOCK, open_user_file

WHOLE_FILE, BYTE_RANGE = "file", "bytes"


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
        while block := file.read(BLOCK):
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
        while block := file.read(BLOCK):
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
    while block := file.read(BLOCK if span.unit == WHOLE_FILE else min(BLOCK, left)):
        left -= len(block)
        yield block
