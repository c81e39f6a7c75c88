"""Opens files that evalstore wrote itself and reads again, if nobody else could have written them.

These are replies, journals, notes and stages. None of them is signed. A file is trusted if it is a
regular file that only this user and the system can write, in folders for which the same is true;
each is checked by descriptor, so nothing can replace it meanwhile.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import Place, RefusedError
from evalstore.files import describe_error, open_parent, read_limited, write_below

# For files and folders that evalstore makes for itself: a missing umask must not let everybody
# write them.
FILE_MODE, FOLDER_MODE = 0o664, 0o775
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINKED = frozenset({errno.ELOOP, errno.ENOTDIR})
_REMOVE = "remove it, or move it away"


def read_own(root: Path, relative: str, limit: int) -> bytes:
    """Read `root/relative`; raises like `open_own`, and `LoadError` beyond `limit` bytes."""
    with open_own(root, relative) as file:
        return read_limited(file, str(root / relative), limit)


def write_own(root: Path, relative: str, data: bytes) -> None:
    """Write `root/relative` and its folders atomically, so that it can be read again."""
    write_below(root, relative, data, mode=FILE_MODE)


def create_own(root: Path, relative: str, data: bytes) -> None:
    """Write the new file `root/relative`, and its folders.

    It is not synced. Raises `FileExistsError` if something is there.
    """
    with open_parent(root, relative, make=FOLDER_MODE, check=_check_open) as (folder, name):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        with os.fdopen(os.open(name, flags, FILE_MODE, dir_fd=folder), "wb") as file:
            file.write(data)


def append_own(root: Path, relative: str, data: bytes) -> None:
    """Append to `root/relative` in one piece.

    A missing file is created. Raises like `open_own`.
    """
    path, flags = root / relative, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS
    with (
        _refuse_links(path),
        open_parent(root, relative, make=FOLDER_MODE, check=_check_open) as (folder, name),
    ):
        descriptor = os.open(name, flags, FILE_MODE, dir_fd=folder)
    try:
        _check(os.fstat(descriptor), path, stat.S_ISREG)
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def open_own(root: Path, relative: str) -> BinaryIO:
    """Open `root/relative` for reading; `FileNotFoundError` if it is missing.

    Raises `RefusedError` if the file, or a folder on the way to it below `root`, is a link or can
    be written by others.
    """
    path = root / relative
    with _refuse_links(path), open_parent(root, relative, check=_check_open) as (folder, name):
        descriptor = os.open(name, os.O_RDONLY | _FLAGS, dir_fd=folder)
    try:
        _check(os.fstat(descriptor), path, stat.S_ISREG)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def has_own(root: Path, relative: str) -> bool:
    """Whether the file `root/relative` exists; raises like `open_own`."""
    with suppress(FileNotFoundError):
        open_own(root, relative).close()
        return True
    return False


def open_lock(root: Path, relative: str, *, make: bool) -> int:
    """Return the descriptor of a file that serves only as a lock.

    It is empty, so its owner does not matter. With `make`, a missing file and its folder are
    created; otherwise they are a `FileNotFoundError`.
    """
    flags = os.O_RDWR | os.O_CREAT if make else os.O_RDONLY
    with open_parent(root, relative, make=FOLDER_MODE if make else 0) as (folder, name):
        return os.open(name, flags | _FLAGS, FILE_MODE, dir_fd=folder)


@contextmanager
def open_own_folder(path: Path) -> Iterator[int]:
    """Give the descriptor of a folder that is not a link.

    Raises `RefusedError` for a link, and if others can write the folder.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    except NotADirectoryError:  # includes a link to a folder
        if path.is_symlink():
            raise RefusedError("is a link", place=Place(str(path)), hint=_REMOVE) from None
        raise
    try:
        _check_open(folder, path)
        yield folder
    finally:
        os.close(folder)


def find_own(folder: int, path: Path) -> os.stat_result | None:
    """Return the status of the file `path` in its open folder; None if it is missing.

    Raises like `open_own`. The file is not opened: closing a file frees all locks that the process
    has on it.
    """
    try:
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check(status, path, stat.S_ISREG)
    return status


def _check_open(folder: int, path: Path) -> None:
    _check(os.fstat(folder), path, stat.S_ISDIR)


@contextmanager
def _refuse_links(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _LINKED:
            raise RefusedError(
                f"cannot be read: {describe_error(error)}", place=Place(str(path)), hint=_REMOVE
            ) from None
        raise


def _check(status: os.stat_result, path: Path, has_type: Callable[[int], bool]) -> None:
    if not has_type(status.st_mode):
        raise RefusedError("is not a regular file", place=Place(str(path)), hint=_REMOVE)
    if who := _find_other_writer(status):
        raise RefusedError(
            f"{who} can write it, so evalstore does not read it",
            place=Place(str(path)),
            hint=(
                f"if what it holds is yours: chown $USER {shlex.quote(str(path))} and chmod "
                "go-w; else remove it"
            ),
        )


def _find_other_writer(status: os.stat_result) -> str | None:
    """Return who else can write a file, or replace files in a folder; None for nobody.

    This user and the system do not count.
    """
    if status.st_uid not in {0, os.geteuid()}:
        return f"the user {_find_user_name(status.st_uid)}"
    # In a sticky folder such as /tmp, nobody can replace the files of others.
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & stat.S_IWOTH:
        return "everybody on this machine"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, status.st_uid):
        return f"the group {_find_group_name(status.st_gid)}"
    return None


def _is_private_group(gid: int, uid: int) -> bool:
    """Whether a group has one user only.

    Most systems give each user such a group of the same name.
    """
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
