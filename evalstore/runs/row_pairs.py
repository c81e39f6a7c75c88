"""Finds the row of each question in a run, and pairs those of two runs; counts the pairs that are graded alike.

Each run is a table of a temporary database, DuckDB or SQLite, which `pair_tables` fills.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, read_row
from evalstore.errors import LoadError, Place, RefusedError
from evalstore.model import Output
from evalstore.runs.eee_rows import find_output_key, read_checks, read_consistent_grade
from evalstore.runs.read import NO_ROW, read_row_line
from evalstore.runs.record_fields import explain_shape_errors, get_mapping
from evalstore.runs.row_formats import open_seekable_lines
from evalstore.runs.values import GradedRow, Run, merge_samples


class _RowKey(NamedTuple):
    """What the index holds of a row: its question, the number of its sample, and its rubric."""

    id: str
    sample: int
    rubric: str


class _RowPlace(NamedTuple):
    """Where a row stands: its offset in bytes, and its line."""

    offset: int
    line: int


_CREATE = (
    "CREATE TABLE row (number INTEGER PRIMARY KEY, id BLOB, sample INTEGER, rubric BLOB, offset INTEGER, line INTEGER,"
    " UNIQUE (id, sample))"
)
_INSERT = "INSERT INTO row (id, sample, rubric, offset, line) VALUES (?, ?, ?, ?, ?)"
_FIND = "SELECT offset, line FROM row WHERE id = ? ORDER BY number"
_LIST = "SELECT id FROM row ORDER BY number"
_LIST_FROM = "SELECT id, offset, line FROM row WHERE number >= (SELECT number FROM row WHERE id = ?) ORDER BY number"
# Of questions with samples each at its first row.
_LIST_FIRST = "SELECT id FROM row AS one WHERE number = (SELECT min(number) FROM row WHERE id = one.id) ORDER BY number"
_COUNT = "SELECT count(DISTINCT id) FROM row"
_RUBRIC_OF = "SELECT rubric FROM row WHERE id = ? ORDER BY number LIMIT 1"


class RowIndex(Mapping[str, GradedRow]):
    """The graded rows of a run by question, in file order; one is read when it is asked for, its samples as one.

    Only one row is in memory: where the others stand is noted in a temporary file, which has no name. Raises
    `LoadError` at file:line for a line that is not a row, and `RefusedError` where a sample of a question stands twice.
    """

    def __init__(self, run: Run) -> None:
        self._path = str(run.samples)
        self._file = open_seekable_lines(run.samples)
        weakref.finalize(self, self._file.close)
        self._database = sqlite3.connect("", isolation_level=None)
        weakref.finalize(self, self._database.close)
        # A temporary index needs no crash safety.
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(_CREATE)
        self._has_samples = False
        self._last: tuple[str, GradedRow] | None = None
        # Rows are mostly asked for in their order: the one that comes next is tried first.
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
        """Return the reference of the rubric that graded a question, without reading its row; empty where none is."""
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
        # A limit, because the whole of a file without line breaks would be one line.
        while data := self._file.readline(LINE_LIMIT + 2):
            line += 1
            if not data.isspace():
                key = _find_key(data, Place(self._path, line))
                if key is not None:
                    yield key, _RowPlace(offset, line)
            offset += len(data)

    def _read(self, where: _RowPlace, id_: str) -> GradedRow:
        place = Place(self._path, where.line)
        self._file.seek(where.offset)
        row = read_row_line(self._file.readline(LINE_LIMIT + 2).removesuffix(b"\n"), place)
        if row is None or row.id != id_:
            raise LoadError("this line changed while it was read", place=place)
        return row


def _encode(text: str) -> bytes:
    # JSON can hold halves of a character, which no text of a database can.
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def make_doubled_error(path: Path | str, id_: str) -> RefusedError:
    """Return the error for one sample of a question that stands twice in a file."""
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
    """Decode a line at full speed: its row is read strictly when it is asked for."""
    try:
        value = json.loads(data.decode()) if len(data) <= LINE_LIMIT else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = read_row(data.removesuffix(b"\n"), place.file, place.line or 0)
    if not isinstance(value, dict):
        raise LoadError("a line is one JSON object", place=place)
    return value


class UnstoredText(str):
    """Stands for the text of an output that a run does not hold; it is equal where the recorded digests are."""

    __slots__ = ()


class TableRow(NamedTuple):
    """A row of a run as a table holds it, a column each.

    `unclear` says that some check has no score; what tells inputs, references and outputs apart may be any value, and
    is null for an output that is not stored. `digest` is what the run recorded of its output; null where it did not.
    """

    place: int
    id: str
    sample: int
    score: str
    verdict: str
    rubric: str
    checks: str
    unclear: bool
    input: str | int
    reference: str | int
    output: str | int | None
    digest: str | int | None

    def read(self, run: Run, *, by_digest: bool = False) -> GradedRow:
        """Return the row; `by_digest`: one output is told from another by what the runs recorded of them.

        Raises `LoadError` where its checks are none.
        """
        place = Place(str(run.samples), self.place)
        output = self.digest if by_digest else self.output
        text = f"known to {run.path} alone" if output is None else str(output)
        with explain_shape_errors(place, NO_ROW):
            score, verdict = read_consistent_grade(self.score, self.verdict)
            return GradedRow(
                id=self.id,
                input="",
                reference=(),
                output=Output(UnstoredText(text) if self.output is None else text),
                score=score,
                verdict=verdict,
                rubric=self.rubric,
                rubric_digest="",
                checks=read_checks(self.checks, place),
                input_digest=str(self.input),
                reference_digest=str(self.reference),
                sample=self.sample,
            )


SIDES = ("old", "new")
SAME_QUESTIONS = "CREATE VIEW asked_new AS SELECT id FROM asked_old"

# What has to be looked at one by one: all but one row of either run, both with scores, to a question of its dataset.
_CREATE_LONE = """
CREATE TABLE lone AS SELECT id FROM (
    SELECT 0 AS side, id, unclear OR verdict = 'unscored' OR id NOT IN (SELECT id FROM asked_old) AS is_odd FROM old
    UNION ALL
    SELECT 1, id, unclear OR verdict = 'unscored' OR id NOT IN (SELECT id FROM asked_new) FROM new
) AS rows_of_both GROUP BY id HAVING count(*) <> 2 OR min(side) = max(side) OR max(CASE WHEN is_odd THEN 1 END) = 1
"""
_CREATE_ALL = "CREATE TABLE lone AS SELECT id FROM old UNION SELECT id FROM new"
_KIND = (
    *("old.score", "old.verdict", "old.rubric", "new.score", "new.verdict", "new.rubric"),
    *(
        "old.input = new.input",
        "old.reference = new.reference",
        "coalesce(old.output = new.output, old.digest = new.digest, 0 = 1)",
    ),
    *("old.output IS NULL", "new.output IS NULL"),
)
_ALIKE = "FROM old JOIN new ON old.id = new.id WHERE old.id NOT IN (SELECT id FROM lone)"
_COUNT_KINDS = (
    f"SELECT min(old.place) AS rank, count(*), {', '.join(_KIND)} {_ALIKE} "
    f"GROUP BY {', '.join(_KIND)} ORDER BY rank"
)  # fmt: skip
_LIST_KIND = f"SELECT old.place, old.id {_ALIKE} AND {' AND '.join(f'({one}) = ?' for one in _KIND)} ORDER BY 1"
# The questions of the first run come first, in its order, and then those that only the second one has.
_LIST_LONE = f"""
SELECT min(place + side * 1000000000000) OVER (PARTITION BY id) AS rank, id,
    id IN (SELECT id FROM asked_old), id IN (SELECT id FROM asked_new), side, {", ".join(TableRow._fields)} FROM (
    SELECT 0 AS side, * FROM old WHERE id IN (SELECT id FROM lone)
    UNION ALL SELECT 1, * FROM new WHERE id IN (SELECT id FROM lone)
) AS rows_of_both ORDER BY rank, side, place
"""


class AskedQuestions(NamedTuple):
    """The questions of a dataset: `lines` yields pieces of JSON Lines, `ids` their ids, checked one by one."""

    lines: Callable[[], Iterator[bytes]]
    ids: Callable[[], Iterable[str]]

    @classmethod
    def from_ids(cls, ids: Iterable[str]) -> AskedQuestions:
        """Return questions that are known by their ids alone."""
        return cls(lambda: (json.dumps({"id": id_}).encode() + b"\n" for id_ in ids), lambda: ids)


class RowPair(NamedTuple):
    """The rows of one question in two runs (None in one that has none), and of how many questions they are true.

    Texts are left out. Outputs and digests of the two rows are equal where those of the runs are, and say nothing else.
    `is_asked` says whether the dataset of either run has the question. `list_ids` yields (rank, id) of the questions.
    """

    id: str
    old: GradedRow | None
    new: GradedRow | None
    is_asked: tuple[bool, bool]
    times: int
    list_ids: Callable[[], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class PairTables:
    """Two runs in a database; `fetch_checks` fills in the checks of lone rows where they were left out."""

    runs: tuple[Run, Run]
    execute: Callable[..., Any]
    fetch_checks: Callable[[], object] = lambda: None

    def rename(self, names: Mapping[str, str]) -> None:
        """Give questions of the first run the names that they have in the second one."""
        for table in ("old", "asked_old"):
            for name, later in names.items():
                self.execute(f"UPDATE {table} SET id = ? WHERE id = ?", (later, name))

    def ask_answered(self, *, is_same: bool) -> None:
        """Count what has a row as a question of its run's dataset; `is_same`: both runs have one dataset."""
        for side in SIDES:
            for other in SIDES if is_same else (side,):
                self.execute(
                    f"INSERT INTO asked_{side} SELECT DISTINCT id FROM {other} "
                    f"WHERE id NOT IN (SELECT id FROM asked_{side})"
                )

    def has_question(self, side: int, id_: str) -> bool:
        """Whether the dataset of the first or the second run has a question."""
        found = self.execute(f"SELECT count(*) FROM asked_{SIDES[side]} WHERE id = ?", (id_,))
        return bool(found.fetchone()[0])

    def has_score(self, side: int) -> bool:
        """Whether some row of the first or the second run has a score."""
        found = self.execute(f"SELECT count(*) FROM {SIDES[side]} WHERE verdict <> 'unscored'")
        return bool(found.fetchone()[0])

    def list_pairs(self, *, one_by_one: bool) -> Iterator[RowPair]:
        """Yield the pairs of both runs by their rank, those alike as one; `one_by_one`: each by itself."""
        self.execute("DROP TABLE IF EXISTS lone")
        self.execute(_CREATE_ALL if one_by_one else _CREATE_LONE)
        self.fetch_checks()
        kinds = [] if one_by_one else self.execute(_COUNT_KINDS).fetchall()
        both = merge(map(self._read_kind, kinds), self._list_lone(), key=itemgetter(0))
        return (pair for _, pair in both)

    def _read_kind(self, found: tuple[Any, ...]) -> tuple[int, RowPair]:
        rank, times, *kind = found
        id_ = self.execute("SELECT id FROM old WHERE place = ?", (rank,)).fetchone()[0]
        rows = []
        for side, run in enumerate(self.runs):
            parts = ["" if is_same else SIDES[side] for is_same in kind[6:9]]
            stored = None if kind[9 + side] else parts[2]
            grade = kind[side * 3 : side * 3 + 3]
            row = TableRow._make([rank, id_, 0, *grade, "[]", False, *parts[:2], stored, parts[2]])
            rows.append(row.read(run, by_digest=True))

        def list_ids() -> Iterator[tuple[int, str]]:
            return iter(self.execute(_LIST_KIND, kind).fetchall())

        return rank, RowPair(id_, rows[0], rows[1], (True, True), times, list_ids)

    def _list_lone(self) -> Iterator[tuple[int, RowPair]]:
        for (rank, id_, *asked), several in groupby(_fetch(self.execute(_LIST_LONE)), key=itemgetter(0, 1, 2, 3)):
            rows: tuple[list[GradedRow], list[GradedRow]] = ([], [])
            found_rows = [(found[4], TableRow._make(found[5:])) for found in several]
            by_digest = any(row.output is None for _, row in found_rows)
            for side, found in found_rows:
                row = found.read(self.runs[side], by_digest=by_digest)
                if any(row.sample == other.sample for other in rows[side]):
                    raise make_doubled_error(self.runs[side].samples, id_)
                rows[side].append(row)
            old, new = (merge_samples(one) if one else None for one in rows)
            is_asked = bool(asked[0]), bool(asked[1])
            yield rank, RowPair(id_, old, new, is_asked, 1, partial(iter, [(rank, id_)]))


def _fetch(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(1_000):  # rows that are taken from the database at once
        yield from rows
