"""The cache of replies, by call: an append-only SQLite file that processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evalstore.documents import compute_digest
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging.cache_file import (
    ALL_REPLIES,
    INSERT_REPLY,
    LAST_NUMBER_QUERIES,
    REPLY_QUERIES,
    create_database,
    find_form,
    has_file,
    hold_snapshot,
    hold_write_lock,
    make_damage_error,
    open_connection,
    translate_errors,
)

# key, judge, model, served, finish, text, at, the tokens of prompt and completion, and the digest
# of these nine
_Row = list[str | int | None]
_OLD_COLUMNS = 6


@dataclass(slots=True)
class ReplyCache:
    """Replies in one SQLite file, created by the first `put`.

    An existing file is checked at first use. Nothing in it is ever changed: another reply to the
    same call is kept beside the first.

    The file has a rollback journal, not a write-ahead log, so it can be copied as one file, read
    from a read-only folder, and shared over a network. The cost is a few waits for the disk;
    threads that `put` at the same time share them.
    """

    path: Path
    _database: sqlite3.Connection | None = None
    _form: int = 0  # 0 until the file has been checked
    _is_closed: bool = False
    _pid: int = field(default_factory=os.getpid)
    _parent_connections: list[sqlite3.Connection] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pending_rows: dict[object, _Row] = field(default_factory=dict)

    def get(self, call: JudgeCall, *, since: int = 0) -> JudgeReply | None:
        """Return the first reply to a call whose number is above `since`, or None."""
        return next((reply for reply in self.find_replies(call) if reply.number > since), None)

    def find_replies(self, call: JudgeCall) -> tuple[JudgeReply, ...]:
        """Return all replies to a call, oldest first, without those whose digest is wrong."""
        with self._lock, translate_errors(self.path):
            rows = self._read_rows(REPLY_QUERIES, call.key)
            return tuple(map(_make_reply, filter(_is_whole, rows)))

    def find_last_number(self) -> int:
        """Return the number of the newest reply; 0 if there is none."""
        with self._lock, translate_errors(self.path):
            return max((number for (number,) in self._read_rows(LAST_NUMBER_QUERIES)), default=0)

    def put(self, call: JudgeCall, reply: JudgeReply) -> None:
        """Write a reply to disk before returning; earlier ones are kept.

        Raises `RefusedError` if it cannot be written.
        """
        if reply.problem:
            raise ValueError(
                "a call without a reply is to be asked again, so nothing of it is kept"
            )
        key, model = call.key, str(call.model.get("id", ""))
        row = [
            *(key, call.judge, model, reply.served, reply.finish, reply.text),
            *(reply.at, reply.prompt_tokens, reply.completion_tokens),
        ]
        row.append(_compute_row_digest(row))
        # Outside the lock, so that the thread that holds it can write this row along with its own.
        self._pending_rows[id(row)] = row
        with self._lock, translate_errors(self.path):
            try:
                if id(row) in self._pending_rows:  # else another thread wrote it
                    self._write_rows(dict(self._pending_rows))
            finally:
                self._pending_rows.pop(id(row), None)

    def check_writable(self) -> None:
        """Check that replies can be written, before one costs money; else raise `RefusedError`."""
        with self._lock, translate_errors(self.path), hold_write_lock(self._open_for_writing()):
            pass

    def close(self) -> None:
        """Close the file; a later `get` or `put` raises `ValueError`."""
        with self._lock:
            self._is_closed = True
            self._close_connection()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_rows(self, rows: Mapping[object, _Row]) -> None:
        """Write the replies of all threads that wait for the disk in one transaction."""
        database = self._open_for_writing()
        with hold_write_lock(database):
            for row in rows.values():
                # An identical reply is kept too: its number shows that the call was repeated.
                database.execute(INSERT_REPLY, row)
                # If a row could not be read back, the call would be made and paid for again.
                if not _has_row(database, row):
                    raise make_damage_error(self.path)
        for mark in rows:
            self._pending_rows.pop(mark, None)

    def _read_rows(self, queries: Mapping[int, str], *values: str) -> list[tuple[Any, ...]]:
        """Run the query for the file's form and return its rows; none if there is no file."""
        database = self._open_for_reading()
        if database is None:
            return []
        try:
            return database.execute(queries[self._form], values).fetchall()
        except sqlite3.OperationalError:
            if self._form == ALL_REPLIES:
                raise
            # Another process has just moved the replies of an old file into the new table.
            self._open_for_reading()
            return database.execute(queries[self._form], values).fetchall()

    def _open_for_reading(self) -> sqlite3.Connection | None:
        if self._is_closed:
            raise ValueError("the cache of replies is closed")
        if self._pid != os.getpid():
            self._forget_connection()
        # Another process may move the replies of an old file into the new table at any time.
        if self._form != ALL_REPLIES and has_file(self.path):
            self._database = self._database or open_connection(self.path)
            # In one snapshot: else a file that another process is just creating looks half made.
            with hold_snapshot(self._database):
                self._form = find_form(self._database, self.path)
        return self._database if self._form else None

    def _open_for_writing(self) -> sqlite3.Connection:
        database = self._open_for_reading()
        if database is None or self._form != ALL_REPLIES:
            self._close_connection()
            database = self._database = create_database(self.path)
            self._form = ALL_REPLIES
        return database

    def _forget_connection(self) -> None:
        # After a fork a connection must not be used, not even to close it, so keep a reference.
        self._parent_connections += [self._database] if self._database else []
        self._database, self._form, self._pid = None, 0, os.getpid()

    def _close_connection(self) -> None:
        if self._database is not None and self._pid == os.getpid():
            self._database.close()
        self._database, self._form = None, 0


def _has_row(database: sqlite3.Connection, row: _Row) -> bool:
    with closing(database.execute(REPLY_QUERIES[ALL_REPLIES], row[:1])) as found:
        return any(kept[-1] == row[-1] and _is_whole(kept) for kept in found)


def _is_whole(row: tuple[Any, ...]) -> bool:
    """Whether a row has the types and the digest with which it was written."""
    _, *texts, prompt, completion, digest = row
    whole_types = all(isinstance(text, str) for text in texts)
    return (
        whole_types
        and all(count is None or isinstance(count, int) for count in (prompt, completion))
        and _compute_row_digest([*texts, prompt, completion]) == digest
    )


def _make_reply(row: tuple[Any, ...]) -> JudgeReply:
    number, _, _, _, served, finish, text, at, prompt, completion, digest = row
    return JudgeReply(
        text,
        served,
        finish,
        at=at,
        prompt_tokens=prompt,
        completion_tokens=completion,
        digest=digest,
        number=number,
    )


def _compute_row_digest(row: _Row) -> str:
    """Return the digest of a row's columns, without empty ones that form 1 did not have."""
    return compute_digest(row if any(row[_OLD_COLUMNS:]) else row[:_OLD_COLUMNS])
