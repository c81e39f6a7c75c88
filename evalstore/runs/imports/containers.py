"""Detects the container of a file's rows (archive, object, lines, table), and reads keys and rows.

A row is on a line, in an array, in a list inside a document, or in a table. A format's module only
says how one row is read; this module finds the rows.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, ZIP, JsonStream, read_legacy_yaml
from evalstore.documents import PARQUET as PARQUET_SIGN
from evalstore.errors import LoadError, Place
from evalstore.files import LARGE_FILE
from evalstore.runs.imports.inspect_archive import open_archive
from evalstore.runs.imports.row_item import parse_lenient_object, read_item
from evalstore.runs.packed import open_unpacked
from evalstore.runs.row_formats import is_text_format, read_lines
from evalstore.text import make_excerpt

ARCHIVE, OBJECT, ARRAY, EMPTY = "archive", "object", "array", "empty"
CSV, YAML, UTF_16, PARQUET, OTHER = "csv", "yaml", "utf-16", "parquet", "other"
_MAGIC = {
    **dict.fromkeys(ZIP, ARCHIVE),
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
    PARQUET_SIGN: PARQUET,
}
_BOM = b"\xef\xbb\xbf"
_HEAD = 64 << 10  # bytes of a text that are enough to recognize a table or YAML
_YAML_KEY = re.compile(r"(?:(?:#[^\n]*|---)?\n)*[A-Za-z_][\w-]*:(?:\s|$)")
_DELIMITERS = ",\t;"
_COLUMN = re.compile(r"[^\x00-\x08\x0e-\x1f]*")
_UNDECODED = re.compile("[\udc80-\udcff]")


class SourceRow(NamedTuple):
    """A row of a file: its place, and its value or the error why it has none."""

    place: Place
    value: Mapping[str, Any] | LoadError


def detect_container(path: Path) -> str:
    """Return the container of a file (`ARCHIVE`, `OBJECT`, …) by its first bytes."""
    if not is_text_format(path):
        return EMPTY if _read_columns(path) is None else OBJECT
    with open_unpacked(path) as file:
        head = file.read(_HEAD)
    if magic := next(filter(head.startswith, _MAGIC), None):
        return _MAGIC[magic]
    text = head.removeprefix(_BOM).decode("utf-8", "replace")
    first = text.lstrip()[:1]
    if first == "[":
        return ARRAY if text.lstrip()[1:].lstrip()[:1] == "{" else OTHER
    if first in {"{", ""}:
        return OBJECT if first else EMPTY
    if _YAML_KEY.match(text):
        return YAML
    return CSV if len(_split_header(text)) > 1 else OTHER


def has_lines(path: Path) -> bool:
    """Whether there is one object a line; an object over several lines begins with a lone `{`."""
    if not is_text_format(path):
        return True
    with open_unpacked(path) as file:
        return file.readline(_HEAD).removeprefix(_BOM).strip() != b"{"


def read_names(path: Path, kind: str, places: Collection[str]) -> Iterator[str]:
    """Yield an archive's member names, a table's columns, or the keys of a first object.

    The keys of a value at one of the `places` (`results`, `results.results`) are yielded, too: for
    an object as `results.stats`, for a list's first item as `results[].vars`. If the file is an
    array, the keys of its first item are yielded without a prefix.
    """
    if kind == ARCHIVE:
        with open_archive(path) as archive:
            yield from archive.members
    elif kind == CSV:
        with open_unpacked(path) as file:
            yield from _split_header(file.read(_HEAD).removeprefix(_BOM).decode("utf-8", "replace"))
    elif kind == YAML:
        with suppress(LoadError):
            yield from list_value_names(_read_yaml(path), places)
    elif kind == OBJECT and not is_text_format(path):
        yield from _read_columns(path) or ()
    elif kind in {OBJECT, ARRAY}:
        with open_unpacked(path) as file:
            stream = JsonStream(file, str(path))
            if kind == OBJECT:
                yield from _read_keys(stream, "", _find_ways(places))
            else:
                yield from _read_first_row_keys(stream, "")


def iterate_rows(
    path: Path, places: Collection[str] = (), fields: Collection[str] | None = None
) -> Iterator[SourceRow]:
    """Yield the rows of a file in order; an unreadable row comes with its error.

    `places` are where a document has its lists of rows; without any, an object is taken as the
    first of JSON Lines. Only the `fields` of a row are read (None: all); other keys are skipped.
    """
    kind = detect_container(path)
    if kind == CSV:
        yield from _read_table(path)
    elif kind == YAML:
        yield from _read_yaml_rows(path, places)
    elif kind == ARRAY:
        with open_unpacked(path) as file:
            yield from _read_items(JsonStream(file, str(path)), fields)
    elif kind == OBJECT and places:
        with open_unpacked(path) as file:
            stream = JsonStream(file, str(path))
            yield from _read_listed(stream, "", set(places), _find_ways(places), fields)
            stream.expect_end()
    else:
        yield from _read_object_lines(path)


def _read_object_lines(path: Path) -> Iterator[SourceRow]:
    for number, line in read_lines(path):
        place = Place(str(path), number)
        try:
            yield SourceRow(place, parse_lenient_object(line, place))
        except LoadError as error:
            yield SourceRow(place, error)
            if len(line) > LINE_LIMIT:  # where the next row begins is unknown
                return


def _read_listed(
    stream: JsonStream,
    above: str,
    places: set[str],
    ways: set[str],
    fields: Collection[str] | None,
) -> Iterator[SourceRow]:
    """Yield the rows of the lists at `places` of a document."""
    for key in stream.iterate_members():
        name, opened = above + key, stream.peek()
        if name in places and opened == "[":
            yield from _read_items(stream, fields)
        elif name in ways and opened == "{":
            yield from _read_listed(stream, f"{name}.", places, ways, fields)
        else:
            stream.skip()


def _read_items(stream: JsonStream, fields: Collection[str] | None) -> Iterator[SourceRow]:
    for _ in stream.iterate_items():
        place = stream.locate()
        yield SourceRow(place, read_item(stream, fields))


def read_records(path: Path) -> Iterator[tuple[Place, Sequence[str] | LoadError]]:
    """Yield the records of a table, its header first.

    A broken record (not CSV, not UTF-8) is yielded as its error.
    """
    csv.field_size_limit(LINE_LIMIT)
    with open_unpacked(path) as file:
        head = file.read(_HEAD).partition(b"\n")[0].decode("utf-8", "replace")
    with open_unpacked(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=_find_delimiter(head))
        while True:
            place = Place(str(path), reader.line_num + 1)
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield place, LoadError(f"not CSV: {error}", place=place)
                continue
            if any(_UNDECODED.search(value) for value in record):
                yield place, LoadError("it is not UTF-8", place=place)
            elif record:
                yield place, record


def _read_table(path: Path) -> Iterator[SourceRow]:
    """Yield the records of a table by column, without empty cells."""
    records = read_records(path)
    _, header = next(records, (None, ()))
    names = header if not isinstance(header, LoadError) else ()
    for place, record in records:
        if isinstance(record, LoadError):
            yield SourceRow(place, record)
        elif len(record) > len(names):
            sentence = "it has more values than the table has columns"
            yield SourceRow(place, LoadError(sentence, place=place))
        else:
            yield SourceRow(place, _read_cells(names, record, place))


def _read_cells(
    names: Sequence[str], record: Sequence[str], place: Place
) -> Mapping[str, Any] | LoadError:
    """Return the non-empty cells by column; two columns may have the same name."""
    row: dict[str, str] = {}
    for name, value in zip(names, record, strict=False):
        if value and row.setdefault(name, value) != value:
            sentence = f"it has two values in columns called '{make_excerpt(name, 60)}'"
            return LoadError(sentence, place=place)
    return row


def _find_delimiter(head: str) -> str:
    return max(_DELIMITERS, key=head.count)


def _split_header(text: str) -> tuple[str, ...]:
    """Return the names of a table's columns; fewer than two if the text is not a table."""
    head = text.partition("\n")[0]
    with suppress(csv.Error):
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=_find_delimiter(head)), [])
        if all(map(_COLUMN.fullmatch, names)):
            return tuple(names)
    return ()


def _read_yaml(path: Path) -> Any:
    with open_unpacked(path) as file:
        data = file.read(LARGE_FILE + 1)
    if len(data) > LARGE_FILE:
        raise LoadError(
            f"larger than {LARGE_FILE:,} bytes, the limit for a file of YAML",
            place=Place(str(path)),
        )
    return read_legacy_yaml(data, str(path)).value


def _read_yaml_rows(path: Path, places: Iterable[str]) -> Iterator[SourceRow]:
    value = _read_yaml(path)
    for at in places:
        found = value
        for key in at.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        for number, row in enumerate(found if isinstance(found, list) else (), 1):
            place = Place(f"{path}/{at.replace('.', '/')}/{number}")
            is_row = isinstance(row, dict)
            yield SourceRow(place, row if is_row else LoadError("a row is a mapping", place=place))


def list_value_names(value: Any, places: Iterable[str]) -> Iterator[str]:
    """Yield the names of a parsed document, as `read_names` does for a file."""
    first = next(iter(value), None) if isinstance(value, list) else value
    yield from _list_value_keys(first, "", _find_ways(places))


def _list_value_keys(value: Any, above: str, ways: Collection[str]) -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield (name := f"{above}{key}")
        if name in ways and isinstance(inner, dict):
            yield from _list_value_keys(inner, f"{name}.", ways)
        elif name in ways and isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield from (f"{name}[].{one}" for one in inner[0])


def _read_columns(path: Path) -> tuple[str, ...] | None:
    """Return the names in the first row of a table, or None if it has no row.

    They are cached: one command asks for them five times, and reading them starts a process.
    """
    found = path.stat()
    return _read_unchanged_columns(path, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _read_unchanged_columns(path: Path, *_: int) -> tuple[str, ...] | None:
    row = next(read_lines(path), None)
    return tuple(json.loads(row[1])) if row else None


def _find_ways(places: Iterable[str]) -> set[str]:
    """Return the places and the keys above them: for `results.results` also `results`."""
    parts = [place.split(".") for place in places]
    return {".".join(one[: end + 1]) for one in parts for end in range(len(one))}


def _read_keys(stream: JsonStream, above: str, ways: Collection[str]) -> Iterator[str]:
    for key in stream.iterate_members():
        yield (name := above + key)
        opened = stream.peek()
        if name in ways and opened == "{":
            yield from _read_keys(stream, f"{name}.", ways)
        elif name in ways and opened == "[":
            yield from _read_first_row_keys(stream, f"{name}[].")
        else:
            stream.skip()


def _read_first_row_keys(stream: JsonStream, above: str) -> Iterator[str]:
    """Yield the keys of a list's first item, and skip the other items."""
    for number in stream.iterate_items():
        if number == 0 and stream.peek() == "{":
            for key in stream.iterate_members():
                yield above + key
                stream.skip()
        else:
            stream.skip()
