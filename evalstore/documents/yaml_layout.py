"""Writes new YAML files, each proved to read back equal, and finds where the parts of a file begin and end."""

from __future__ import annotations

import re
from typing import Any

from evalstore.documents.document import Document, Pointer
from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.errors import RefusedError


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header` (comment lines); `RefusedError` if it reads back different."""
    text = header + _dump_yaml(value)
    return _require_equal(text, equal=read_yaml(text, "<new file>").value == value)


def write_legacy_yaml(value: Any) -> str:
    """Return `value`, whose keys need not be texts, as a YAML document that `read_legacy_yaml` reads back equal."""
    text = _dump_yaml(value)
    return _require_equal(text, equal=read_legacy_yaml(text, "<new file>").value == value)


def _require_equal(text: str, *, equal: bool) -> str:
    if not equal:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text


def _dump_yaml(value: Any) -> str:
    from evalstore.documents.yaml_events import format_yaml  # ruamel.yaml is slow to import

    return format_yaml(value)


# An anchor or a tag stands before the scalar and belongs to its span.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")


def find_node_start(document: Document, pointer: Pointer) -> int:
    """Return the offset of a node behind its anchor and tag."""
    span = document.spans[pointer]
    properties = _PROPERTIES.match(document.text, span.start, span.end)
    return properties.end() if properties else span.start


def find_style(document: Document, pointer: Pointer) -> str:
    """Return a node's first character, which gives its style: `{`, `[`, a quote, `*` of an alias, or a plain one."""
    start = find_node_start(document, pointer)
    return document.text[start : start + 1]


def find_line_start(document: Document, pointer: Pointer) -> int:
    """Return the offset at which the line of a key begins."""
    span = document.key_spans[pointer]
    return span.start - span.column + 1


def find_indent(document: Document, pointer: Pointer) -> str | None:
    """Return the white space before a key, or None when something else stands there."""
    before = document.text[find_line_start(document, pointer) : document.key_spans[pointer].start]
    return None if before.strip() else before


def find_next_line(document: Document, pointer: Pointer) -> int:
    """Return the offset at which the line after an entry begins."""
    end = find_node_end(document, pointer)
    # The span of a block scalar ends where the next line begins.
    if document.text[end - 1] in "\r\n":
        return end
    line = _LINE.match(document.text, end)
    return line.end() if line else end


def find_node_end(document: Document, pointer: Pointer) -> int:
    """Return the offset behind a node's last character; a block collection ends with its last child."""
    value: Any = document.value
    for part in pointer:
        value = value[part]
    while isinstance(value, dict | list) and find_style(document, pointer) not in "{[*":
        last = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        pointer, value = (*pointer, last), value[last]
    return document.spans[pointer].end
