"""Opens and creates the SQLite file of replies, and words its errors for users."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import Place, RefusedError
from evalstore.files import describe_error
from evalstore.own_files import FOLDER_MODE, create_own, find_own, open_own_folder

_APPLICATION = 0x65767372  # "evsr": SQLite's application id, which the command `file` shows too
_OLD_TABLE = (
    "CREATE TABLE reply (key TEXT PRIMARY KEY, judge TEXT, model TEXT, served TEXT, finish TEXT, "
    "text TEXT, sum TEXT)"
)
_TABLE = (
    "CREATE TABLE kept_reply (number INTEGER PRIMARY KEY, key TEXT, judge TEXT, model TEXT, "
    "served TEXT, finish TEXT, text TEXT, at TEXT, prompt_tokens INTEGER, completion_tokens "
    "INTEGER, sum TEXT)"
)
_INDEX = "CREATE INDEX kept_reply_by_key ON kept_reply (key)"
# Form 1 kept one reply for a call; form 2 keeps every reply. A file of form 1 is converted at the
# first write; until then it is read as it is.
ONE_REPLY, ALL_REPLIES = 1, 2
_SCHEMAS = {
    ONE_REPLY: [("table", "reply", _OLD_TABLE), ("index", "sqlite_autoindex_reply_1", None)],
    ALL_REPLIES: [("table", "kept_reply", _TABLE), ("index", "kept_reply_by_key", _INDEX)],
}
_OLD_ROWS = "SELECT rowid, key, judge, model, served, finish, text, '', NULL, NULL, sum FROM reply"
# By form: the query for the rows of one call, oldest first.
REPLY_QUERIES = {
    ONE_REPLY: f"{_OLD_ROWS} WHERE key = ?",
    ALL_REPLIES: "SELECT * FROM kept_reply WHERE key = ? ORDER BY number",
}
LAST_NUMBER_QUERIES = {
    ONE_REPLY: "SELECT coalesce(max(rowid), 0) FROM reply",
    ALL_REPLIES: "SELECT coalesce(max(number), 0) FROM kept_reply",
}
INSERT_REPLY = "INSERT INTO kept_reply VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Seconds for other processes to finish their writes; each takes about a millisecond.
_PATIENCE = 60.0
_SAFE_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL")
_SIDE_FILES = ("-journal", "-wal", "-shm")
_ELSEWHERE = "name another file for the replies (--cache), or move this one away"
_ERROR_MESSAGES = {  # the beginning of SQLite's name for an error -> what happened, what to do
    "SQLITE_BUSY": (
        "another process kept it locked for a minute",
        "run this again when it is done",
    ),
    "SQLITE_CANTOPEN": (
        "cannot be opened",
        "check the permissions of its folder, or name another file (--cache)",
    ),
    "SQLITE_CORRUPT": ("is damaged", _ELSEWHERE),
    "SQLITE_FULL": (
        "cannot grow: the disk is full",
        "free some space and run this again; its content is kept",
    ),
    "SQLITE_IOERR": ("cannot be read or written: the system reports an error", _ELSEWHERE),
    "SQLITE_NOTADB": ("is not a cache of replies", _ELSEWHERE),
    "SQLITE_READONLY": (
        "cannot be written: it is read-only",
        "name another file for the replies (--cache)",
    ),
}


class _Identity(NamedTuple):
    device: int
    number: int


def has_file(path: Path) -> bool:
    """Whether the file exists; `RefusedError` if other users could have written to it."""
    return _find_identity(path) is not None


def _find_identity(path: Path) -> _Identity | None:
    """Return the file's identity, None for no file; checks the files SQLite keeps beside it too."""
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
        raise RefusedError(
            error.message, place=error.place, hint=f"{error.hint}, or name another (--cache)"
        ) from None
    return None if status is None else _Identity(status.st_dev, status.st_ino)


def open_connection(path: Path) -> sqlite3.Connection:
    """Open the file; triggers and views of a hostile file do not run.

    SQLite opens the file by name: raises `RefusedError` if it was replaced after it was checked.
    """
    identity = _find_identity(path)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    database = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False
    )
    # More than the largest reply that is accepted from an endpoint.
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 << 20)
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
    """Yield the identity of each file that this process has open."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # only the names are needed
        with suppress(OSError):  # the descriptor of the listing itself, closed by now
            status = os.fstat(int(name))
            yield _Identity(status.st_dev, status.st_ino)


def find_form(database: sqlite3.Connection, path: Path) -> int:
    """Return the form of the file, 0 if empty.

    Raises `RefusedError` for anything but exactly the table of a known form.
    """
    application = database.execute("PRAGMA application_id").fetchone()[0]
    form: int = database.execute("PRAGMA user_version").fetchone()[0]
    schema = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid").fetchall()
    if (application, form, schema) == (0, 0, []):
        return 0
    if application == _APPLICATION and form not in _SCHEMAS:
        raise _make_error(
            path, f"was written by another version of evalstore (cache format {form})", _ELSEWHERE
        )
    if application != _APPLICATION or schema != _SCHEMAS[form]:
        raise _make_error(path, "is not a cache of replies", _ELSEWHERE)
    return form


def create_database(path: Path) -> sqlite3.Connection:
    """Open the file for writing.

    Create what is missing, and move replies of form 1 to the new table.
    """
    _make_file(path)
    database = open_connection(path)
    with _close_on_failure(database), hold_write_lock(database):
        if (form := find_form(database, path)) != ALL_REPLIES:
            database.execute(_TABLE)
            database.execute(_INDEX)
            # In one transaction: if the process is killed, the file is intact in the old form or
            # in the new one.
            if form == ONE_REPLY:
                database.execute(f"INSERT INTO kept_reply {_OLD_ROWS} ORDER BY rowid")
                database.execute("DROP TABLE reply")
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {ALL_REPLIES}")
    return database


def _make_file(path: Path) -> None:
    """Make an empty file and its folders, unless they exist."""
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    if not has_file(path):
        with suppress(FileExistsError):  # another process was first
            create_own(path.parent, path.name, b"")


@contextmanager
def hold_write_lock(database: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock from the first read on: two upgraded read locks would deadlock."""
    with _begin(database, "BEGIN IMMEDIATE"):
        yield
        database.execute("COMMIT")


def hold_snapshot(database: sqlite3.Connection) -> AbstractContextManager[None]:
    """Let several statements read one snapshot, even if another process writes meanwhile."""
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
        # An error without a name means that the sqlite3 module was misused: a bug in evalstore.
        if name is None:
            raise
        known = next(
            (words for start, words in _ERROR_MESSAGES.items() if name.startswith(start)), None
        )
        raise _make_error(path, *(known or (f"cannot be used: {error}", _ELSEWHERE))) from None
    except UnicodeDecodeError:  # raised where SQLite quotes a damaged table name
        raise make_damage_error(path) from None
    except OSError as error:
        raise _make_error(path, f"cannot be opened: {describe_error(error)}", _ELSEWHERE) from None


def make_damage_error(path: Path) -> RefusedError:
    """Return the error for a file whose content is not what was written."""
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
