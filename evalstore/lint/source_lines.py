"""Quotes the line of a file that a finding is about, cut to what fits a screen."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO

from evalstore.documents import LINE_LIMIT, Document, Span
from evalstore.errors import LoadError
from evalstore.files import open_below
from evalstore.lint.sources import ValidationSource
from evalstore.model import Finding, SourceLine

_AFTER = 300  # characters: no screen is that wide
_CUT = "…"
_BREAK = re.compile(r"[\r\n]")
# A template tag, a quoted text, or the characters up to one that ends a key, number or word.
_WORD = re.compile(r"""\{\{.*?\}\}\}?|\"(?:\\.|[^"\\])*\"|'(?:''|[^'])*'|[^\s,:{}\[\]]+|.""")


def quote_span(document: Document, span: Span | None) -> SourceLine | None:
    """Return the line of a node with the node marked.

    If it spans several lines, its first character is marked.
    """
    if span is None:
        return None
    text, begin = document.text, span.start - (span.column - 1)
    end = found.start() if (found := _BREAK.search(text, span.start)) else len(text)
    last = span.end if span.start < span.end <= end else span.start + 1
    return _cut_line(text[begin:end], span.start - begin, last - begin)


def add_source_lines(
    findings: Sequence[Finding], source: ValidationSource, most: int | None
) -> list[Finding]:
    """Return findings, the first `most` of a rule in a file with their line (None: all).

    For places without a node (a row, a syntax error), the line is read again.
    """
    quoted = list(findings)
    places: defaultdict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    counts = Counter[tuple[str, str]]()
    for index, finding in enumerate(findings):
        counts[finding.file, finding.rule] += 1
        is_shown = most is None or counts[finding.file, finding.rule] <= most
        if is_shown and finding.line and finding.source is None:
            places[finding.file][finding.line].append(index)
    for file, by_line in places.items():
        # Of a long line only the visible part is kept, and of the others nothing.
        for number, line in _read_lines(source, file, by_line.keys()):
            for index in by_line[number]:
                quoted[index] = replace(
                    quoted[index], source=_quote_column(line, quoted[index].column)
                )
    return quoted


def _quote_column(line: str, column: int | None) -> SourceLine:
    start = (column or 0) - 1
    if not 0 <= start <= len(line):
        return _cut_line(line, 0, 0)
    # An error at the end of a line is marked after it.
    word = _WORD.match(line, start)
    return _cut_line(line, start, word.end() if word else start + 1)


def _read_lines(
    source: ValidationSource, file: str, numbers: Collection[int]
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source, or of its rows; none if unreadable, which is a finding."""
    if source.root is None:
        yield from _pick_lines(enumerate((source.data or b"").splitlines(), start=1), numbers)
        return
    path = file.removeprefix(source.file.removesuffix(source.path))
    with suppress(LoadError), open_below(source.root, path) as stream:
        yield from _pick_lines(read_numbered_lines(stream), numbers)


def read_numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) for every line; if it is beyond the limit, only its beginning."""
    number = 0
    while line := stream.readline(LINE_LIMIT + 2):
        number += 1
        rest = line
        while len(rest) > LINE_LIMIT and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_LIMIT + 2)
        yield number, line.removesuffix(b"\n")


def _pick_lines(
    lines: Iterable[tuple[int, bytes]], numbers: Collection[int]
) -> Iterator[tuple[int, str]]:
    last = max(numbers)
    for number, line in lines:
        if number in numbers:
            yield number, line.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
        if number >= last:
            return


def _cut_line(line: str, start: int, end: int) -> SourceLine:
    first = max(start - 200, 0)
    text = line[first : start + _AFTER]
    lead, tail = _CUT if first else "", _CUT if len(line) > start + _AFTER else ""
    shift = len(lead) - first
    return SourceLine(f"{lead}{text}{tail}", start + shift, min(end, start + _AFTER) + shift)
