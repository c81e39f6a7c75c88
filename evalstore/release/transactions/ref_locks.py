"""Removes the locks that a killed git left on refs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from evalstore.release.transactions.locking import LockedRepository


def remove_stale_locks(repository: LockedRepository, refs: Iterable[str], written: Path) -> None:
    """Remove the locks that a killed git left on refs.

    They are younger than the note about them, and not in use. `written` is the file that notes the
    refs, written before git was started. git holds a lock for milliseconds: one that is the same
    file with the same time a second later belongs to nobody.
    """
    note_time = written.stat().st_mtime_ns
    paths = _list_lock_paths(repository, refs)
    found = zip(paths, map(_identify_file, paths), strict=True)
    suspects = [(path, one) for path, one in found if one and one[1] >= note_time]
    if suspects:
        time.sleep(1.0)  # a live git may hold a lock on a ref for milliseconds
    for path, identity in suspects:
        if _identify_file(path) == identity:
            path.unlink(missing_ok=True)


def _list_lock_paths(repository: LockedRepository, refs: Iterable[str]) -> list[Path]:
    names = [*refs, "packed-refs", "reftable/tables.list"]
    return [
        repository.git.directory / "HEAD.lock",
        *(repository.git.common / f"{name}.lock" for name in names),
    ]


def _identify_file(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
