"""The lock for writing to a repository: one writer at a time, for all processes and worktrees."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evalstore.errors import ConflictError, RefusedError
from evalstore.files import describe_error, sweep_below, write_below
from evalstore.own_files import open_lock
from evalstore.store import ArtifactStore
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader

STATE_FOLDER = "evalstore"
LOCK = f"{STATE_FOLDER}/lock"
REFLOG_REASON = "evalstore bump"  # in the reflogs
_TRIES = 200  # ten seconds: a bump of a few artifacts takes less than one


@dataclass(frozen=True, slots=True)
class LockedRepository:
    """A repository whose lock is held.

    It has its git, the top of the working tree, and the reader of its objects. `git` passes the
    lock on to its child processes. `signature` has git's GIT_AUTHOR_* and GIT_COMMITTER_*
    variables.
    """

    git: Git
    top: Path
    objects: ObjectReader
    hex_digits: int
    signature: Mapping[str, str]

    @property
    def journal_name(self) -> str:
        """The journal of this working tree, relative to the common git directory."""
        return find_journal_name(self.git)


def find_journal_name(git: Git) -> str:
    """Return where the bumps of a working tree keep their journal.

    The path is relative to the common git directory.
    """
    own = git.directory.name
    return (
        f"{STATE_FOLDER}/journal.json"
        if git.directory == git.common
        else f"{STATE_FOLDER}/journal.{own}.json"
    )


@contextmanager
def open_leftover_journal(git: Git) -> Iterator[tuple[Path, str] | None]:
    """Open the journal that a killed bump of this working tree left.

    It is given as folder and name, or None if there is none.
    """
    common, name = git.common, find_journal_name(git)
    try:
        descriptor = open_lock(common, LOCK, make=False)
    except OSError:  # there was never a bump here
        yield None
        return
    try:
        # A running bump holds the lock: its journal is not a leftover, and this fails.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if (common / name).exists():
                yield common, name
                return
        yield None
    finally:
        os.close(descriptor)


@contextmanager
def lock_repository(
    store: ArtifactStore, signature: Mapping[str, str]
) -> Iterator[LockedRepository]:
    """Hold the repository's lock.

    Raises `ConflictError` if another bump does not release it within ten seconds.
    """
    top = store.repository.top
    if top is None:
        raise RefusedError(
            "a bare repository has no working files to release", hint="run it in a clone"
        )
    try:
        descriptor = open_lock(store.git.common, LOCK, make=True)
    except OSError as error:
        hint = f"check the permissions of {store.git.common}"
        raise RefusedError(
            f"the repository cannot be written: {describe_error(error)}", hint=hint
        ) from None
    try:
        _acquire_lock(descriptor)
        # git's children inherit the lock: after a kill it stays held until the last git that may
        # still write is gone.
        git = store.git._replace(inherited_fds=(descriptor,), timeout=600.0)
        yield LockedRepository(git, top, store.objects, store.repository.hex_digits, signature)
    finally:
        os.close(descriptor)


def write_locked_file(root: Path, path: str, data: bytes) -> None:
    """Write a file of a store whose repository is locked."""
    # Only a killed process can have left a temporary file: nobody else writes while the repository
    # is locked.
    sweep_below(root, path)
    write_below(root, path, data)


def _acquire_lock(descriptor: int) -> None:
    # flock(2): the kernel frees the lock when its last holder dies, so there is no stale lock to
    # remove.
    for _ in range(_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.05)
    raise ConflictError(
        "another bump is running in this repository",
        hint="wait until it is done, then run this one again",
    )
