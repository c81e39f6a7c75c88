"""Pins that follow a release: which move, to what, and the bytes of files and of rows after it; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from evalstore.documents import LINE_LIMIT, read_json, read_row, replace_scalars
from evalstore.errors import EvalstoreError
from evalstore.files import open_below
from evalstore.model import Artifact, Kind, PinType, parse_ref, pins_of
from evalstore.release.standing import rows_path
from evalstore.store import ArtifactStore, Resolved
from evalstore.versions import Version

Moves = Mapping[str, str]

_KEY = "rubric_ref"
_ESCAPES = (b"\\/", b"\\u00")  # how JSON may write the letters of a reference otherwise


def find_moves(store: ArtifactStore, found: Resolved, targets: Mapping[str, Version]) -> dict[str, str]:
    """Return the exact pins of a working file and its rows that are below `targets` (by name), and what they become."""
    moves = ((text, _moved(text, targets)) for text in _pins(store, found, targets))
    return {text: new for text, new in moves if new}


def move_pins(artifact: Artifact, moves: Moves) -> Artifact:
    """Return an artifact with its pins moved, as a working file would be after it."""
    changes = {pointer: moves[text] for pointer, text in pins_of(artifact.kind, artifact.value) if text in moves}
    if not changes:
        return artifact
    document = replace_scalars(artifact.document, changes)
    return Artifact(artifact.kind, artifact.id, artifact.version, document)


def move_row(row: Mapping[str, Any], moves: Moves) -> Mapping[str, Any]:
    """Return a row with its pin moved."""
    text = row.get(_KEY)
    return {**row, _KEY: moves[text]} if isinstance(text, str) and text in moves else row


def move_lines(file: BinaryIO, moves: Moves) -> Iterator[bytes]:
    """Yield the lines of a file of rows with their pins moved; every other byte stays."""
    needles = _needles(parse_ref(text).name for text in moves)
    for number, line in enumerate(_lines(file), start=1):
        yield _move_line(line, number, moves) if _mentions(line, needles) else line


def _move_line(line: bytes, number: int, moves: Moves) -> bytes:
    row = read_row(line, "rows", number) if line.strip() else None
    text = row.get(_KEY) if isinstance(row, dict) else None
    if not isinstance(text, str) or text not in moves:
        return line
    document = read_json(line, "rows")
    mark, shift = document.marks[_KEY,], len("\ufeff") if document.bom else 0
    decoded = line.decode("utf-8")
    return f'{decoded[: mark.start + shift]}"{moves[text]}"{decoded[mark.end + shift :]}'.encode()


def _pins(store: ArtifactStore, found: Resolved, targets: Mapping[str, Version]) -> Iterator[str]:
    # What a judge was validated against is a record of the past, which no release rewrites.
    if found.kind is Kind.JUDGE:
        return
    for _, text in pins_of(found.kind, found.artifact.value):
        yield text
    rows = rows_path(found.artifact)
    if rows and store.root and targets:
        with open_below(store.root, rows) as file:
            yield from _row_pins(file, rows, _needles(targets))


def _row_pins(file: BinaryIO, name: str, needles: tuple[bytes, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for number, line in enumerate(_lines(file), start=1):
        row = read_row(line, name, number) if _mentions(line, needles) else None
        text = row.get(_KEY) if isinstance(row, dict) else None
        if isinstance(text, str) and text not in seen:
            seen.add(text)
            yield text


def _lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.readline, LINE_LIMIT + 2), b"")


def _needles(names: Iterable[str]) -> tuple[bytes, ...]:
    return tuple({f"{name}@".encode() for name in names} | set(_ESCAPES))


def _mentions(line: bytes, needles: tuple[bytes, ...]) -> bool:
    return any(needle in line for needle in needles)


def _moved(text: str, targets: Mapping[str, Version]) -> str | None:
    try:
        ref = parse_ref(text)
    except EvalstoreError:
        return None
    target = targets.get(ref.name)
    if ref.type is not PinType.EXACT or target is None or ref.version is None or ref.version >= target:
        return None
    return f"{ref.name}@{target}"
