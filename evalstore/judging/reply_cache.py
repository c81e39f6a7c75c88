"""The cache of replies by the key of their call, shared by any number of threads and processes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from evalstore.documents import compute_digest
from evalstore.judging.reply_database import (
    create_database,
    has_file,
    hold_snapshot,
    hold_write_lock,
    is_reply_database,
    make_damage_error,
    open_connection,
    translate_errors,
)
from evalstore.model import JudgeCall, JudgeReply

_Row = list[str]  # key, judge, model, served, finish, text, and the checksum of these six


@dataclass(slots=True)
class ReplyCache:
    """Replies in one SQLite file, which the first `put` creates; an existing file is checked at its first use.

    The file has a rollback journal, not a write-ahead log: one file can be copied, read from a read-only folder, and
    shared over a network. The cost is a few waits for the disk, which threads that `put` at once share.
    """

    path: Path
    _database: sqlite3.Connection | None = None
    _is_checked: bool = False
    _is_closed: bool = False
    _pid: int = field(default_factory=os.getpid)
    _parent_connections: list[sqlite3.Connection] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pending_rows: dict[str, _Row] = field(default_factory=dict)

    def get(self, call: JudgeCall) -> JudgeReply | None:
        """Return the reply to a call; None where there is none, or where its checksum does not match."""
        key = call.key
        with self._lock, translate_errors(self.path):
            database = self._open_for_reading()
            return None if database is None else _find_reply(database, key)

    def put(self, call: JudgeCall, reply: JudgeReply) -> None:
        """Write a reply to disk before returning; an earlier one stays. Raises `RefusedError` where it cannot."""
        if reply.problem:
            raise ValueError("a call without a reply is to be asked again, so nothing of it is kept")
        key, model = call.key, str(call.model.get("id", ""))
        row = [key, call.judge, model, reply.served, reply.finish, reply.text]
        # Outside the lock, so that the thread that holds it can write this row along with its own.
        self._pending_rows[key] = [*row, compute_digest(row)]
        with self._lock, translate_errors(self.path):
            try:
                if key in self._pending_rows:  # else the thread before has written it too
                    self._write_rows(dict(self._pending_rows))
            finally:
                self._pending_rows.pop(key, None)

    def check_writable(self) -> None:
        """Check that replies can be written, before one is paid for; raises `RefusedError` where not."""
        with self._lock, translate_errors(self.path), hold_write_lock(self._open_for_writing()):
            pass

    def close(self) -> None:
        """Close the file; a later `get` or `put` is a `ValueError`."""
        with self._lock:
            self._is_closed = True
            self._close_connection()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_rows(self, rows: Mapping[str, _Row]) -> None:
        """Write the replies of all threads that wait for the disk in one transaction."""
        database = self._open_for_writing()
        with hold_write_lock(database):
            for key, row in rows.items():
                if _find_reply(database, key) is None:
                    database.execute("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                    # A row that cannot be read back would be asked for again, and paid for again.
                    if _find_reply(database, key) is None:
                        raise make_damage_error(self.path)
        for key in rows:
            self._pending_rows.pop(key, None)

    def _open_for_reading(self) -> sqlite3.Connection | None:
        if self._is_closed:
            raise ValueError("the cache of replies is closed")
        if self._pid != os.getpid():
            self._forget_connection()
        if not self._is_checked and has_file(self.path):
            self._database = self._database or open_connection(self.path)
            # In one snapshot, or a file that another process creates just now would look half made.
            with hold_snapshot(self._database):
                self._is_checked = is_reply_database(self._database, self.path)
        return self._database if self._is_checked else None

    def _open_for_writing(self) -> sqlite3.Connection:
        database = self._open_for_reading()
        if database is None:
            self._close_connection()
            database = self._database = create_database(self.path)
            self._is_checked = True
        return database

    def _forget_connection(self) -> None:
        # A connection does not survive a fork, and even closing it would use it; so keep a reference to it.
        self._parent_connections += [self._database] if self._database else []
        self._database, self._is_checked, self._pid = None, False, os.getpid()

    def _close_connection(self) -> None:
        if self._database is not None and self._pid == os.getpid():
            self._database.close()
        self._database, self._is_checked = None, False


def _find_reply(database: sqlite3.Connection, key: str) -> JudgeReply | None:
    with closing(database.execute("SELECT * FROM reply WHERE key = ?", (key,))) as found:
        row = found.fetchone()
    if row is None or not all(isinstance(value, str) for value in row) or compute_digest([*row[:-1]]) != row[-1]:
        return None
    _, _, _, served, finish, text, _ = row
    return JudgeReply(text=text, served=served, finish=finish)
