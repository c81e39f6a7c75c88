"""Legacy files as documents, and documents as legacy files: JSON, JSON Lines or YAML, by the name's ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import (
    Document,
    Mark,
    Pointer,
    read_json,
    read_legacy_yaml,
    read_row,
    read_text,
    write_json,
    write_legacy_yaml,
    write_row,
)
from evalstore.errors import LoadError, Place

_LINES = frozenset({".jsonl", ".ndjson"})
_YAML = frozenset({".yaml", ".yml"})
# Prompts that suites name: read as they are, and never taken for a source of their own.
_TEXT = frozenset({".md", ".mustache", ".prompt", ".txt"})
SUFFIXES = frozenset({".json"}) | _LINES | _YAML


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line of JSON Lines that cannot be read: what is wrong, and the line as it stands."""

    problem: LoadError
    text: str


def parse_legacy(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    """Return a legacy file's document; the rows of JSON Lines are a list, without the broken ones.

    Raises `LoadError` with the place. A file of more broken lines than whole ones is no file of such lines.
    """
    suffix = _suffix(file)
    return _rows(data, file) if suffix in _LINES else (_OPEN.get(suffix, read_json)(data, file), ())


def parse_whole(data: bytes, file: str) -> Document:
    """Return a legacy file's document, if it has no broken line. Raises `LoadError` with the place."""
    document, broken = parse_legacy(data, file)
    if broken:
        raise broken[0].problem
    return document


def parse_companion(data: bytes, file: str) -> Document:
    """Return the document of a file that a source names; where its ending says nothing, the value is its text."""
    return parse_whole(data, file) if _suffix(file) in SUFFIXES else _text(data, file)


def render_legacy(value: Any, file: str) -> str:
    """Return the text of a legacy file that has this value."""
    write = _WRITE.get(_suffix(file), write_json)
    return write(value)


def mentions_key(data: bytes, file: str, key: str) -> bool:
    """Whether a file that cannot be read names a key where its format has keys."""
    name = re.escape(key.encode())
    pattern = rb"(?m)^%s\s*:" % name if _suffix(file) in _YAML else rb'"%s"' % name
    return re.search(pattern, data.replace(b"\0", b"")) is not None  # in UTF-16, too


def _rows(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    rows: list[Any] = []
    broken: list[BrokenLine] = []
    marks: dict[Pointer, Mark] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = read_row(line, file, number)
        except LoadError as error:
            broken.append(BrokenLine(error, line.decode("utf-8", "backslashreplace")))
        else:
            marks[len(rows),] = Mark(number, 1, 0, 0)
            rows.append(row)
    if len(broken) > len(rows):
        raise broken[0].problem
    if not rows:
        raise LoadError("the file has no row", place=Place(file, 1))
    return Document(file, data.decode("utf-8", "replace"), rows, marks, {}), tuple(broken)


def _text(data: bytes, file: str) -> Document:
    text, bom = read_text(data, file)
    return Document(file, text, text, {(): Mark(1, 1, 0, len(text))}, {}, bom)


def _lines(value: Any) -> str:
    return "".join(map(write_row, value))


def _suffix(file: str) -> str:
    return PurePosixPath(file).suffix.lower()


_OPEN: Mapping[str, Callable[[bytes, str], Document]] = dict.fromkeys(_YAML, read_legacy_yaml) | dict.fromkeys(
    _TEXT, _text
)
_WRITE: Mapping[str, Callable[[Any], str]] = dict.fromkeys(_LINES, _lines) | dict.fromkeys(_YAML, write_legacy_yaml)
