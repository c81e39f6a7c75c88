"""Tells what holds a file's outputs (an archive, an object, lines), and which names its keys have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from evalstore.documents import JsonStream
from evalstore.errors import LoadError
from evalstore.files import open_user_file
from evalstore.runs.imports.inspect_archive import MAGIC, open_archive
from evalstore.runs.imports.inspect_log import SAMPLES_KEY as SAMPLES
from evalstore.runs.imports.promptfoo import RESULTS_KEY as RESULTS
from evalstore.runs.row_formats import is_text_format, read_lines

ARCHIVE, OBJECT, ARRAY, EMPTY, UTF_16, TABLE, OTHER = (
    "archive",
    "object",
    "array",
    "empty",
    "utf-16",
    "table",
    "other",
)
_MAGIC = {**dict.fromkeys(MAGIC, ARCHIVE), b"\xff\xfe": UTF_16, b"\xfe\xff": UTF_16, b"PAR1": TABLE}
_CONTAINERS = {"{": OBJECT, "": EMPTY}
_COLUMN_END = re.compile('[",;\t]+')


def detect_container(path: Path) -> str:
    """Return the container of a file (`ARCHIVE`, `OBJECT`, …) by its first bytes or its first character."""
    if not is_text_format(path):
        return EMPTY if _read_columns(path) is None else OBJECT
    with open_user_file(path) as file:
        head = file.read(4)
        if magic := next(filter(head.startswith, _MAGIC), None):
            return _MAGIC[magic]
        file.seek(0)
        stream = JsonStream(file, str(path))
        with suppress(LoadError):  # no text at all
            if stream.peek() == "[":
                return (
                    ARRAY
                    if next(stream.iterate_items(), None) == 0 and stream.peek() == "{"
                    else OTHER
                )
            return _CONTAINERS.get(stream.peek(), OTHER)
    return OTHER


def read_names(path: Path, kind: str) -> Iterator[str]:
    """Yield an archive's member names, or the keys of a text's first object and of its first row.

    A key within another is written `results.stats`, a key of a list's first item `results[].vars`.
    """
    if kind == ARCHIVE:
        with open_archive(path) as archive:
            yield from archive.members
    elif kind == OBJECT and not is_text_format(path):
        yield from _read_columns(path) or ()
    elif kind == OBJECT:
        with open_user_file(path) as file:
            yield from _read_keys(JsonStream(file, str(path)), "")
    elif kind == OTHER:
        with open_user_file(path) as file:
            yield from _COLUMN_END.split(file.readline(4_096).decode("utf-8", "replace").strip())


def _read_columns(path: Path) -> tuple[str, ...] | None:
    """Return the names in the first row of a table, or None where it has no row.

    They are kept, for one command asks for them five times, and a process reads them.
    """
    found = path.stat()
    return _read_unchanged_columns(path, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _read_unchanged_columns(path: Path, *_: int) -> tuple[str, ...] | None:
    row = next(read_lines(path), None)
    return tuple(json.loads(row[1])) if row else None


def _read_keys(stream: JsonStream, above: str) -> Iterator[str]:
    for key in stream.iterate_members():
        name = above + key
        yield name
        opened = stream.peek()
        if key == RESULTS and not above and opened == "{":
            yield from _read_keys(stream, f"{name}.")
        elif key in {RESULTS, SAMPLES} and opened == "[":
            yield from _read_first_row_keys(stream, f"{name}[].")
        else:
            stream.skip()


def _read_first_row_keys(stream: JsonStream, above: str) -> Iterator[str]:
    """Yield the keys of a list's first item and pass over the others."""
    for number in stream.iterate_items():
        if number == 0 and stream.peek() == "{":
            for key in stream.iterate_members():
                yield above + key
                stream.skip()
        else:
            stream.skip()
