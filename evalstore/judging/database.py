"""The SQLite file that holds replies: made by the first write, and refused unread when it is anything else."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from evalstore.errors import Place, RefusedError

_APPLICATION = 0x65767372  # "evsr", by which `file` knows it too
_VERSION = 1
_TABLE = (
    "CREATE TABLE reply (key TEXT PRIMARY KEY, judge TEXT, model TEXT, served TEXT, finish TEXT, text TEXT, sum TEXT)"
)
_SCHEMA = [("table", "reply", _TABLE), ("index", "sqlite_autoindex_reply_1", None)]
_PATIENCE = 60.0  # seconds for other processes to finish their writes; each takes about a millisecond
_LONGEST = 16 << 20  # bytes of one value: more than any reply that an endpoint may give
_SAFE = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL")
_ODD = "is no regular file"
_ELSEWHERE = "name another file for the replies (--cache), or move this one away"
_WORDS = {  # the beginning of SQLite's name for an error -> what happened, what to do
    "SQLITE_BUSY": ("other processes kept it locked for a minute", "run it again when they are done"),
    "SQLITE_CANTOPEN": ("cannot be opened", "look at the permissions of its folder, or name another file (--cache)"),
    "SQLITE_CORRUPT": ("is damaged", _ELSEWHERE),
    "SQLITE_FULL": ("cannot grow: no room is left", "make room and run it again; what is in it stays"),
    "SQLITE_IOERR": ("cannot be read or written: the system reports an error", _ELSEWHERE),
    "SQLITE_NOTADB": ("is no cache of replies", _ELSEWHERE),
    "SQLITE_READONLY": ("cannot be written: it is read-only", "name another file for the replies (--cache)"),
}


def stands(path: Path) -> bool:
    """Whether a file is there; what SQLite would follow (a link) or wait at for ever (a FIFO) is refused."""
    found = False
    for end in ("-journal", "-wal", "-shm", ""):
        beside = Path(f"{path}{end}")
        with suppress(FileNotFoundError):
            found = stat.S_ISREG(beside.lstat().st_mode)
            if not found:
                raise _refused(path, f"{beside.name} beside it is no regular file" if end else _ODD, _ELSEWHERE)
    return found


def connect(path: Path, *, make: bool = False) -> sqlite3.Connection:
    """Open the file, and make it first if asked to; what a stranger's file holds is not run."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if make else 'rw'}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    database.text_factory = _text
    with _closed_on_failure(database):
        for pragma in _SAFE:
            database.execute(f"PRAGMA {pragma}")
    return database


def is_ours(database: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds replies; False of an empty one. Anything more or other than our table is refused."""
    ids = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    schema = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid").fetchall()
    if (ids, schema) == ([0, 0], []):
        return False
    if ids[0] == _APPLICATION and ids[1] != _VERSION:
        raise _refused(path, f"was written by another evalstore, whose caches have form {ids[1]}", _ELSEWHERE)
    if ids[0] != _APPLICATION or schema != _SCHEMA:
        raise _refused(path, "is no cache of replies", _ELSEWHERE)
    return True


def make(path: Path) -> sqlite3.Connection:
    """Open the file ready for writing, making its folder, itself and the table where they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = connect(path, make=True)
    with _closed_on_failure(database), writing(database):
        if not is_ours(database, path):
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
    return database


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[None]:
    """Hold the lock from the first read on, so that two writers take turns and never block one another for good."""
    with _begun(database, "BEGIN IMMEDIATE"):
        yield
        database.execute("COMMIT")


def reading(database: sqlite3.Connection) -> AbstractContextManager[None]:
    """See what several statements read as it is at one moment, whoever writes meanwhile."""
    return _begun(database, "BEGIN")


@contextmanager
def _begun(database: sqlite3.Connection, how: str) -> Iterator[None]:
    database.execute(how)
    try:
        yield
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def worded(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise about the file into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None)
        if name is None:  # Python's complaint about us, not SQLite's about the file
            raise
        known = next((words for start, words in _WORDS.items() if name.startswith(start)), None)
        raise _refused(path, *(known or (f"cannot be used: {error}", _ELSEWHERE))) from None
    except UnicodeDecodeError:  # Python's, over SQLite's own words about names that are none
        raise damaged(path) from None
    except OSError as error:
        raise _refused(path, f"cannot be opened: {(error.strerror or str(error)).lower()}", _ELSEWHERE) from None


def damaged(path: Path) -> RefusedError:
    """Say that the file does not keep what is put into it."""
    return _refused(path, *_WORDS["SQLITE_CORRUPT"])


def _refused(path: Path, message: str, hint: str) -> RefusedError:
    return RefusedError(message, place=Place(str(path)), hint=hint)


@contextmanager
def _closed_on_failure(database: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")  # what was no UTF-8 no longer fits its checksum
