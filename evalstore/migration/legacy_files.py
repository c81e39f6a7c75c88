"""Parses legacy files by extension, row by row if they have rows, and writes such files."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import (
    Document,
    DoubledKey,
    Pointer,
    Span,
    read_legacy_json,
    read_legacy_row,
    read_legacy_yaml,
    read_text,
    write_json,
    write_legacy_yaml,
    write_row,
)
from evalstore.errors import LoadError, Place

_LINES = frozenset({".jsonl", ".ndjson"})
_YAML = frozenset({".yaml", ".yml"})
_TABLE = ".csv"  # of cases that a suite names: not a source by itself
_TABLE_ALONE = (
    "no suite is a table alone: name the file that lists it (of promptfoo, promptfooconfig.yaml); "
    "for questions in a table, `evalstore new dataset ID` begins a dataset"
)
# Prompt files that suites refer to: read as plain text, and never sources themselves.
_TEXT = frozenset({".md", ".mustache", ".prompt", ".txt"})
SUFFIXES = frozenset({".json"}) | _LINES | _YAML
_WRITERS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(_LINES, lambda value: "".join(map(write_row, value))),
    **dict.fromkeys(_YAML, write_legacy_yaml),
}


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line of JSON Lines that cannot be parsed: the error, and the line unchanged."""

    problem: LoadError
    text: str

    @property
    def line(self) -> int | None:
        """Its number."""
        return self.problem.place.line if self.problem.place else None


def parse_legacy(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    """Return a legacy file's document and its broken lines, which the list of rows leaves out.

    Raises `LoadError` with the place, also if more lines are broken than whole: such a file is not
    JSON Lines.
    """
    suffix = _get_suffix(file)
    if suffix == _TABLE:
        raise LoadError(_TABLE_ALONE, place=Place(file, 1))
    return (
        _parse_rows(data, file)
        if suffix in _LINES
        else (_PARSERS.get(suffix, read_legacy_json)(data, file), ())
    )


def parse_whole(data: bytes, file: str) -> Document:
    """Return the document of a legacy file without broken lines.

    Raises `LoadError`, with the place, if a line is broken.
    """
    document, broken = parse_legacy(data, file)
    if broken:
        raise broken[0].problem
    return document


def parse_companion(data: bytes, file: str) -> Document:
    """Return the document of a companion file; its text if the extension names no format."""
    if _get_suffix(file) == _TABLE:
        return _parse_table(data, file)
    return parse_whole(data, file) if _get_suffix(file) in SUFFIXES else _parse_text(data, file)


def render_legacy(value: Any, file: str) -> str:
    """Return the text of a legacy file with this value, in the format of its extension."""
    if isinstance(value, str) and _get_suffix(file) not in SUFFIXES:
        return value
    write = _WRITERS.get(_get_suffix(file), write_json)
    return write(value)


def has_key_mention(data: bytes, file: str, key: str) -> bool:
    """Whether the bytes of an unparsable file mention a key where its format puts keys."""
    # A byte pattern, because a file that does not parse may not decode either.
    name = re.escape(key.encode())
    pattern = rb"(?m)^%s\s*:" % name if _get_suffix(file) in _YAML else rb'"%s"' % name
    return re.search(pattern, data.replace(b"\0", b"")) is not None  # NUL bytes: UTF-16


def _parse_table(data: bytes, file: str) -> Document:
    """Return the document of a table.

    It has the text, and the line where each row after the first begins.
    """
    document = _parse_text(data, file)
    reader = csv.reader(StringIO(document.text, newline=""))
    spans, line = dict(document.spans), 1
    with suppress(csv.Error):  # whoever reads its rows says what is wrong
        for number, _ in enumerate(reader, start=-1):
            spans[number,] = Span(line, 1, 0, 0)
            line = reader.line_num + 1
    return replace(document, spans=spans)


def _parse_rows(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    rows: list[Any] = []
    broken: list[BrokenLine] = []
    marks: dict[Pointer, Span] = {}
    doubled: list[DoubledKey] = []
    opaque: list[Pointer] = []
    # Split at LF only: other line separators may occur inside JSON texts.
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = read_legacy_row(line, file, number)
        except LoadError as error:
            broken.append(BrokenLine(error, line.decode("utf-8", "backslashreplace")))
        else:
            place = len(rows)
            marks[place,] = Span(number, 1, 0, 0)
            doubled += (key._replace(pointer=(place, *key.pointer)) for key in row.doubled)
            opaque += ((place, *pointer) for pointer in row.opaque)
            rows.append(row.value)
    # More broken lines than whole ones: the file is not JSON Lines at all.
    if len(broken) > len(rows):
        raise broken[0].problem
    if not rows:
        raise LoadError("the file has no row", place=Place(file, 1))
    text = data.decode("utf-8", "replace")
    return Document(
        file, text, rows, marks, {}, doubled=tuple(doubled), opaque=tuple(opaque)
    ), tuple(broken)


def _parse_text(data: bytes, file: str) -> Document:
    text, bom = read_text(data, file)
    return Document(file, text, text, {(): Span(1, 1, 0, len(text))}, {}, bom)


def _parse_toml(data: bytes, file: str) -> Document:
    """Return the document of a TOML file: it is never a suite, but its tool can be named."""
    document = _parse_text(data, file)
    try:
        return replace(document, value=tomllib.loads(document.text))
    except tomllib.TOMLDecodeError as error:
        raise LoadError(f"not TOML: {error}", place=Place(file, 1)) from None


def _get_suffix(file: str) -> str:
    return PurePosixPath(file).suffix.lower()


_PARSERS: Mapping[str, Callable[[bytes, str], Document]] = {
    **dict.fromkeys(_YAML, read_legacy_yaml),
    **dict.fromkeys(_TEXT, _parse_text),
    ".toml": _parse_toml,
}
