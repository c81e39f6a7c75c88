"""Reads and replaces single entries of the user's index under git's own lock; leaves the rest of it as it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalstore.errors import ConflictError
from evalstore.store.git import Git

if TYPE_CHECKING:
    from evalstore.store.writing import IndexEntry


_TRIES, _PAUSE = 300, 0.01
_TOKEN = "index.evalstore"


def find_staged_blobs(git: Git, paths: Iterable[str], *, index: Path | None = None) -> dict[str, str]:
    """Return the blobs in the index (or a copy of it) by path, for those of `paths` that are there."""
    env = {"GIT_INDEX_FILE": str(index)} if index else None
    out = git.run("ls-files", "--stage", "--full-name", "-z", env=env).decode("utf-8", "surrogateescape")
    entries = (line.partition("\t")[::2] for line in out.split("\0") if line)
    wanted = set(paths)
    return {path: head.split(" ")[1] for head, path in entries if path in wanted}


def find_unmerged(git: Git) -> str | None:
    """Return the path of a file with a merge conflict; None when there is none."""
    out = git.run("ls-files", "--unmerged", "--full-name", "-z").decode("utf-8", "surrogateescape")
    return out.partition("\0")[0].partition("\t")[2] or None


def has_staged_changes(git: Git) -> bool:
    """Whether the index differs from HEAD."""
    return bool(git.run("diff", "--cached", "--no-ext-diff", "--no-textconv", "--name-only", "-z"))


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


class StagedEntry(NamedTuple):
    """An entry that the index is to get, and the blob that it has now: what somebody has staged since stays."""

    new: IndexEntry
    old: str | None


class IndexCopy(NamedTuple):
    """A copy of the index with new entries, next to it; None where no entry changes.

    `stamp` tells which index it was copied from, by inode, time and size.
    """

    path: Path | None
    stamp: tuple[int, int, int] | None


def copy_index(git: Git, entries: Mapping[str, StagedEntry]) -> IndexCopy:
    """Copy the index with new entries, without a lock; everything else that is staged stays."""
    from shutil import copyfileobj
    from tempfile import TemporaryDirectory

    from evalstore.store.writing import format_index_info

    index, copy = git.directory / "index", git.directory / f"{_TOKEN}.new"
    _make_token(git.directory)  # a killed process leaves a copy that is known by it
    copy.unlink(missing_ok=True)
    status = None
    with suppress(FileNotFoundError), index.open("rb") as old, copy.open("xb") as new:  # "x" follows no link
        status = os.fstat(old.fileno())
        copyfileobj(old, new)
    staged = find_staged_blobs(git, entries, index=copy)
    files = {path: one.new for path, one in entries.items() if staged.get(path) == one.old != one.new.blob}
    if files:
        # Without a working tree git cannot compare files, so that no filter of the repository runs …
        with TemporaryDirectory(prefix="evalstore-") as nowhere:
            command = (f"--work-tree={nowhere}", "update-index", "-z", "--index-info")
            git.run(*command, stdin=format_index_info(files), env={"GIT_INDEX_FILE": str(copy)})
        if status:
            # … and with the old time stamp git still compares the files that it would have compared before.
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    return IndexCopy(copy if files else None, _make_stamp(status) if status else None)


def is_copy_current(git: Git, copy: IndexCopy) -> bool:
    """Whether the index is still the one that was copied."""
    try:
        return _make_stamp((git.directory / "index").stat()) == copy.stamp
    except FileNotFoundError:
        return copy.stamp is None


def place_index(git: Git, copy: IndexCopy, entries: Mapping[str, StagedEntry]) -> None:
    """Replace the index by its copy, under its lock; one that has changed since it was copied is copied again."""
    current = copy if is_copy_current(git, copy) else copy_index(git, entries)
    if current.path:
        current.path.replace(git.directory / "index")


def _make_stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


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
    _make_token(directory)
    for _ in range(_TRIES):
        with suppress(FileExistsError):
            os.link(directory / _TOKEN, directory / "index.lock")
            return
        time.sleep(_PAUSE)
    release_index_lock(directory)
    raise _build_busy_error(directory)


def _make_token(directory: Path) -> None:
    with suppress(FileExistsError):
        (directory / _TOKEN).touch(exist_ok=False)


def _build_busy_error(directory: Path) -> ConflictError:
    lock = directory / "index.lock"
    return ConflictError(
        "the index is locked by another git process",
        hint=f"wait for it (or remove {lock} when there is none), then run the same command again",
    )
