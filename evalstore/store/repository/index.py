"""Reads and replaces single entries of the user's index under git's own lock; the rest stays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import ConflictError
from evalstore.store.repository.config import has_merge_driver
from evalstore.store.repository.git import NAME_ENCODING, Git
from evalstore.store.repository.trees import TreeEntry

_TRIES, _PAUSE = 300, 0.01
_TOKEN = "index.evalstore"
# A file in the git directory -> what is going on while it exists, and the git command that aborts
# it.
_UNFINISHED = {
    "MERGE_HEAD": ("a merge", "git merge --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --abort"),
    "REVERT_HEAD": ("a revert", "git revert --abort"),
    "rebase-merge": ("a rebase", "git rebase --abort"),
    "rebase-apply": ("a rebase", "git rebase --abort"),
    "sequencer": ("a cherry-pick or a revert", "git cherry-pick --abort"),
}


class IndexStamp(NamedTuple):
    """The identity by which one index file is told from another."""

    inode: int
    mtime: int
    size: int


class IndexState(NamedTuple):
    """The content of an index: blobs by path, and a path with a merge conflict (None: none).

    `stamp` identifies that index (None: there is no index yet).
    """

    blobs: Mapping[str, str]
    conflict: str | None
    stamp: IndexStamp | None


def read_index(git: Git, index: Path | None = None) -> IndexState:
    """Return the content of the index, or of a copy of it."""
    # Taken before reading: if somebody interferes, the stamp differs.
    stamp = _find_stamp(index or git.directory / "index")
    env = {"GIT_INDEX_FILE": str(index)} if index else None
    out = git.run("ls-files", "--stage", "--full-name", "-z", env=env).decode(*NAME_ENCODING)
    entries = [
        line.partition("\t")[::2] for line in out.split("\0") if line
    ]  # `<mode> <blob> <stage>`, and the path
    conflict = next((path for head, path in entries if not head.endswith(" 0")), None)
    return IndexState({path: head.split(" ")[1] for head, path in entries}, conflict, stamp)


def has_staged_changes(git: Git) -> bool:
    """Whether the index differs from HEAD."""
    return bool(git.run("diff", "--cached", "--no-ext-diff", "--no-textconv", "--name-only", "-z"))


def find_unfinished(git: Git) -> tuple[str, str] | None:
    """Return what is in progress, such as a merge, and the command that aborts it.

    None if nothing is.
    """
    return next((row for file, row in _UNFINISHED.items() if (git.directory / file).exists()), None)


def describe_abort(git: Git) -> str:
    """Say how to let evalstore make a merge that has conflicts; "" if none is in progress."""
    unfinished = find_unfinished(git)
    if unfinished is None or read_index(git).conflict is None:
        return ""
    _, abort = unfinished
    register = (
        ""
        if has_merge_driver(git)
        else ", else evalstore init --merge-driver, and merge again, now by item"
    )
    return f"{abort}; then evalstore bump --again if your release is unpushed{register}"


def add_abort(git: Git, hint: str | None) -> str:
    """Return the hint for an unreadable file, with how to redo a merge in progress by evalstore."""
    return "; or ".join(words for words in (hint, describe_abort(git)) if words)


@contextmanager
def lock_index(git: Git) -> Iterator[None]:
    """Hold git's lock on the index; `ConflictError` if another process keeps it for three seconds.

    A commit made between the move of a branch and that of the index would remove the branch's new
    files again.
    """
    _acquire_lock(git.directory)
    try:
        yield
    finally:
        release_index_lock(git.directory)


class StagedEntry(NamedTuple):
    """An entry for the index, and its present blob: whatever was staged since then stays."""

    new: TreeEntry
    old: str | None


class IndexCopy(NamedTuple):
    """A copy of the index with new entries, next to it; None if no entry changes.

    `stamp` identifies the index that was copied.
    """

    path: Path | None
    stamp: IndexStamp | None


def copy_index(
    git: Git, entries: Mapping[str, StagedEntry], known: IndexState | None = None
) -> IndexCopy:
    """Copy the index with new entries, without a lock; everything else that is staged stays.

    `known` is the index as it was read a moment ago; it is not read again unless it has changed.
    """
    from shutil import copyfileobj
    from tempfile import TemporaryDirectory

    index, copy = git.directory / "index", git.directory / f"{_TOKEN}.new"
    _make_token(git.directory)  # a killed process leaves a copy, which is recognised by this
    copy.unlink(missing_ok=True)
    status, stamp = None, None
    with (
        suppress(FileNotFoundError),
        index.open("rb") as old,
        copy.open("xb") as new,
    ):  # "x" follows no link
        status = os.fstat(old.fileno())
        stamp = _make_stamp(status)
        copyfileobj(old, new)
    staged = (known if known and known.stamp == stamp else read_index(git, copy)).blobs
    files = {
        path: one.new for path, one in entries.items() if staged.get(path) == one.old != one.new.oid
    }
    if files:
        # Without a working tree git cannot compare files, so no filter of the repository runs …
        with TemporaryDirectory(prefix="evalstore-") as nowhere:
            command = (f"--work-tree={nowhere}", "update-index", "-z", "--index-info")
            git.run(*command, stdin=format_index_info(files), env={"GIT_INDEX_FILE": str(copy)})
        if status:
            # … and with the old time stamp git still compares the files that it would have compared
            # before.
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    return IndexCopy(copy if files else None, stamp)


def is_copy_current(git: Git, copy: IndexCopy) -> bool:
    """Whether the index is still the one that was copied."""
    return _find_stamp(git.directory / "index") == copy.stamp


def place_index(git: Git, copy: IndexCopy, entries: Mapping[str, StagedEntry]) -> None:
    """Replace the index with its copy, under its lock; if it has changed since, copy it again."""
    current = copy if is_copy_current(git, copy) else copy_index(git, entries)
    if current.path:
        current.path.replace(git.directory / "index")


def _find_stamp(index: Path) -> IndexStamp | None:
    try:
        return _make_stamp(index.stat())
    except FileNotFoundError:
        return None


def _make_stamp(status: os.stat_result) -> IndexStamp:
    return IndexStamp(status.st_ino, status.st_mtime_ns, status.st_size)


def wait_for_index(directory: Path) -> None:
    """Wait until no other process locks the index; `ConflictError` after three seconds."""
    for _ in range(_TRIES):
        if not (directory / "index.lock").exists():
            return
        time.sleep(_PAUSE)
    raise _build_busy_error(directory)


def release_index_lock(directory: Path) -> None:
    """Remove the index lock of this process or of a killed evalstore, but nobody else's."""
    token, lock = directory / _TOKEN, directory / "index.lock"
    if not os.path.lexists(token):
        return
    with suppress(FileNotFoundError):
        if token.samefile(lock):
            lock.unlink()
    # The token last: as long as it exists, something may be left.
    for leftover in (f"{_TOKEN}.new", f"{_TOKEN}.new.lock", _TOKEN):
        (directory / leftover).unlink(missing_ok=True)


def _acquire_lock(directory: Path) -> None:
    # The lock is a hard link to a file of ours, so that after a crash anybody can tell whose lock
    # it was.
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


def format_index_info(files: Mapping[str, TreeEntry]) -> bytes:
    """Return the lines that `update-index -z --index-info` reads."""
    return "".join(f"{mode} {blob}\t{path}\0" for path, (mode, blob) in files.items()).encode(
        *NAME_ENCODING
    )
