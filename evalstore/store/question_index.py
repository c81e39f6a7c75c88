"""Indexes a dataset's questions by id: small datasets in memory, row files in a database."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from evalstore.errors import Place, RefusedError
from evalstore.model import Question, find_rows_path
from evalstore.store.resolve import Resolved
from evalstore.store.rows import name_rows_file
from evalstore.store.store import ArtifactStore
from evalstore.text import make_excerpt

Found = tuple[int, Question]
_COLUMNS = "number, id, pickled, line"


@dataclass(frozen=True, slots=True)
class QuestionIndex:
    """The number of questions, and functions that find one by id, and list ids and questions.

    `find` also gives the question's position, from 0. `rubric_refs` are the rubrics that they name,
    each once, as they first come; `broken` says by id which are no questions, and why.
    """

    count: int
    find: Callable[[str], Found | None]
    list_ids: Callable[[], Iterable[str]]
    list_questions: Callable[[], Iterable[Question]]
    rubric_refs: tuple[str, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)


def open_question_index(
    resolved: Resolved, store: ArtifactStore
) -> AbstractContextManager[QuestionIndex]:
    """Index the questions of a dataset: in memory, or on disk where the dataset has a row file."""
    questions = store.questions(resolved)
    if path := find_rows_path(resolved.artifact):
        return on_disk(
            questions, name_rows_file(store, path, commit=resolved.commit, tag=resolved.tag)
        )
    return nullcontext(open_in_memory(questions, resolved.artifact.document.locate(()).file))


def check_ids(resolved: Resolved, store: ArtifactStore) -> None:
    """Raise `RefusedError` where two questions have one id: an output could answer either."""
    with open_question_index(resolved, store):
        pass


def open_in_memory(questions: Iterable[Question], file: str) -> QuestionIndex:
    """Index the questions of a file in memory."""
    found: dict[str, Found] = {}
    for number, question in enumerate(questions):
        if question.id in found:
            raise _make_duplicate_error(question.id, Place(file, question.find_line()))
        found[question.id] = number, question
    refs = dict.fromkeys(question.rubric_ref for _, question in found.values())
    broken = {id_: question.broken for id_, (_, question) in found.items() if question.broken}
    known = tuple(ref for ref in refs if ref is not None)

    def list_questions() -> Iterable[Question]:
        return (question for _, question in found.values())

    return QuestionIndex(len(found), found.get, lambda: found, list_questions, known, broken)


@contextmanager
def on_disk(questions: Iterable[Question], file: str) -> Iterator[QuestionIndex]:
    """Index a file's questions in a temporary SQLite file: memory does not grow with them."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        # A temporary index needs no crash safety.
        database.execute("PRAGMA journal_mode = OFF")
        refs: dict[str | None, None] = {}
        broken: dict[str, str] = {}

        def list_records() -> Iterator[tuple[int, str, bytes, int | None]]:
            for number, question in enumerate(questions):
                refs[question.rubric_ref] = None
                if question.broken:
                    broken[question.id] = question.broken
                row = pickle.dumps((question.input, question.row), pickle.HIGHEST_PROTOCOL)
                yield number, question.id, row, question.find_line()

        try:
            count = _fill_table(database, list_records(), file)
        except sqlite3.Error as error:
            raise RefusedError(f"the questions cannot be indexed: {error}") from None
        find, rubric_refs = (
            _StoredQuestions(database, broken).find,
            tuple(ref for ref in refs if ref is not None),
        )
        yield QuestionIndex(
            count,
            find,
            lambda: _list_ids(database),
            lambda: _list_questions(database, broken),
            rubric_refs,
            broken,
        )


def _list_questions(database: sqlite3.Connection, broken: Mapping[str, str]) -> Iterator[Question]:
    found = database.execute(f"SELECT {_COLUMNS} FROM question ORDER BY number")  # noqa: S608  # a constant
    return (_build_question(row, broken)[1] for row in found)


def _list_ids(database: sqlite3.Connection) -> Iterator[str]:
    return (id_ for (id_,) in database.execute("SELECT id FROM question ORDER BY number"))


def _fill_table(
    database: sqlite3.Connection, records: Iterator[tuple[int, str, bytes, int | None]], file: str
) -> int:
    """Write the records of questions, numbered from 0, and return how many they are."""
    database.execute(
        "CREATE TABLE question (number INTEGER PRIMARY KEY, id TEXT, pickled BLOB, line INTEGER)"
    )
    database.execute("BEGIN")
    count = database.executemany("INSERT INTO question VALUES (?, ?, ?, ?)", records).rowcount
    database.execute("COMMIT")
    # Sorted once, behind the rows: sooner than row by row.
    try:
        database.execute("CREATE UNIQUE INDEX by_id ON question (id)")
    except sqlite3.IntegrityError:
        id_, line = _find_double(database)
        raise _make_duplicate_error(id_, Place(file, line)) from None
    return max(count, 0)


def _find_double(database: sqlite3.Connection) -> tuple[str, int | None]:
    """Return the id that is the first to stand twice, and the line where it does."""
    text = (
        "SELECT id, line FROM question WHERE number NOT IN (SELECT min(number) FROM question GROUP BY id) "
        "ORDER BY number LIMIT 1"
    )
    found: tuple[str, int | None] = database.execute(text).fetchone()
    return found


class _StoredQuestions:
    """Finds questions in the table, the next one first: outputs are mostly in order."""

    def __init__(self, database: sqlite3.Connection, broken: Mapping[str, str]) -> None:
        self._broken = broken
        self._cursor = database.execute(f"SELECT {_COLUMNS} FROM question ORDER BY number")  # noqa: S608
        self._following = self._cursor.fetchone()

    def find(self, id_: str) -> Found | None:
        """Return the question of that id, with its number."""
        if self._following is None or self._following[1] != id_:
            number = "SELECT number FROM question WHERE id = ?"
            text = f"SELECT {_COLUMNS} FROM question WHERE number >= ({number}) ORDER BY number"  # noqa: S608
            self._following = self._cursor.execute(text, (id_,)).fetchone()
            if self._following is None:
                return None
        latest = self._following
        self._following = self._cursor.fetchone()
        return _build_question(latest, self._broken)


def _build_question(found: tuple[int, str, bytes, int | None], broken: Mapping[str, str]) -> Found:
    number, id_, pickled, line = found
    input_, row = pickle.loads(pickled)  # noqa: S301  # bytes that this process wrote, in a file without a name
    return number, Question(id_, input_, row, partial(_get_line, line), broken.get(id_, ""))


def _get_line(line: int | None) -> int | None:
    return line


def _make_duplicate_error(id_: str, place: Place) -> RefusedError:
    hint = "rename one of the two questions"
    return RefusedError(f"duplicate question id {make_excerpt(id_)!r}", place=place, hint=hint)
