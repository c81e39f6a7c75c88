"""Finds the question that an output answers by the texts of its record, ignoring white space."""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from evalstore.model import Question
from evalstore.runs.imports.entry import read_asked
from evalstore.store.question_index import QuestionIndex

# The most questions whose inputs are searched for within a longer text: each output tries all.
_MOST_SEARCHED = 2_000
_LEAST_PART = 3  # an input matches a text around it of at most this many times its length
_WORD = re.compile(r"[A-Za-z0-9]")


def normalize_spaces(text: str) -> str:
    """Return a text with each run of white space as one space, and none at its ends."""
    return " ".join(text.split())


def is_asked_of(asked: Sequence[str], question: Question) -> bool:
    """Whether a text is the question's input, contains it, or is part of the question."""
    own = normalize_spaces(question.input)
    texts = [normalize_spaces(text) for text in asked]
    if own in texts or texts[0] in normalize_spaces(_join_question(question)):
        return True
    said = [normalize_spaces(text) for text in _list_messages(question)]
    return any(_is_part(part, text) for part in filter(None, (own, *said)) for text in texts)


def has_input_of(asked: Sequence[str], question: Question) -> bool:
    """Whether one of the texts is the question's input."""
    return normalize_spaces(question.input) in map(normalize_spaces, asked)


def _join_question(question: Question) -> str:
    return "\n".join(
        [question.input, *_list_messages(question), read_asked(question.row.get("context"))]
    )


def _list_messages(question: Question) -> list[str]:
    messages = question.row.get("messages")
    several = [read_asked([one]) for one in messages] if isinstance(messages, list) else []
    return [*several, read_asked(messages)] if several else []


def _is_part(part: str, text: str) -> bool:
    """Whether a text contains a part that does not begin or end in the middle of a word."""
    start = text.find(part)
    while start >= 0:
        before, after = (
            text[max(start - 1, 0) : start + 1],
            text[start + len(part) - 1 : start + len(part) + 1],
        )
        edges = (before if start else "", after)
        # An edge splits a word if the characters on both of its sides belong to a word.
        if not any(len(_WORD.findall(edge)) == len(edge) == 2 for edge in edges):  # noqa: PLR2004
            return True
        start = text.find(part, start + 1)
    return False


@dataclass(slots=True, weakref_slot=True)
class AskedIndex:
    """Finds the questions that have a text as their input; the questions are read at first use."""

    questions: QuestionIndex
    _database: sqlite3.Connection | None = field(default=None, init=False)
    _inputs: list[tuple[str, str]] | None = field(default=None, init=False)

    def find_ids(self, asked: Sequence[str]) -> list[str]:
        """Return the questions whose input is the first of the texts that any question has."""
        for text in map(normalize_spaces, asked):
            found = [id_ for id_ in self._find_by_key(text) if self._has_input(id_, text)]
            if found:
                return found
        return []

    def find_around(self, asked: Sequence[str]) -> str | None:
        """Return the only question whose input makes up most of the whole text.

        None if there is none, or more than one.
        """
        text = normalize_spaces(asked[0])
        long = (one for one in self._list_searched() if len(one[1]) * _LEAST_PART >= len(text))
        parts = [one for one in long if one[1] in text and _is_part(one[1], text)]
        parts.sort(key=lambda one: -len(one[1]))
        is_one = parts and all(part in parts[0][1] and part != parts[0][1] for _, part in parts[1:])
        return parts[0][0] if is_one else None

    def _list_searched(self) -> list[tuple[str, str]]:
        if self._inputs is None:
            is_small = self.questions.count <= _MOST_SEARCHED
            self._inputs = [one for one in self._list_inputs() if one[1]] if is_small else []
        return self._inputs

    def _list_inputs(self) -> Iterator[tuple[str, str]]:
        for question in self.questions.list_questions():
            if not question.broken:
                yield question.id, normalize_spaces(question.input)

    def _find_by_key(self, text: str) -> list[str]:
        if self._database is None:
            self._database = self._fill_database()
        found = self._database.execute(
            "SELECT id FROM asked WHERE key = ? ORDER BY rowid", (_compute_key(text),)
        )
        return [id_ for (id_,) in found.fetchall()]

    def _fill_database(self) -> sqlite3.Connection:
        """Return a temporary database of all inputs by key, so that memory does not grow."""
        database = sqlite3.connect("", isolation_level=None)
        weakref.finalize(self, database.close)
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE asked (key INTEGER, id TEXT)")
        database.execute("BEGIN")
        rows = ((_compute_key(text), id_) for id_, text in self._list_inputs())
        database.executemany("INSERT INTO asked VALUES (?, ?)", rows)
        database.execute("COMMIT")
        database.execute("CREATE INDEX by_key ON asked (key)")
        return database

    def _has_input(self, id_: str, text: str) -> bool:
        found = self.questions.find(id_)
        return found is not None and normalize_spaces(found[1].input) == text


def _compute_key(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True
    )
