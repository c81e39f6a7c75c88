"""The SQLite file of the reply cache: created by the first write, and refused unread when it is anything else."""

from __future__ import annotations

import grp
import os
import pwd
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from evalstore.errors import Place, RefusedError


def find_other_writers(path: Path) -> str | None:
    """Return who, beside this user and the system, can write a file or put another in its place; None for nobody.

    Linked names are not followed; where there is no file, nobody has written it.
    """
    try:
        file, folder = path.lstat(), path.parent.stat()
    except OSError:
        return None
    # In a sticky folder, as /tmp is, nobody replaces the files of others.
    return _find_writers(file) or (None if folder.st_mode & stat.S_ISVTX else _find_writers(folder))


def _find_writers(status: os.stat_result) -> str | None:
    if status.st_mode & stat.S_IWOTH:
        return "everybody on this machine"
    if status.st_uid not in {0, os.geteuid()}:
        return f"the user {_find_user_name(status.st_uid)}"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, status.st_uid):
        return f"the group {_find_group_name(status.st_gid)}"
    return None


def _is_private_group(gid: int, uid: int) -> bool:
    """Whether a group is of one user alone, as most systems give each user one of the same name."""
    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == name and not set(group.gr_mem) - {name}


def _find_user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _find_group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


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
_NO_FILE = "is not a regular file"
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


def has_file(path: Path) -> bool:
    """Whether the file exists; what SQLite would follow (a link) or wait at for ever (a FIFO) is refused."""
    is_regular = False
    for suffix in ("-journal", "-wal", "-shm", ""):
        file = Path(f"{path}{suffix}")
        with suppress(FileNotFoundError):
            is_regular = stat.S_ISREG(file.lstat().st_mode)
            if not is_regular:
                message = f"{file.name} next to it is not a regular file" if suffix else _NO_FILE
                raise _make_error(path, message, _ELSEWHERE)
    return is_regular


def open_connection(path: Path, *, make: bool = False) -> sqlite3.Connection:
    """Open the file, and create it first if `make`; triggers and views of a hostile file do not run."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if make else 'rw'}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 << 20)  # more than any reply that an endpoint may give
    database.text_factory = _decode_text
    with _close_on_failure(database):
        for pragma in _SAFE_PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
    return database


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
    path.parent.mkdir(parents=True, exist_ok=True)
    database = open_connection(path, make=True)
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
