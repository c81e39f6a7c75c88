"""Edits a YAML text in place: replaces single scalars, and adds or replaces items of root lists.

Every other byte stays: each edit is proved by reading the new text and comparing its value.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

from evalstore.documents.document import Document, Pointer, format_json_pointer
from evalstore.documents.yaml_layout import find_next_line, find_node_start, find_style
from evalstore.documents.yaml_reader import read_yaml
from evalstore.documents.yaml_values import resolve_plain_scalar
from evalstore.documents.yaml_writer import write_yaml
from evalstore.errors import LoadError, Place, RefusedError

_DASH = re.compile(r"( *)- +")


def replace_scalar(document: Document, pointer: Pointer, new: str) -> Document:
    """Return the document with the string at `pointer` replaced.

    Raises `RefusedError` if more would change.
    """
    return replace_scalars(document, {pointer: new})


def replace_scalars(document: Document, changes: Mapping[Pointer, str]) -> Document:
    """Return the document with the strings at these pointers replaced.

    Raises `RefusedError` if more would change.
    """
    text = document.text
    # From the end backwards, so that the offsets of earlier edits stay right.
    for pointer in sorted(changes, key=lambda pointer: document.spans[pointer].start, reverse=True):
        text = _replace_in_text(document, text, pointer, changes[pointer])
    edited = read_yaml(text, document.file)
    if edited.value != reduce(
        lambda value, change: replace_value(value, *change), changes.items(), document.value
    ):
        pointer, new = next(iter(changes.items()))
        raise RefusedError(
            f"{format_json_pointer(pointer)} cannot be changed without changing more of the file",
            place=document.locate(pointer),
            hint=f"write {new} there by hand",
        )
    return dataclasses.replace(edited, bom=document.bom)


def put_item(
    document: Document, key: str, index: int, item: Mapping[str, Any], *, replace: bool = False
) -> Document:
    """Return the document with a mapping as the item at `index` of the list under the root's `key`.

    The item is inserted before the one at `index`, or replaces it; a missing list is added at the
    end of the file. Raises `RefusedError` if the layout of the file does not allow the edit without
    changing more.
    """
    old = document.value.get(key, [])
    new = [*old[:index], item, *old[index + replace :]]
    try:
        edited = read_yaml(_splice_item(document, key, index, item, replace=replace), document.file)
    except LoadError:
        edited = document
    if edited.value != document.value | {key: new}:
        raise RefusedError(
            f"no item can be added to `{key}` without changing more of the file",
            place=document.locate((key,), of_key=True),
            hint="write each item as a block of lines that begins with a dash",
        )
    return dataclasses.replace(edited, bom=document.bom)


def _replace_in_text(document: Document, text: str, pointer: Pointer, new: str) -> str:
    span, start = document.spans[pointer], find_node_start(document, pointer)
    first = document.text[start : start + 1]
    # An alias repeats its anchor: the anchored scalar is among the changes, too, or the comparison
    # fails.
    if first == "*":
        return text
    quote = _choose_quote(first, new, document.locate(pointer))
    return f"{text[:start]}{quote}{new}{quote}{text[span.end :]}"


def _choose_quote(first: str, new: str, place: Place) -> str:
    if first in {'"', "'"}:
        return first
    return "" if resolve_plain_scalar(new, place) == new else '"'


def replace_value(value: Any, pointer: Pointer, new: str) -> Any:
    """Return plain data in which the value at a pointer is replaced."""
    if not pointer:
        return new
    if not isinstance(value, dict | list):
        raise TypeError(pointer)
    changed: Any = value.copy()
    changed[pointer[0]] = replace_value(changed[pointer[0]], pointer[1:], new)
    return changed


def _splice_item(
    document: Document, key: str, index: int, item: Mapping[str, Any], *, replace: bool
) -> str:
    text = document.text
    if key not in document.value:
        line_break = _detect_line_break(text)
        whole = text if text.endswith(("\n", "\r")) else text + line_break
        return f"{whole}{key}:{line_break}{_format_item(text, item, '  ')}"
    span = document.spans[key,]
    # An empty flow list becomes a block list, so that each later item can be on a separate line.
    if not document.value[key] and find_style(document, (key,)) == "[":
        head = text[: span.start].rstrip(" ") + _detect_line_break(text)
        return f"{head}{_format_item(text, item, '  ')}{text[span.end :]}"
    if replace:
        start, end = (
            _seek_line_start(text, document.spans[key, index].start),
            find_next_line(document, (key, index)),
        )
    else:
        end = (
            find_next_line(document, (key, index - 1))
            if index
            else _seek_next_line(text, document.key_spans[key,].end)
        )
        start = end
    before = (
        text[:start]
        if text[:start].endswith(("\n", "\r"))
        else text[:start] + _detect_line_break(text)
    )
    return f"{before}{_format_item(text, item, _find_item_indent(document, key))}{text[end:]}"


def _format_item(text: str, item: Mapping[str, Any], indent: str) -> str:
    lines = write_yaml({"items": [item]}).splitlines(keepends=True)[1:]
    moved = (line if line == "\n" else indent + line.removeprefix("  ") for line in lines)
    return "".join(moved).replace("\n", _detect_line_break(text))


def _find_item_indent(document: Document, key: str) -> str:
    first = document.spans[key, 0].start
    dash = _DASH.match(document.text, _seek_line_start(document.text, first), first)
    return dash[1] if dash else ""


def _seek_line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _seek_next_line(text: str, position: int) -> int:
    return text.find("\n", position) + 1


def _detect_line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
