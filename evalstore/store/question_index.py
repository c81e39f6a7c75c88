"""Indexes the questions of a dataset by id: small datasets in memory, row files in a temporary database."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass

from evalstore.errors import RefusedError
from evalstore.model import Question
from evalstore.store.resolve import Resolved
from evalstore.store.store import ArtifactStore
from evalstore.text import make_excerpt

Found = tuple[int, Question]


@dataclass(frozen=True, slots=True)
class QuestionIndex:
    """The number of questions, a function that finds one by id with its position from 0, and one that lists the ids.

    `rubric_refs` are the rubrics that they name, each once, as they first come.
    """

    count: int
    find: Callable[[str], Found | None]
    list_ids: Callable[[], Iterable[str]]
    rubric_refs: tuple[str, ...] = ()


def open_question_index(resolved: Resolved, store: ArtifactStore) -> AbstractContextManager[QuestionIndex]:
    """Index the questions of a dataset: in memory, or on disk where the dataset has a row file."""
    # Checked while they stream by, since a dataset may not fit into memory.
    questions = check_questions(store.questions(resolved), str(resolved.ref))
    return on_disk(questions) if "rows" in resolved.artifact.value else nullcontext(open_in_memory(questions))


def open_in_memory(questions: Iterable[Question]) -> QuestionIndex:
    """Index questions in memory."""
    found: dict[str, Found] = {}
    for number, question in enumerate(questions):
        if question.id in found:
            raise _make_duplicate_error(question)
        found[question.id] = number, question
    refs = dict.fromkeys(question.rubric_ref for _, question in found.values())
    return QuestionIndex(len(found), found.get, lambda: found, tuple(ref for ref in refs if ref is not None))


@contextmanager
def on_disk(questions: Iterable[Question]) -> Iterator[QuestionIndex]:
    """Index questions in a temporary SQLite file, so that memory does not grow with them."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        # A temporary index needs no crash safety.
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE question (id TEXT PRIMARY KEY, number INTEGER, pickled BLOB)")
        cursor = database.cursor()
        refs: dict[str | None, None] = {}
        count = _fill_table(cursor, questions, refs)
        named = tuple(ref for ref in refs if ref is not None)
        yield _make_index(database, count, named)


def _make_index(database: sqlite3.Connection, count: int, rubric_refs: tuple[str, ...]) -> QuestionIndex:
    cursor = database.cursor()
    return QuestionIndex(count, lambda id_: _find_question(cursor, id_), lambda: _list_ids(database), rubric_refs)


def _list_ids(database: sqlite3.Connection) -> Iterator[str]:
    return (id_ for (id_,) in database.execute("SELECT id FROM question ORDER BY number"))


def _fill_table(cursor: sqlite3.Cursor, questions: Iterable[Question], refs: dict[str | None, None]) -> int:
    count = 0
    cursor.execute("BEGIN")
    for question in questions:
        row = question.id, count, pickle.dumps(dict(question.row), pickle.HIGHEST_PROTOCOL)
        try:
            cursor.execute("INSERT INTO question VALUES (?, ?, ?)", row)
        except sqlite3.IntegrityError:
            raise _make_duplicate_error(question) from None
        except sqlite3.Error as error:
            raise RefusedError(f"the questions cannot be indexed: {error}") from None
        refs[question.rubric_ref] = None
        count += 1
    cursor.execute("COMMIT")
    return count


def _find_question(cursor: sqlite3.Cursor, id_: str) -> Found | None:
    found = cursor.execute("SELECT number, pickled FROM question WHERE id = ?", (id_,)).fetchone()
    if found is None:
        return None
    row = pickle.loads(found[1])  # noqa: S301  # bytes that this process wrote, in a file without a name
    return found[0], Question(row["id"], row["input"], row)


def _make_duplicate_error(question: Question) -> RefusedError:
    return RefusedError(
        f"the question {question.id!r} stands twice in the dataset", hint="`evalstore validate` says where"
    )


def check_questions(questions: Iterator[Question], ref: str) -> Iterator[Question]:
    """Yield the questions; raises `RefusedError` for one whose shape scoring cannot use."""
    try:
        for question in questions:
            yield _check_question(question)
    except KeyError as error:
        raise _make_shape_error(f"a question of {ref} has no {make_excerpt(str(error))}") from None
    except (AttributeError, TypeError):
        raise _make_shape_error(f"the questions of {ref} do not have the shape of a dataset") from None


def _make_shape_error(message: str) -> RefusedError:
    return RefusedError(message, hint="`evalstore validate` shows the place")


def _check_question(question: Question) -> Question:
    for key in ("id", "input", "rubric_ref"):
        if not isinstance(question.row.get(key, ""), str):
            raise _make_shape_error(f"the `{key}` of a question is no text")
    return question
