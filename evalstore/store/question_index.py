"""Indexes a dataset's questions by id: small datasets in memory, row files in a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

from evalstore.documents import find_plain_id
from evalstore.errors import Place, RefusedError
from evalstore.model import Question, find_rows_path
from evalstore.model.question import make_question, read_defaults
from evalstore.store.resolve import Resolved
from evalstore.store.rows import (
    RowLine,
    may_name_rubric,
    name_rows_file,
    read_question,
    read_row_lines,
)
from evalstore.store.store import ArtifactStore
from evalstore.text import make_excerpt

Found = tuple[int, Question]
_Record = tuple[int, str, bytes, int]
_COLUMNS = "number, id, data, line"
_IS_DOUBLE = (
    "EXISTS (SELECT 1 FROM question AS other WHERE other.id = question.id "
    "AND other.number < question.number)"
)


@dataclass(frozen=True, slots=True)
class QuestionIndex:
    """The number of questions, and functions that find one by id, and list ids and questions.

    `find` also returns the question's position, from 0. For the questions asked for, `rubric_refs`
    are the rubrics that they name, each once in order of appearance, `list_lines` returns the rows
    of a file, and `find_broken` says by id which are not questions, and why.
    """

    count: int
    find: Callable[[str], Found | None]
    list_ids: Callable[[], Iterable[str]]
    list_questions: Callable[[], Iterable[Question]]
    rubric_refs: tuple[str, ...] = ()
    find_broken: Callable[[], Mapping[str, str]] = dict
    list_lines: Callable[[], Iterable[RowLine]] = tuple


def open_question_index(
    resolved: Resolved, store: ArtifactStore, asked: Iterable[str] | None = None
) -> AbstractContextManager[QuestionIndex]:
    """Index the questions of a dataset: in memory, or on disk if the dataset has a row file.

    Of the file, only rows with the ids `asked` (None: all), and those without an id, are read and
    may be refused. For the rest only the id matters until somebody looks for them.
    """
    artifact = resolved.artifact
    if path := find_rows_path(artifact):
        lines = read_row_lines(store, artifact, commit=resolved.commit, tag=resolved.tag)
        file = name_rows_file(store, path, commit=resolved.commit, tag=resolved.tag)
        return on_disk(lines, read_defaults(artifact.value), file, asked)
    return nullcontext(open_in_memory(store.questions(resolved), artifact.document.locate(()).file))


def check_ids(resolved: Resolved, store: ArtifactStore) -> None:
    """Raise `RefusedError` if two questions have the same id: an output could answer either."""
    with open_question_index(resolved, store):
        pass


def open_in_memory(questions: Iterable[Question], file: str) -> QuestionIndex:
    """Index the questions of a file in memory."""
    found: dict[str, Found] = {}
    for number, question in enumerate(questions):
        if question.id in found:
            first = found[question.id][1].find_line()
            raise _make_duplicate_error(question.id, Place(file, question.find_line()), first)
        found[question.id] = number, question
    refs = dict.fromkeys(question.rubric_ref for _, question in found.values())

    def list_questions() -> Iterator[Question]:
        return (question for _, question in found.values())

    return QuestionIndex(
        len(found),
        found.get,
        lambda: found,
        list_questions,
        tuple(ref for ref in refs if ref is not None),
        lambda: _find_broken(list_questions()),
    )


@contextmanager
def on_disk(
    lines: Iterable[RowLine],
    defaults: Mapping[str, Any],
    file: str,
    asked: Iterable[str] | None = None,
) -> Iterator[QuestionIndex]:
    """Index a file's rows in a temporary SQLite file, so memory does not grow with them."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        # A temporary index needs no crash safety.
        database.execute("PRAGMA journal_mode = OFF")
        rows = _StoredRows(database, defaults, file, asked)
        try:
            count = rows.fill(lines)
            refs = rows.list_rubric_refs()
        except sqlite3.Error as error:
            raise RefusedError(f"the questions cannot be indexed: {error}") from None
        yield QuestionIndex(
            count,
            rows.find,
            rows.list_ids,
            rows.list_questions,
            refs,
            lambda: _find_broken(map(rows.read, rows.list_lines())),
            rows.list_lines,
        )


def _find_broken(questions: Iterable[Question]) -> dict[str, str]:
    return {question.id: question.broken for question in questions if question.broken}


class _StoredRows:
    """The rows of a file in one table, as written, and the ids asked for in another."""

    def __init__(
        self,
        database: sqlite3.Connection,
        defaults: Mapping[str, Any],
        file: str,
        asked: Iterable[str] | None,
    ) -> None:
        self._database = database
        self._defaults = defaults
        self._file = file
        self._asked = asked
        # What rows without an id are called: any output may be meant for them.
        self._nameless: list[str] = []
        self._if_asked = "TRUE" if asked is None else "id IN asked"
        self._cursor = database.cursor()
        self._following: _Record | None = None

    def fill(self, lines: Iterable[RowLine]) -> int:
        """Write the rows, numbered from 0, and return how many there are."""
        self._database.execute(
            "CREATE TABLE question (number INTEGER PRIMARY KEY, id TEXT, data BLOB, line INTEGER)"
        )
        self._database.execute("CREATE TABLE asked (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")
        records = (
            (number, find_plain_id(line.data) or self._find_id(line), line.data, line.number)
            for number, line in enumerate(lines)
        )
        count = self._database.executemany("INSERT INTO question VALUES (?, ?, ?, ?)", records)
        ids = ((id_,) for id_ in chain(self._asked or (), self._nameless))
        self._database.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ids)
        self._database.execute("COMMIT")
        self._index_ids()
        return max(count.rowcount, 0)

    def _find_id(self, line: RowLine) -> str:
        question = self.read(line)
        if question.row.get("id") != question.id:
            self._nameless.append(question.id)
        return question.id

    def _index_ids(self) -> None:
        # Sorted once, after the rows: faster than row by row.
        self._database.execute("CREATE INDEX by_id ON question (id)")
        double = self._select("id, line", f"{self._if_asked} AND {_IS_DOUBLE}").fetchone()
        if double is not None:
            id_, line = double
            first = self._select("line", "id = ?", id_).fetchone()[0]
            raise _make_duplicate_error(id_, Place(self._file, line), first)

    def find(self, id_: str) -> Found | None:
        """Return the question with that id, and its number; the next one is tried first.

        Outputs are mostly in the order of their questions.
        """
        if self._following is None or self._following[1] != id_:
            number = "SELECT min(number) FROM question WHERE id = ?"
            self._cursor = self._select(_COLUMNS, f"number >= ({number})", id_)
            self._following = self._cursor.fetchone()
            if self._following is None:
                return None
        number_, _, data, line = self._following
        self._following = self._cursor.fetchone()
        return number_, self.read(RowLine(data, self._file, line))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every row."""
        return (id_ for (id_,) in self._select("id", "TRUE"))

    def list_questions(self) -> Iterator[Question]:
        """Yield the question of every row."""
        return map(self.read, self._list_lines("TRUE"))

    def list_rubric_refs(self) -> tuple[str, ...]:
        """Return the rubrics that the requested rows name, or leave to the defaults."""
        refs: dict[str | None, None] = {}
        default = make_question({}, self._defaults).rubric_ref
        for line in self.list_lines():
            refs[self.read(line).rubric_ref if may_name_rubric(line.data) else default] = None
        return tuple(ref for ref in refs if ref is not None)

    def list_lines(self) -> Iterator[RowLine]:
        """Yield the rows of the requested questions."""
        return self._list_lines(self._if_asked)

    def _list_lines(self, condition: str) -> Iterator[RowLine]:
        found = self._select("data, line", condition)
        return (RowLine(data, self._file, line) for data, line in found)

    def _select(self, columns: str, condition: str, *values: str) -> sqlite3.Cursor:
        text = f"SELECT {columns} FROM question WHERE {condition} ORDER BY number"  # noqa: S608  # constants
        return self._database.execute(text, values)

    def read(self, line: RowLine) -> Question:
        """Return the question of a row."""
        return read_question(line, self._defaults)


def _make_duplicate_error(id_: str, place: Place, first: int | None) -> RefusedError:
    message = f"duplicate question id {make_excerpt(id_)!r}"
    before = f" (first on line {first})" if first else ""
    return RefusedError(message + before, place=place, hint="rename one of the two questions")
