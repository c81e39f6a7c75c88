"""The cache of replies by the key of their call: one SQLite file, append-only, shared by threads and processes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from evalstore.documents import compute_digest
from evalstore.errors import Place, RefusedError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.own_files import FOLDER_MODE, create_own, find_own, open_own_folder

_APPLICATION = 0x65767372  # "evsr", by which `file` knows it too
# Form 1 kept one reply for a call; form 2 only ever adds. A file of form 1 is read as it is until the first write.
ONE_REPLY, ALL_REPLIES = 1, 2
_OLD_TABLE = (
    "CREATE TABLE reply (key TEXT PRIMARY KEY, judge TEXT, model TEXT, served TEXT, finish TEXT, text TEXT, sum TEXT)"
)
_TABLE = (
    "CREATE TABLE kept_reply (number INTEGER PRIMARY KEY, key TEXT, judge TEXT, model TEXT, served TEXT, finish TEXT, "
    "text TEXT, at TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, sum TEXT)"
)
_INDEX = "CREATE INDEX kept_reply_by_key ON kept_reply (key)"
_SCHEMAS = {
    ONE_REPLY: [("table", "reply", _OLD_TABLE), ("index", "sqlite_autoindex_reply_1", None)],
    ALL_REPLIES: [("table", "kept_reply", _TABLE), ("index", "kept_reply_by_key", _INDEX)],
}
_OLD_ROWS = "SELECT rowid, key, judge, model, served, finish, text, '', NULL, NULL, sum FROM reply"
# By form: the rows of one call, the first kept first.
REPLY_QUERIES = {
    ONE_REPLY: f"{_OLD_ROWS} WHERE key = ?",
    ALL_REPLIES: "SELECT * FROM kept_reply WHERE key = ? ORDER BY number",
}
LAST_NUMBER_QUERIES = {
    ONE_REPLY: "SELECT coalesce(max(rowid), 0) FROM reply",
    ALL_REPLIES: "SELECT coalesce(max(number), 0) FROM kept_reply",
}
INSERT_REPLY = "INSERT INTO kept_reply VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PATIENCE = 60.0  # seconds for other processes to finish their writes; each takes about a millisecond
_SAFE_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL")
_SIDE_FILES = ("-journal", "-wal", "-shm")
_ELSEWHERE = "name another file for the replies (--cache), or move this one away"
_ERROR_MESSAGES = {  # the beginning of SQLite's name for an error -> what happened, what to do
    "SQLITE_BUSY": ("another process kept it locked for a minute", "run this again when it is done"),
    "SQLITE_CANTOPEN": ("cannot be opened", "check the permissions of its folder, or name another file (--cache)"),
    "SQLITE_CORRUPT": ("is damaged", _ELSEWHERE),
    "SQLITE_FULL": ("cannot grow: the disk is full", "free some space and run this again; its content is kept"),
    "SQLITE_IOERR": ("cannot be read or written: the system reports an error", _ELSEWHERE),
    "SQLITE_NOTADB": ("is not a cache of replies", _ELSEWHERE),
    "SQLITE_READONLY": ("cannot be written: it is read-only", "name another file for the replies (--cache)"),
}


class _Identity(NamedTuple):
    device: int
    number: int


def has_file(path: Path) -> bool:
    """Whether the file exists; `RefusedError` where somebody else could have written it, or a part of it."""
    return _find_identity(path) is not None


def _find_identity(path: Path) -> _Identity | None:
    """Return which file it is, and None where there is none; what SQLite keeps beside it is looked at, too."""
    if not path.name:
        raise _make_error(path, "is not a regular file", _ELSEWHERE)
    try:
        with open_own_folder(path.parent) as folder:
            for suffix in _SIDE_FILES:
                find_own(folder, path.with_name(path.name + suffix))
            status = find_own(folder, path)
    except FileNotFoundError:
        return None
    except RefusedError as error:
        raise RefusedError(error.message, place=error.place, hint=f"{error.hint}, or name another (--cache)") from None
    return None if status is None else _Identity(status.st_dev, status.st_ino)


def open_connection(path: Path) -> sqlite3.Connection:
    """Open the file; triggers and views of a hostile file do not run.

    SQLite opens it by its name: another one that took its place since it was looked at is a `RefusedError`.
    """
    identity = _find_identity(path)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 << 20)  # more than any reply that an endpoint may give
    database.text_factory = _decode_text
    with _close_on_failure(database):
        for pragma in _SAFE_PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
        if identity not in set(_list_open_files()):
            raise _make_error(
                path,
                "was replaced while it was opened",
                "check who can write the folders above it, or name another (--cache)",
            )
    return database


def _list_open_files() -> Iterator[_Identity]:
    """Yield which files this process has open."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # names are all that is wanted
        with suppress(OSError):  # that of the listing itself
            status = os.fstat(int(name))
            yield _Identity(status.st_dev, status.st_ino)


def find_form(database: sqlite3.Connection, path: Path) -> int:
    """Return the form of the file, 0 of an empty one. Anything more or other than the table of a form is refused."""
    ids = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    schema = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid").fetchall()
    if (ids, schema) == ([0, 0], []):
        return 0
    form: int = ids[1]
    if ids[0] == _APPLICATION and form not in _SCHEMAS:
        raise _make_error(path, f"was written by another version of evalstore (cache format {form})", _ELSEWHERE)
    if ids[0] != _APPLICATION or schema != _SCHEMAS[form]:
        raise _make_error(path, "is not a cache of replies", _ELSEWHERE)
    return form


def create_database(path: Path) -> sqlite3.Connection:
    """Open the file for writing; create what is missing, and move the replies of form 1 into the new table."""
    _make_file(path)
    database = open_connection(path)
    with _close_on_failure(database), hold_write_lock(database):
        if (form := find_form(database, path)) != ALL_REPLIES:
            database.execute(_TABLE)
            database.execute(_INDEX)
            # In one transaction: whatever kills it, the file is whole in its old form or in the new one.
            if form == ONE_REPLY:
                database.execute(f"INSERT INTO kept_reply {_OLD_ROWS} ORDER BY rowid")
                database.execute("DROP TABLE reply")
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {ALL_REPLIES}")
    return database


def _make_file(path: Path) -> None:
    """Make an empty file, and its folders, unless it is there."""
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    if not has_file(path):
        with suppress(FileExistsError):  # another process was first
            create_own(path.parent, path.name, b"")


@contextmanager
def hold_write_lock(database: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock from the first read on: two writers that upgrade a read lock would block each other."""
    with _begin(database, "BEGIN IMMEDIATE"):
        yield
        database.execute("COMMIT")


def hold_snapshot(database: sqlite3.Connection) -> AbstractContextManager[None]:
    """Let several statements read one snapshot, whoever writes meanwhile."""
    return _begin(database, "BEGIN")


@contextmanager
def _begin(database: sqlite3.Connection, statement: str) -> Iterator[None]:
    database.execute(statement)
    try:
        yield
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the system about the file into a `RefusedError`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None)
        # Python raises errors without a name for misuse of its module, which is a bug of ours.
        if name is None:
            raise
        known = next((words for start, words in _ERROR_MESSAGES.items() if name.startswith(start)), None)
        raise _make_error(path, *(known or (f"cannot be used: {error}", _ELSEWHERE))) from None
    except UnicodeDecodeError:  # raised where SQLite quotes a damaged name of a table
        raise make_damage_error(path) from None
    except OSError as error:
        raise _make_error(path, f"cannot be opened: {(error.strerror or str(error)).lower()}", _ELSEWHERE) from None


def make_damage_error(path: Path) -> RefusedError:
    """Return the error for a file that does not hold what was written into it."""
    return _make_error(path, *_ERROR_MESSAGES["SQLITE_CORRUPT"])


def _make_error(path: Path, message: str, hint: str) -> RefusedError:
    return RefusedError(message, place=Place(str(path)), hint=hint)


@contextmanager
def _close_on_failure(database: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")  # bytes that are not UTF-8 then fail their checksum


# key, judge, model, served, finish, text, at, the tokens of prompt and completion, and the digest of these nine
_Row = list[str | int | None]
_OLD_COLUMNS = 6


@dataclass(slots=True)
class ReplyCache:
    """Replies in one SQLite file, which the first `put` creates; an existing file is checked at its first use.

    Nothing in it is ever changed: another reply to the same call is kept beside the first.

    The file has a rollback journal, not a write-ahead log: one file can be copied, read from a read-only folder, and
    shared over a network. The cost is a few waits for the disk, which threads that `put` at once share.
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
        """Return the first reply to a call with a number above `since`; None where there is none."""
        return next((reply for reply in self.find_replies(call) if reply.number > since), None)

    def find_replies(self, call: JudgeCall) -> tuple[JudgeReply, ...]:
        """Return all replies to a call in the order in which they came; one whose digest does not match is absent."""
        with self._lock, translate_errors(self.path):
            return tuple(_make_reply(row) for row in self._read_rows(REPLY_QUERIES, call.key) if _is_whole(row))

    def find_last_number(self) -> int:
        """Return the number of the reply that was kept last; 0 without any."""
        with self._lock, translate_errors(self.path):
            return max((number for (number,) in self._read_rows(LAST_NUMBER_QUERIES)), default=0)

    def put(self, call: JudgeCall, reply: JudgeReply) -> None:
        """Write a reply to disk before returning; earlier ones stay. Raises `RefusedError` where it cannot."""
        if reply.problem:
            raise ValueError("a call without a reply is to be asked again, so nothing of it is kept")
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
                if id(row) in self._pending_rows:  # else the thread before has written it too
                    self._write_rows(dict(self._pending_rows))
            finally:
                self._pending_rows.pop(id(row), None)

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

    def _write_rows(self, rows: Mapping[object, _Row]) -> None:
        """Write the replies of all threads that wait for the disk in one transaction."""
        database = self._open_for_writing()
        with hold_write_lock(database):
            for row in rows.values():
                # One in the same words is kept, too: its number says that the call was asked again.
                database.execute(INSERT_REPLY, row)
                # A row that cannot be read back would be asked for again, and paid for again.
                if not _has_row(database, row):
                    raise make_damage_error(self.path)
        for mark in rows:
            self._pending_rows.pop(mark, None)

    def _read_rows(self, queries: Mapping[int, str], *values: str) -> list[tuple[Any, ...]]:
        """Return the rows of the query of the file's form; none of a file that is not there."""
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
            # In one snapshot, or a file that another process creates just now would look half made.
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
        # A connection does not survive a fork, and even closing it would use it; so keep a reference to it.
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
    """Whether a row, as it is read, is what was written."""
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
        text, served, finish, at=at, prompt_tokens=prompt, completion_tokens=completion, digest=digest, number=number
    )


def _compute_row_digest(row: _Row) -> str:
    """Return the digest of the columns of a row; what form 1 did not have is left out where it is absent."""
    return compute_digest(row if any(row[_OLD_COLUMNS:]) else row[:_OLD_COLUMNS])
