"""Where the parts of a parsed text begin and end, and in which style they are written; changes nothing."""

from __future__ import annotations

import re
from typing import Any

from evalstore.documents.edit import after_properties
from evalstore.documents.tree import Document, Pointer

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")


def style_of(document: Document, pointer: Pointer) -> str:
    """Return the character that tells a node's style: `{`, `[`, a quote, `*` of an alias, or that of a plain word."""
    start = after_properties(document, pointer)
    return document.text[start : start + 1]


def line_start(document: Document, pointer: Pointer) -> int:
    """Return where the line of a key begins."""
    mark = document.keys[pointer]
    return mark.start - mark.column + 1


def indent_of(document: Document, pointer: Pointer) -> str | None:
    """Return the white space before a key, or None when something else stands there."""
    before = document.text[line_start(document, pointer) : document.keys[pointer].start]
    return None if before.strip() else before


def line_after(document: Document, pointer: Pointer) -> int:
    """Return where the line after an entry begins."""
    end = end_of(document, pointer)
    if document.text[end - 1] in "\r\n":  # a block of text ends where the next line begins
        return end
    line = _LINE.match(document.text, end)
    return line.end() if line else end


def end_of(document: Document, pointer: Pointer) -> int:
    """Return the end of a node's last character; that of a block collection is its last child's."""
    value: Any = document.value
    for part in pointer:
        value = value[part]
    while isinstance(value, dict | list) and style_of(document, pointer) not in "{[*":
        last = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        pointer, value = (*pointer, last), value[last]
    return document.marks[pointer].end
