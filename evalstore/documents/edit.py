"""Surgical edits: single scalars of a YAML text change, every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce

from evalstore.documents.tree import Document, Pointer, json_pointer
from evalstore.documents.yaml_reader import plain, read_yaml
from evalstore.errors import Place, RefusedError

# An anchor or a tag stands before the scalar and belongs to its span.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")


def replace_scalar(document: Document, pointer: Pointer, new: str) -> Document:
    """Return the document with the string at `pointer` replaced; proves that nothing else changed."""
    return replace_scalars(document, {pointer: new})


def replace_scalars(document: Document, changes: Mapping[Pointer, str]) -> Document:
    """Return the document with the strings at these pointers replaced; proves that nothing else changed."""
    text = document.text
    for pointer in sorted(changes, key=lambda pointer: document.marks[pointer].start, reverse=True):
        text = _replace_in_text(document, text, pointer, changes[pointer])
    edited = read_yaml(text, document.file)
    if edited.value != reduce(lambda value, change: _replace_value(value, *change), changes.items(), document.value):
        pointer, new = next(iter(changes.items()))
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


def _replace_in_text(document: Document, text: str, pointer: Pointer, new: str) -> str:
    mark, start = document.marks[pointer], after_properties(document, pointer)
    first = document.text[start : start + 1]
    if first == "*":  # an alias says what its anchor says, which is changed too, or the proof fails
        return text
    quote = _choose_quote(first, new, document.place(pointer))
    return f"{text[:start]}{quote}{new}{quote}{text[mark.end :]}"


def _choose_quote(first: str, new: str, place: Place) -> str:
    if first in {'"', "'"}:
        return first
    return "" if plain(new, place) == new else '"'


def _replace_value(value: object, pointer: Pointer, new: str) -> object:
    if not pointer:
        return new
    if isinstance(value, dict):
        return value | {pointer[0]: _replace_value(value[pointer[0]], pointer[1:], new)}
    if isinstance(value, list):
        return [_replace_value(item, pointer[1:], new) if index == pointer[0] else item for index, item in enumerate(value)]
    raise TypeError(pointer)
