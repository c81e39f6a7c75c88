"""Legacy files as documents, and documents as legacy files: JSON, JSON Lines or YAML, by the name's ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import (
    Document,
    Mark,
    Pointer,
    read_json,
    read_row,
    read_yaml,
    write_json,
    write_row,
    write_yaml,
)
from evalstore.errors import LoadError, Place

_LINES = frozenset({".jsonl", ".ndjson"})
_YAML = frozenset({".yaml", ".yml"})
SUFFIXES = frozenset({".json"}) | _LINES | _YAML


def open_source(data: bytes, file: str) -> Document:
    """Return a legacy file's document; the rows of JSON Lines are a list. Raises `LoadError` with the place."""
    return _OPEN.get(_suffix(file), read_json)(data, file)


def source_text(value: Any, file: str) -> str:
    """Return the text of a legacy file that has this value."""
    write = _WRITE.get(_suffix(file), write_json)
    return write(value)


def names_key(data: bytes, file: str, key: str) -> bool:
    """Whether a file that cannot be read names a key where its format has keys."""
    name = re.escape(key.encode())
    pattern = rb"(?m)^%s\s*:" % name if _suffix(file) in _YAML else rb'"%s"' % name
    return re.search(pattern, data) is not None


def _rows(data: bytes, file: str) -> Document:
    rows: list[Any] = []
    marks: dict[Pointer, Mark] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            marks[len(rows),] = Mark(number, 1, 0, 0)
            rows.append(read_row(line, file, number))
    if not rows:
        raise LoadError("the file has no row", place=Place(file, 1))
    return Document(file, data.decode("utf-8"), rows, marks, {})


def _lines(value: Any) -> str:
    return "".join(map(write_row, value))


def _suffix(file: str) -> str:
    return PurePosixPath(file).suffix.lower()


_OPEN: Mapping[str, Callable[[bytes, str], Document]] = dict.fromkeys(_LINES, _rows) | dict.fromkeys(_YAML, read_yaml)
_WRITE: Mapping[str, Callable[[Any], str]] = dict.fromkeys(_LINES, _lines) | dict.fromkeys(_YAML, write_yaml)
