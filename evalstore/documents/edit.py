"""Surgical edits: one scalar of a YAML text changes, every other byte stays."""

from __future__ import annotations

import re

from evalstore.documents.tree import Document, Pointer, json_pointer
from evalstore.documents.yaml_reader import plain, read_yaml
from evalstore.errors import Place, RefusedError

# An anchor or a tag stands before the scalar and belongs to its span.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")


def replace_scalar(document: Document, pointer: Pointer, new: str) -> Document:
    """Return the document with the string at `pointer` replaced; proves that nothing else changed."""
    mark, start = document.marks[pointer], after_properties(document, pointer)
    quote = _quote(document.text[start : start + 1], new, document.place(pointer))
    text = f"{document.text[:start]}{quote}{new}{quote}{document.text[mark.end :]}"
    edited = read_yaml(text, document.file)
    if edited.value != _with(document.value, pointer, new):
        raise RefusedError(
            f"{json_pointer(pointer)} cannot be changed without touching more",
            place=document.place(pointer),
            hint=f"write {new} there by hand",
        )
    return Document(edited.file, edited.text, edited.value, edited.marks, edited.keys, document.bom)


def encode(document: Document) -> bytes:
    """Return the bytes of the file, with the byte order mark it had."""
    return (("\ufeff" if document.bom else "") + document.text).encode("utf-8")


def after_properties(document: Document, pointer: Pointer) -> int:
    """Return where a node itself begins, behind its anchor and its tag."""
    mark = document.marks[pointer]
    properties = _PROPERTIES.match(document.text, mark.start, mark.end)
    return properties.end() if properties else mark.start


def _quote(first: str, new: str, place: Place) -> str:
    if first in {'"', "'"}:
        return first
    return "" if plain(new, place) == new else '"'


def _with(value: object, pointer: Pointer, new: str) -> object:
    if not pointer:
        return new
    if isinstance(value, dict):
        return value | {pointer[0]: _with(value[pointer[0]], pointer[1:], new)}
    if isinstance(value, list):
        return [_with(item, pointer[1:], new) if index == pointer[0] else item for index, item in enumerate(value)]
    raise TypeError(pointer)
