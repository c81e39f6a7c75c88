"""Keeps the replies of judges by the key of their call, for any number of threads and processes; asks nobody."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from evalstore.documents import digest
from evalstore.judging.database import connect, damaged, is_ours, make, reading, stands, worded, writing
from evalstore.model import Call, Reply

_Row = list[str]  # key, judge, model, served, finish, text, and the checksum of these


@dataclass(slots=True)
class Cache:
    """Replies in a file that the first `put` makes; what is there is looked at when it is first used.

    It has a rollback journal, not a write-ahead log: then it is one file that can be copied, read where nothing may be
    written, and shared over a network. That costs a few waits for the disk, which threads that put at once share.
    """

    path: Path
    _database: sqlite3.Connection | None = None
    _sound: bool = False
    _closed: bool = False
    _pid: int = field(default_factory=os.getpid)
    _inherited: list[sqlite3.Connection] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: dict[str, _Row] = field(default_factory=dict)

    def get(self, call: Call) -> Reply | None:
        """Return the reply to a call; None where there is none, or where it is not as it was stored."""
        key = call.key
        with self._lock, worded(self.path):
            database = self._readable()
            return None if database is None else _find(database, key)

    def put(self, call: Call, reply: Reply) -> None:
        """Keep a reply for good before returning; an earlier one stays. What cannot be written is a `RefusedError`."""
        if reply.problem:
            raise ValueError("a call without a reply is to be asked again, so nothing of it is kept")
        key, model = call.key, str(call.model.get("id", ""))
        row = [key, call.judge, model, reply.served, reply.finish, reply.text]
        self._waiting[key] = [*row, digest(row)]
        with self._lock, worded(self.path):
            try:
                if key in self._waiting:  # else a thread that had the lock before has kept it too
                    self._write(dict(self._waiting))
            finally:
                self._waiting.pop(key, None)

    def ready(self) -> None:
        """See that replies can be kept, before one is paid for; what forbids it is a `RefusedError`."""
        with self._lock, worded(self.path), writing(self._writable()):
            pass

    def close(self) -> None:
        """Let go of the file; a later `get` or `put` is a `ValueError`."""
        with self._lock:
            self._closed = True
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, rows: Mapping[str, _Row]) -> None:
        """Keep the replies of all threads that wait for the disk at once, so that they wait for it once."""
        database = self._writable()
        with writing(database):
            for key, row in rows.items():
                if _find(database, key) is None:
                    database.execute("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                    if _find(database, key) is None:  # or it would be asked for again, and again
                        raise damaged(self.path)
        for key in rows:
            self._waiting.pop(key, None)

    def _readable(self) -> sqlite3.Connection | None:
        if self._closed:
            raise ValueError("the cache of replies is closed")
        if self._pid != os.getpid():
            self._forked()
        if not self._sound and stands(self.path):
            self._database = self._database or connect(self.path)
            with reading(self._database):  # or one that another process makes just now would look half made
                self._sound = is_ours(self._database, self.path)
        return self._database if self._sound else None

    def _writable(self) -> sqlite3.Connection:
        database = self._readable()
        if database is None:
            self._drop()
            database = self._database = make(self.path)
            self._sound = True
        return database

    def _forked(self) -> None:
        # A connection does not survive a fork; it is kept, because closing it would be using it.
        self._inherited += [self._database] if self._database else []
        self._database, self._sound, self._pid = None, False, os.getpid()

    def _drop(self) -> None:
        if self._database is not None and self._pid == os.getpid():
            self._database.close()
        self._database, self._sound = None, False


def _find(database: sqlite3.Connection, key: str) -> Reply | None:
    with closing(database.execute("SELECT * FROM reply WHERE key = ?", (key,))) as found:
        row = found.fetchone()
    if row is None or not all(isinstance(value, str) for value in row) or digest([*row[:-1]]) != row[-1]:
        return None
    _, _, _, served, finish, text, _ = row
    return Reply(text=text, served=served, finish=finish)
