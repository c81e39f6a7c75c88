"""Finds where the nodes of a YAML text begin and end, with their properties, lines and indents."""

from __future__ import annotations

import re
from typing import Any

from evalstore.documents.document import Document, Pointer

# An anchor or a tag precedes the scalar and belongs to its span.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_WHOLE_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")


def find_node_start(document: Document, pointer: Pointer) -> int:
    """Return the offset of a node after its anchor and tag."""
    span = document.spans[pointer]
    properties = _PROPERTIES.match(document.text, span.start, span.end)
    return properties.end() if properties else span.start


def find_style(document: Document, pointer: Pointer) -> str:
    """Return a node's first character, which shows its style.

    It may be `{`, `[`, a quote, `*` of an alias, or a plain one.
    """
    start = find_node_start(document, pointer)
    return document.text[start : start + 1]


def find_line_start(document: Document, pointer: Pointer) -> int:
    """Return the offset at which the line of a key begins."""
    span = document.key_spans[pointer]
    return span.start - span.column + 1


def find_indent(document: Document, pointer: Pointer) -> str | None:
    """Return the white space before a key, or None if something else precedes it."""
    before = document.text[find_line_start(document, pointer) : document.key_spans[pointer].start]
    return None if before.strip() else before


def find_next_line(document: Document, pointer: Pointer) -> int:
    """Return the offset at which the line after an entry begins."""
    end = find_node_end(document, pointer)
    # The span of a block scalar ends where the next line begins.
    if document.text[end - 1] in "\r\n":
        return end
    line = _WHOLE_LINE.match(document.text, end)
    return line.end() if line else end


def find_node_end(document: Document, pointer: Pointer) -> int:
    """Return the offset after a node's last character.

    A block collection ends with its last child.
    """
    value: Any = document.value
    for part in pointer:
        value = value[part]
    while isinstance(value, dict | list) and find_style(document, pointer) not in "{[*":
        last = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        pointer, value = (*pointer, last), value[last]
    return document.spans[pointer].end
