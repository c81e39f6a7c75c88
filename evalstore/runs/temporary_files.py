"""Writes files aside, under hidden names that no reader takes for theirs; what a killed process left is removed."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import Place, RefusedError
from evalstore.files import WRITE_HINTS

# Rows are some kilobytes: the usual buffer would go to the system for every few of them.
_BUFFER = 1 << 18
# A suffix that only evalstore uses, because other programs do not lock their temporary files.
_SUFFIX = ".evalstore.tmp"
_OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(_SUFFIX), re.DOTALL)
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name at the end, atomically and in place of another; after an error there is none."""
    with refuse_disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent)
        file = open_temporary(path.parent, path.stem)
        try:
            yield file
            finish_on_disk(file)
            Path(file.name).replace(path)
        finally:
            discard_temporary(file)


def open_temporary(folder: Path, name: str) -> BinaryIO:
    """Open a new hidden file in `folder`; its lock keeps `remove_abandoned` away until it is closed."""
    while True:
        file = (folder / f".{name}.{secrets.token_hex(4)}{_SUFFIX}").open("xb", buffering=_BUFFER)
        with suppress(OSError):  # a file system without locks: nobody can lock it to sweep it either
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed it between the two calls above; from here on it cannot.
        if os.path.lexists(file.name):
            return file
        file.close()


def discard_temporary(file: BinaryIO) -> None:
    """Close and remove a file of `open_temporary`."""
    with suppress(OSError):  # what did not fit on the disk is thrown away with the rest
        file.close()
    Path(file.name).unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the unlocked files of `open_temporary`: the process that wrote them was killed."""
    for name in filter(_OURS.fullmatch, os.listdir(folder)):  # noqa: PTH208  # names are all that is wanted
        with suppress(OSError):  # locked, gone by now, or another user's: not ours to remove
            _remove_if_unlocked(folder / name)


def _remove_if_unlocked(path: Path) -> None:
    descriptor = os.open(path, _OPEN)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)


def finish_on_disk(file: BinaryIO) -> None:
    """Write what is in the buffer, and wait until the disk has it."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def refuse_disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a `RefusedError` that names the folder."""
    try:
        yield
    except OSError as error:
        raise make_disk_error(folder, error) from None


def make_disk_error(folder: Path, error: OSError) -> RefusedError:
    """Return the `RefusedError` for an error of the disk, which names the folder."""
    reason = (error.strerror or str(error)).lower()
    return RefusedError(
        f"this cannot be written here: {reason}", place=Place(str(folder)), hint=WRITE_HINTS.get(error.errno or 0)
    )
