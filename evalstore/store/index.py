"""Reads and replaces single entries of the user's index under git's own lock; leaves the rest of it as it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evalstore.errors import ConflictError
from evalstore.store.git import Git

if TYPE_CHECKING:
    from evalstore.store.writing import IndexEntry


_TRIES, _PAUSE = 60, 0.05
_TOKEN = "index.evalstore"


def find_staged_blobs(git: Git, paths: Iterable[str]) -> dict[str, str]:
    """Return the blobs in the index by path, for those of `paths` that are there."""
    out = git.run("ls-files", "--stage", "--full-name", "-z").decode("utf-8", "surrogateescape")
    entries = (line.partition("\t")[::2] for line in out.split("\0") if line)
    wanted = set(paths)
    return {path: head.split(" ")[1] for head, path in entries if path in wanted}


def find_unmerged(git: Git) -> str | None:
    """Return the path of a file with a merge conflict; None when there is none."""
    out = git.run("ls-files", "--unmerged", "--full-name", "-z").decode("utf-8", "surrogateescape")
    return out.partition("\0")[0].partition("\t")[2] or None


@contextmanager
def lock_index(git: Git) -> Iterator[None]:
    """Hold git's lock of the index; `ConflictError` when another process does not release it within three seconds.

    Whoever commits between the move of a branch and that of the index would take the branch's new files out again.
    """
    _acquire_lock(git.directory)
    try:
        yield
    finally:
        release_index_lock(git.directory)


def stage_files(git: Git, files: Mapping[str, IndexEntry]) -> None:
    """Replace index entries, under its lock; everything else that is staged stays."""
    from shutil import copyfileobj
    from tempfile import TemporaryDirectory

    from evalstore.store.writing import format_index_info

    index, copy = git.directory / "index", git.directory / f"{_TOKEN}.new"
    stamp = index.stat() if index.exists() else None
    if stamp:
        with index.open("rb") as old, copy.open("xb") as new:  # "x" follows no link
            copyfileobj(old, new)
    # Without a working tree git cannot compare files, so that no filter of the repository runs …
    with TemporaryDirectory(prefix="evalstore-") as nowhere:
        command = (f"--work-tree={nowhere}", "update-index", "-z", "--index-info")
        git.run(*command, stdin=format_index_info(files), env={"GIT_INDEX_FILE": str(copy)})
    if stamp:
        # … and with the old time stamp git still compares the files that it would have compared before.
        os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    copy.replace(index)


def wait_for_index(directory: Path) -> None:
    """Wait until no other process locks the index; `ConflictError` after three seconds."""
    for _ in range(_TRIES):
        if not (directory / "index.lock").exists():
            return
        time.sleep(_PAUSE)
    raise _build_busy_error(directory)


def release_index_lock(directory: Path) -> None:
    """Remove the index lock of this process or of a killed evalstore; the lock of any other process stays."""
    token, lock = directory / _TOKEN, directory / "index.lock"
    if not os.path.lexists(token):
        return
    with suppress(FileNotFoundError):
        if token.samefile(lock):
            lock.unlink()
    # The token last: while it is there, something may be left.
    for leftover in (f"{_TOKEN}.new", f"{_TOKEN}.new.lock", _TOKEN):
        (directory / leftover).unlink(missing_ok=True)


def _acquire_lock(directory: Path) -> None:
    # The lock is a hard link to a file of ours: whoever comes after a crash can tell whose lock it was.
    token, lock = directory / _TOKEN, directory / "index.lock"
    token.touch(exist_ok=False)
    for _ in range(_TRIES):
        with suppress(FileExistsError):
            os.link(token, lock)
            return
        time.sleep(_PAUSE)
    token.unlink()
    raise _build_busy_error(directory)


def _build_busy_error(directory: Path) -> ConflictError:
    lock = directory / "index.lock"
    return ConflictError(
        "the index is locked by another git process",
        hint=f"wait for it (or remove {lock} when there is none), then run the same command again",
    )
