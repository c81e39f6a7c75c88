"""Cuts the text of a YAML document at its keys and items, so that each comment stays with the part that it is at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalstore.documents.document import Document, Pointer
from evalstore.documents.yaml_writer import find_node_end, find_style

BLOCK, FLOWS = "-", frozenset("{[")
_ALIAS = "*"
_BLOCK_SCALARS = frozenset("|>")
_SEPARATOR = re.compile(r"\s*,\s*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.MULTILINE)


class Region(NamedTuple):
    """The text of a value; where `style` is one of a mapping or list, `head`, entries and `tail` are all of it.

    Between the entries of a flow are commas, which only `text` has.
    """

    text: str
    style: str = ""
    head: str = ""
    entries: tuple[RegionEntry, ...] = ()
    tail: str = ""


class RegionEntry(NamedTuple):
    """A key or an item: the lines of comments `above` it, the `key` or dash, the value, and the `rest` of its lines."""

    name: str | int
    above: str
    key: str
    value: Region
    rest: str

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.above}{self.key}{self.value.text}{self.rest}"


def cut_regions(document: Document) -> Region:
    """Return the text of a document, cut as far as its layout allows."""
    return _RegionCutter(document).cut((), document.value, 0, len(document.text))


def count_comments(document: Document) -> Counter[str]:
    """Return the comments of a document, each with how often it is there."""
    found: Counter[str] = Counter()
    position = 0
    for start, end in [*sorted(_list_scalars(document)), (len(document.text), len(document.text))]:
        gap = _COMMENT.finditer(document.text, position, start) if position < start else ()
        found.update(match[0].rstrip() for match in gap)
        position = max(position, end)
    return found


def _list_scalars(document: Document) -> Iterator[tuple[int, int]]:
    """Yield where the texts of keys and scalars are; a comment may be behind the mark of a block scalar."""
    yield from ((span.start, span.end) for span in document.key_spans.values())
    for pointer, value in _walk((), document.value):
        if not isinstance(value, dict | list):
            span, start = document.spans[pointer], document.spans[pointer].start
            if find_style(document, pointer) in _BLOCK_SCALARS:
                start = _find_line_end(document.text, start)
            yield start, span.end


def _walk(pointer: Pointer, value: Any) -> Iterator[tuple[Pointer, Any]]:
    yield pointer, value
    pairs = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for name, item in pairs:
        yield from _walk((*pointer, name), item)


def _find_line_end(text: str, position: int) -> int:
    """Return where the next line begins."""
    return text.find("\n", position) + 1 or len(text)


def _find_line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


@dataclass(frozen=True, slots=True)
class _RegionCutter:
    """Cuts one document; every offset is one of its text."""

    document: Document

    def cut(self, pointer: Pointer, value: Any, start: int, end: int) -> Region:
        """Return the region of a value, within which no character of another one is."""
        style = find_style(self.document, pointer)
        if isinstance(value, dict | list) and style in FLOWS:
            region = self._cut_flow(pointer, value, start)
        elif isinstance(value, dict | list) and value and style != _ALIAS:
            region = self._cut_block(pointer, value, start, end)
        else:
            region = None
        return region or Region(self._slice(start, min(find_node_end(self.document, pointer), end)))

    def _slice(self, start: int, end: int) -> str:
        return self.document.text[start:end]

    def _list_names(self, value: Any) -> list[str | int]:
        return list(range(len(value)) if isinstance(value, list) else value)

    def _cut_block(self, pointer: Pointer, value: Any, start: int, end: int) -> Region | None:
        names = self._list_names(value)
        keys = [self._find_key((*pointer, name), start) for name in names]
        ends = [find_node_end(self.document, (*pointer, name)) for name in names]
        lines = [self._find_next_line(end) for end in ends]
        begins = [self._find_begin(key, least) for key, least in zip(keys, [start, *lines[:-1]], strict=True)]
        last = self._find_last_end(keys[-1], lines[-1], end)
        limits = [*begins[1:], last]
        if [start, *begins, last, end] != sorted([start, *begins, last, end]):
            return None
        cuts = zip(names, begins, keys, limits, strict=True)
        entries = tuple(self._cut_entry((*pointer, name), value[name], *offsets) for name, *offsets in cuts)
        return Region(self._slice(start, end), BLOCK, self._slice(start, begins[0]), entries, self._slice(last, end))

    def _find_key(self, pointer: Pointer, least: int) -> int:
        """Return where a key begins, or the dash of an item."""
        if isinstance(pointer[-1], str):
            return self.document.key_spans[pointer].start
        return max(self.document.text.rfind("-", least, self.document.spans[pointer].start), least)

    def _find_begin(self, key: int, least: int) -> int:
        """Return where the comments directly above a key begin; the key itself where it is not the first on its line.

        Comments that are indented further belong to what is above them.
        """
        text = self.document.text
        begin = _find_line_start(text, key)
        if begin < least or text[begin:key].strip():
            return key
        column = key - begin
        while begin > least:
            above = max(_find_line_start(text, begin - 1), least)
            comment = text[above:begin].lstrip(" ")
            if not comment.startswith("#") or begin - above - len(comment) > column:
                break
            begin = above
        return begin

    def _find_next_line(self, end: int) -> int:
        """Return where the line after a value begins; a block scalar ends there itself."""
        return end if self.document.text[end - 1 : end] == "\n" else _find_line_end(self.document.text, end)

    def _find_last_end(self, key: int, last: int, limit: int) -> int:
        """Return where the lines of a last entry end, with the comments below it that are indented as it is."""
        text = self.document.text
        column = key - _find_line_start(text, key)
        while last < limit:
            below = _find_line_end(text, last)
            comment = text[last:below].lstrip(" ")
            if not comment.startswith("#") or below - last - len(comment) < max(column, 1):
                break
            last = below
        return min(last, limit)

    def _cut_entry(self, pointer: Pointer, value: Any, begin: int, key: int, end: int) -> RegionEntry:
        text, start = self.document.text, self.document.spans[pointer].start
        line = _find_line_start(text, key)
        above = max(line, begin)
        # The comments below `checks:` belong to the first check.
        if isinstance(pointer[-1], str) and isinstance(value, dict | list) and value and "\n" in text[key:start]:
            start = _find_line_end(text, self.document.key_spans[pointer].end)
        start = min(max(start, key), end)
        region = self.cut(pointer, value, start, end)
        key_text, rest = self._slice(above, start), self._slice(start + len(region.text), end)
        return RegionEntry(pointer[-1], self._slice(begin, above), key_text, region, rest)

    def _cut_flow(self, pointer: Pointer, value: Any, start: int) -> Region | None:
        """Return the region of a flow on one line; None for one of several lines, which may have comments within."""
        end = self.document.spans[pointer].end
        text = self._slice(start, end)
        pointers = [(*pointer, name) for name in self._list_names(value)]
        if not pointers:
            return Region(text, text[:1], text[:-1], (), text[-1:]) if text.startswith(("{", "[")) else None
        if "\n" in text:
            return None
        starts = [self._find_flow_start(one) for one in pointers]
        ends = [self.document.spans[one].end for one in pointers]
        between = [self._slice(*gap) for gap in zip(ends, starts[1:], strict=False)]
        if not all(map(_SEPARATOR.fullmatch, between)):
            return None
        entries = tuple(map(self._cut_flow_entry, pointers, value if isinstance(value, list) else value.values()))
        return Region(text, text[:1], self._slice(start, starts[0]), entries, self._slice(ends[-1], end))

    def _find_flow_start(self, pointer: Pointer) -> int:
        spans = self.document.key_spans if isinstance(pointer[-1], str) else self.document.spans
        return spans[pointer].start

    def _cut_flow_entry(self, pointer: Pointer, value: Any) -> RegionEntry:
        span = self.document.spans[pointer]
        region = self.cut(pointer, value, span.start, span.end)
        return RegionEntry(pointer[-1], "", self._slice(self._find_flow_start(pointer), span.start), region, "")


def join_region(head: str, entries: Sequence[str], tail: str, style: str) -> str:
    """Return the text of a mapping or list with these entries."""
    return f"{head}{(', ' if style in FLOWS else '').join(entries)}{tail}"
