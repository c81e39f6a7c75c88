"""Finds the row of each question in a run, with a temporary database of the rows' places."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, read_row
from evalstore.errors import LoadError, Place, RefusedError
from evalstore.runs.eee_rows import find_output_key
from evalstore.runs.read import NO_ROW, read_row_line
from evalstore.runs.record_fields import explain_shape_errors, get_mapping
from evalstore.runs.row_formats import open_seekable_lines
from evalstore.runs.run_files import require_rows_file
from evalstore.runs.values import GradedRow, Run, merge_samples

_CREATE = (
    "CREATE TABLE row (number INTEGER PRIMARY KEY, id BLOB, sample INTEGER, rubric BLOB, offset "
    "INTEGER, line INTEGER, UNIQUE (id, sample))"
)
_INSERT = "INSERT INTO row (id, sample, rubric, offset, line) VALUES (?, ?, ?, ?, ?)"
_FIND = "SELECT offset, line FROM row WHERE id = ? ORDER BY number"
_LIST = "SELECT id FROM row ORDER BY number"
_LIST_FROM = (
    "SELECT id, offset, line FROM row WHERE number >= (SELECT number FROM row WHERE id = ?) ORDER "
    "BY number"
)
# Each question once, at the place of its first sample.
_LIST_FIRST = (
    "SELECT id FROM row AS one WHERE number = (SELECT min(number) FROM row WHERE id = one.id) "
    "ORDER BY number"
)
_COUNT = "SELECT count(DISTINCT id) FROM row"
_RUBRIC_OF = "SELECT rubric FROM row WHERE id = ? ORDER BY number LIMIT 1"
_NO_OUTPUT = "the text of this output was taken out of the run, so it cannot be graded again"
_NO_OUTPUT_HINT = "put it back, or take out all: the two are then compared as they were recorded"


class _RowKey(NamedTuple):
    """What the index keeps about a row: its question, its sample number, and its rubric."""

    id: str
    sample: int
    rubric: str


class _RowPlace(NamedTuple):
    """Where a row is: its offset in bytes, and its line."""

    offset: int
    line: int


class RowIndex(Mapping[str, GradedRow]):
    """A run's graded rows by question, in file order.

    Each is read on request, with all samples of a question as one row. Only one row is in memory;
    the places of the others are in an unnamed temporary file. Raises `LoadError` at file:line for a
    line that is not a row, and `RefusedError` if a sample of a question occurs twice.
    """

    def __init__(self, run: Run) -> None:
        self._path = str(run.samples)
        # A row of evalstore's own is of an output, though its text may have been taken out since.
        self._has_all_outputs = run.dataset is not None
        self._file = open_seekable_lines(require_rows_file(run.path, run.samples))
        weakref.finalize(self, self._file.close)
        self._database = sqlite3.connect("", isolation_level=None)
        weakref.finalize(self, self._database.close)
        # A temporary index need not survive a crash.
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(_CREATE)
        self._has_samples = False
        self._last: tuple[str, GradedRow] | None = None
        # Rows are mostly requested in order, so the next one is tried first.
        self._following: Iterator[tuple[bytes, int, int]] = iter(())
        self._latest: tuple[bytes, int, int] | None = None
        try:
            self._add_all()
        except sqlite3.Error as error:
            raise RefusedError(f"the rows of {self._path} cannot be indexed: {error}") from None
        self._count = int(self._database.execute(_COUNT).fetchone()[0])

    def __getitem__(self, id_: str) -> GradedRow:
        if self._last is None or self._last[0] != id_:
            places = self._find(id_)
            if not places:
                raise KeyError(id_)
            self._last = id_, merge_samples([self._read(place, id_) for place in places])
        return self._last[1]

    def __contains__(self, id_: object) -> bool:
        if self._last is not None and self._last[0] == id_:
            return True
        return isinstance(id_, str) and bool(self._find(id_))

    def __iter__(self) -> Iterator[str]:
        found = self._database.execute(_LIST_FIRST if self._has_samples else _LIST)
        return (_decode(id_) for id_, *_ in found)

    def __len__(self) -> int:
        return self._count

    def find_rubric(self, id_: str) -> str:
        """Return the reference of the rubric that graded a question, without reading its row.

        The result is "" if there is none.
        """
        return _decode(self._database.execute(_RUBRIC_OF, (_encode(id_),)).fetchone()[0])

    def _find(self, id_: str) -> list[_RowPlace]:
        key = _encode(id_)
        if self._has_samples:
            return [_RowPlace(*place) for place in self._database.execute(_FIND, (key,))]
        if not self._latest or self._latest[0] != key:
            self._latest = next(self._following, None)
        if not self._latest or self._latest[0] != key:
            self._following = self._database.execute(_LIST_FROM, (key,))
            self._latest = next(self._following, None)
        return [_RowPlace(*self._latest[1:])] if self._latest else []

    def _add_all(self) -> None:
        cursor, latest = self._database.cursor(), ""

        def iterate_rows() -> Iterator[tuple[bytes, int, bytes, int, int]]:
            nonlocal latest
            for key, place in self._iterate_keys():
                latest = key.id
                self._has_samples |= key.sample > 0
                yield _encode(key.id), key.sample, _encode(key.rubric), *place

        cursor.execute("BEGIN")
        try:
            cursor.executemany(_INSERT, iterate_rows())
        except sqlite3.IntegrityError:
            raise make_doubled_error(self._path, latest) from None
        cursor.execute("COMMIT")

    def _iterate_keys(self) -> Iterator[tuple[_RowKey, _RowPlace]]:
        offset = line = 0
        # A limit, because a file without line breaks is one line.
        while data := self._file.readline(LINE_LIMIT + 2):
            line += 1
            if not data.isspace():
                place = Place(self._path, line)
                key = _find_key(data, place)
                if key is not None:
                    yield key, _RowPlace(offset, line)
                elif self._has_all_outputs:
                    raise RefusedError(_NO_OUTPUT, place=place, hint=_NO_OUTPUT_HINT)
            offset += len(data)

    def _read(self, where: _RowPlace, id_: str) -> GradedRow:
        place = Place(self._path, where.line)
        self._file.seek(where.offset)
        row = read_row_line(self._file.readline(LINE_LIMIT + 2).removesuffix(b"\n"), place)
        if row is None or row.id != id_:
            raise LoadError("this line changed while it was read", place=place)
        return row


def _encode(text: str) -> bytes:
    # JSON can contain half a surrogate pair, which SQLite cannot store as text.
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def make_doubled_error(path: Path | str, id_: str) -> RefusedError:
    """Return the error for a file that has one sample of a question twice."""
    return RefusedError(
        f"{path} contains the question {id_} twice",
        hint="number several answers to one question and score them as samples",
    )


def _find_key(data: bytes, place: Place) -> _RowKey | None:
    value = _decode_line(data, place)
    with explain_shape_errors(place, NO_ROW):
        key = find_output_key(value, place)
    return key and _RowKey(*key, str(get_mapping(value, "metadata").get("evalstore_rubric") or ""))


def _decode_line(data: bytes, place: Place) -> Mapping[str, Any]:
    """Decode a line quickly, without strict checks: these follow when its row is requested."""
    try:
        value = json.loads(data.decode()) if len(data) <= LINE_LIMIT else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = read_row(data.removesuffix(b"\n"), place.file, place.line or 0)
    if not isinstance(value, dict):
        raise LoadError("a line is one JSON object", place=place)
    return value
