"""Surgical edits: one item of a list at the root is put in or replaced; every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalstore.documents.layout import line_after, style_of
from evalstore.documents.tree import Document
from evalstore.documents.yaml_reader import read_yaml
from evalstore.documents.yaml_writer import write_yaml
from evalstore.errors import LoadError, RefusedError

_DASH = re.compile(r"( *)- +")


def put_item(document: Document, key: str, index: int, item: Mapping[str, Any], *, replace: bool = False) -> Document:
    """Return the document with a mapping as the item at `index` of the list under the root's `key`.

    It comes before the item that is there, or in its place. Proves by reading the text again that nothing else
    changed; raises `RefusedError` where the list is laid out so that this cannot be.
    """
    old = document.value[key]
    new = [*old[:index], item, *old[index + replace :]]
    try:
        edited = read_yaml(_splice_item(document, key, index, item, replace=replace), document.file)
    except LoadError:
        edited = document
    if edited.value != document.value | {key: new}:
        raise RefusedError(
            f"no item can be added to `{key}` without touching more of the file",
            place=document.place((key,), of_key=True),
            hint="write each item as a block of lines that begins with a dash",
        )
    return Document(edited.file, edited.text, edited.value, edited.marks, edited.keys, document.bom)


def _splice_item(document: Document, key: str, index: int, item: Mapping[str, Any], *, replace: bool) -> str:
    text, mark = document.text, document.marks[key,]
    if not document.value[key] and style_of(document, (key,)) == "[":
        return f"{text[: mark.start].rstrip(' ')}{_detect_line_break(text)}{_format_item(text, item, '  ')}{text[mark.end :]}"
    if replace:
        start, end = _find_line_start(text, document.marks[key, index].start), line_after(document, (key, index))
    else:
        start = end = line_after(document, (key, index - 1)) if index else _find_next_line(text, document.keys[key,].end)
    before = text[:start] if text[:start].endswith(("\n", "\r")) else text[:start] + _detect_line_break(text)
    return f"{before}{_format_item(text, item, _find_item_indent(document, key))}{text[end:]}"


def _format_item(text: str, item: Mapping[str, Any], indent: str) -> str:
    lines = write_yaml({"items": [item]}).splitlines(keepends=True)[1:]
    return "".join(indent + line.removeprefix("  ") for line in lines).replace("\n", _detect_line_break(text))


def _find_item_indent(document: Document, key: str) -> str:
    first = document.marks[key, 0].start
    dash = _DASH.match(document.text, _find_line_start(document.text, first), first)
    return dash[1] if dash else ""


def _find_line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _find_next_line(text: str, position: int) -> int:
    return text.find("\n", position) + 1


def _detect_line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
