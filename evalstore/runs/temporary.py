"""A file on its way: hidden, and held by a lock, so that what a killed process left is known to be nobody's."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

# Rows are some kilobytes: the usual buffer would go to the system for every few of them.
_BUFFER = 1 << 18
# A suffix of our own, because a free lock says nothing about the temporary files of other programs.
_SUFFIX = ".evalstore.tmp"
_OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(_SUFFIX), re.DOTALL)
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_temporary(folder: Path, name: str) -> BinaryIO:
    """Open a new hidden file in `folder`, which no sweep removes until it is closed."""
    while True:
        file = (folder / f".{name}.{secrets.token_hex(4)}{_SUFFIX}").open("xb", buffering=_BUFFER)
        with suppress(OSError):  # a file system without locks: nobody can lock it to sweep it either
            fcntl.flock(file, fcntl.LOCK_EX)
        # A sweep may have come between the two calls before; it cannot any more.
        if os.path.lexists(file.name):
            return file
        file.close()


def discard_temporary(file: BinaryIO) -> None:
    """Close and remove a file of `begin`, wherever it stands by now."""
    with suppress(OSError):  # what did not fit on the disk is thrown away with the rest
        file.close()
    Path(file.name).unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the files of `begin` that nobody holds: whoever wrote them was killed."""
    for name in filter(_OURS.fullmatch, os.listdir(folder)):  # noqa: PTH208  # names are all that is wanted
        with suppress(OSError):  # held, gone by now, or another user's: not ours to remove
            _remove_if_unlocked(folder / name)


def _remove_if_unlocked(path: Path) -> None:
    descriptor = os.open(path, _OPEN)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)
