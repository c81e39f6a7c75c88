"""Surgical edits: one scalar of a YAML text changes, every other byte stays."""

from __future__ import annotations

from evalstore.documents.tree import Document, Pointer, json_pointer
from evalstore.documents.yaml_reader import read_yaml
from evalstore.errors import RefusedError


def replace_scalar(document: Document, pointer: Pointer, new: str) -> Document:
    """Return the document with the string at `pointer` replaced; proves that nothing else changed."""
    mark = document.marks[pointer]
    old = document.text[mark.start : mark.end]
    quote = old[:1] if old[:1] in {'"', "'"} else '"'
    text = f"{document.text[: mark.start]}{quote if _quoted(old, new) else ''}{new}{quote if _quoted(old, new) else ''}{document.text[mark.end :]}"
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


def _quoted(old: str, new: str) -> bool:
    return old[:1] in {'"', "'"} or new.count(".") < 2  # noqa: PLR2004  # 1.2 unquoted is a number


def _with(value: object, pointer: Pointer, new: str) -> object:
    if not pointer:
        return new
    if isinstance(value, dict):
        return value | {pointer[0]: _with(value[pointer[0]], pointer[1:], new)}
    if isinstance(value, list):
        return [_with(item, pointer[1:], new) if index == pointer[0] else item for index, item in enumerate(value)]
    raise TypeError(pointer)
