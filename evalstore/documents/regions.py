"""Cuts the text of a YAML document at its keys and items.

A comment stays with what it belongs to.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalstore.documents.document import Document, Pointer, Span, follow_pointer
from evalstore.documents.yaml_layout import find_node_end, find_style

BLOCK, FLOWS = "-", frozenset("{[")
_ALIAS = "*"
_BLOCK_SCALARS = frozenset("|>")
_SEPARATOR = re.compile(r"\s*,\s*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.MULTILINE)


class Region(NamedTuple):
    """The text of a value, and where it is; nothing is cut before it is needed."""

    document: Document
    pointer: Pointer
    start: int
    end: int

    @property
    def text(self) -> str:
        """All of it."""
        return self.document.text[self.start : self.end]


class RegionEntry(NamedTuple):
    """A key or an item: the comments `above` it, the `key` or dash, its value and the `rest`."""

    name: str | int
    above: str
    key: str
    value: Region
    rest: str

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.above}{self.key}{self.value.text}{self.rest}"


class RegionPieces(NamedTuple):
    """The pieces of a mapping or list, by style: the head, its entries, and what is below them.

    Entries in flow style are separated by commas.
    """

    style: str
    head: str
    entries: tuple[RegionEntry, ...]
    tail: str


def get_region(document: Document) -> Region:
    """Return the text of a document as the region of its root."""
    return Region(document, (), 0, len(document.text))


def cut_region(region: Region) -> RegionPieces | None:
    """Return the pieces of a mapping or list; None for other values and layouts without pieces."""
    value = follow_pointer(region.document.value, region.pointer)[1]
    style = find_style(region.document, region.pointer)
    if not isinstance(value, dict | list) or style == _ALIAS:
        return None
    return _cut_flow(region, value) if style in FLOWS else _cut_block(region, value)


def join_pieces(style: str, head: str, entries: Sequence[str], tail: str) -> str:
    """Return the text of a mapping or list with these entries."""
    return f"{head}{(', ' if style in FLOWS else '').join(entries)}{tail}"


def count_comments(document: Document) -> Counter[str]:
    """Return the comments of a document, each with how often it occurs."""
    marks = list(_COMMENT.finditer(document.text))
    found: Counter[str] = Counter()
    if not marks:
        return found
    scalars = sorted(_list_scalars(document))
    starts = [start for start, _ in scalars]
    for mark in marks:
        before = bisect_right(starts, mark.start()) - 1
        if before < 0 or scalars[before][1] <= mark.start():
            found[mark[0].rstrip()] += 1
    return found


def _list_scalars(document: Document) -> Iterator[tuple[int, int]]:
    """Yield where keys and scalars are; a comment may follow the mark of a block scalar."""
    yield from ((span.start, span.end) for span in document.key_spans.values())
    outer = {pointer[:-1] for pointer in document.spans if pointer}
    for pointer, span in document.spans.items():
        if pointer not in outer:
            has_mark = document.text[span.start : span.start + 1] in _BLOCK_SCALARS
            start = _find_line_end(document.text, span.start) if has_mark else span.start
            yield start, max(span.end, start)


def _find_line_end(text: str, position: int) -> int:
    """Return where the next line begins."""
    return text.find("\n", position) + 1 or len(text)


def _find_line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _list_names(value: Any) -> list[str | int]:
    return list(range(len(value)) if isinstance(value, list) else value)


def _cut_block(region: Region, value: Any) -> RegionPieces | None:
    document, start, end = region.document, region.start, region.end
    pointers = [(*region.pointer, name) for name in _list_names(value)]
    keys = [_find_key(document, pointer, start) for pointer in pointers]
    lines = [
        _find_next_line(document.text, find_node_end(document, pointer)) for pointer in pointers
    ]
    leasts = [start, *lines[:-1]]
    begins = [
        _find_begin(document.text, key, least) for key, least in zip(keys, leasts, strict=True)
    ]
    last = _find_last_end(document.text, keys[-1], lines[-1], end)
    offsets = [start, *begins, last, end]
    if offsets != sorted(offsets):
        return None
    places = zip(pointers, begins, keys, [*begins[1:], last], strict=True)
    entries = tuple(_cut_entry(document, *place) for place in places)
    return RegionPieces(BLOCK, document.text[start : begins[0]], entries, document.text[last:end])


def _find_key(document: Document, pointer: Pointer, least: int) -> int:
    """Return where a key begins, or the dash of an item."""
    if isinstance(pointer[-1], str):
        return document.key_spans[pointer].start
    return max(document.text.rfind("-", least, document.spans[pointer].start), least)


def _find_begin(text: str, key: int, least: int) -> int:
    """Return where the comments above a key begin, or the key itself if more precedes it.

    Comments that are indented further belong to what is above them.
    """
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


def _find_next_line(text: str, end: int) -> int:
    """Return where the line after a value begins; a block scalar ends there itself."""
    return end if text[end - 1 : end] == "\n" else _find_line_end(text, end)


def _find_last_end(text: str, key: int, last: int, limit: int) -> int:
    """Return where a last entry ends, with the comments below it at the same indentation."""
    column = key - _find_line_start(text, key)
    while last < limit:
        below = _find_line_end(text, last)
        comment = text[last:below].lstrip(" ")
        if not comment.startswith("#") or below - last - len(comment) < max(column, 1):
            break
        last = below
    return min(last, limit)


def _cut_entry(document: Document, pointer: Pointer, begin: int, key: int, end: int) -> RegionEntry:
    text, start = document.text, document.spans[pointer].start
    above = max(_find_line_start(text, key), begin)
    style = find_style(document, pointer)
    is_block = _is_block(document, pointer, style)
    # The comments below `checks:` belong to the first check.
    if is_block and isinstance(pointer[-1], str) and "\n" in text[key:start]:
        start = _find_line_end(text, document.key_spans[pointer].end)
    start = min(max(start, key), end)
    stop = end if is_block else max(min(find_node_end(document, pointer), end), start)
    value = Region(document, pointer, start, stop)
    return RegionEntry(pointer[-1], text[begin:above], text[above:start], value, text[stop:end])


def _is_block(document: Document, pointer: Pointer, style: str) -> bool:
    value = follow_pointer(document.value, pointer)[1]
    return isinstance(value, dict | list) and bool(value) and style not in FLOWS and style != _ALIAS


def _cut_flow(region: Region, value: Any) -> RegionPieces | None:
    """Return the pieces of a flow on one line; None for several lines, which may have comments."""
    document, text = region.document, region.text
    pointers = [(*region.pointer, name) for name in _list_names(value)]
    if "\n" in text.strip():
        return None
    if not pointers:
        return RegionPieces(text[:1], text[:-1], (), text[-1:]) if text[:1] in FLOWS else None
    starts = [_find_entry_span(document, pointer).start for pointer in pointers]
    ends = [document.spans[pointer].end for pointer in pointers]
    between = [document.text[end:start] for end, start in zip(ends, starts[1:], strict=False)]
    if not all(map(_SEPARATOR.fullmatch, between)):
        return None
    places = zip(pointers, starts, strict=True)
    entries = tuple(_cut_flow_entry(document, *place) for place in places)
    head, tail = document.text[region.start : starts[0]], document.text[ends[-1] : region.end]
    return RegionPieces(text[:1], head, entries, tail)


def _find_entry_span(document: Document, pointer: Pointer) -> Span:
    """Return where an entry begins: at its key in a mapping, at its value in a list."""
    spans = document.key_spans if isinstance(pointer[-1], str) else document.spans
    return spans[pointer]


def _cut_flow_entry(document: Document, pointer: Pointer, start: int) -> RegionEntry:
    span = document.spans[pointer]
    value = Region(document, pointer, span.start, span.end)
    return RegionEntry(pointer[-1], "", document.text[start : span.start], value, "")
