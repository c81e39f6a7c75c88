"""Brings refs, working files and index to where a journal says, or the refs back to where they were.

A bump ends here, and one that was killed is ended here by the next: the one way to finish is used every time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from evalstore.errors import AbsentError, EvalstoreError, LoadError, RefusedError
from evalstore.files import sweep_below, write_below
from evalstore.store.git import Git
from evalstore.store.index import find_staged_blobs, release_index_lock, stage_files
from evalstore.store.object_reader import ObjectReader
from evalstore.store.revisions import find_refs
from evalstore.store.working_files import hash_working_file
from evalstore.store.writing import NAME_ENCODING, IndexEntry, RefUpdate, update_refs
from evalstore.transactions.journal import Journal, ReleasedVersion, read_journal
from evalstore.transactions.locking import REFLOG_REASON, STATE_FOLDER, LockedRepository

_PATIENCE = 1.0  # seconds that a live git may hold a lock on a ref; it holds one for milliseconds


def recover_interrupted(repository: LockedRepository) -> tuple[ReleasedVersion, ...]:
    """Finish or undo what killed bumps left behind; returns what this working tree's one has released."""
    release_index_lock(repository.git.directory)
    sweep_below(repository.common, repository.journal)
    done: tuple[ReleasedVersion, ...] = ()
    for path in sorted((repository.common / STATE_FOLDER).glob("journal*.json")):
        name = f"{STATE_FOLDER}/{path.name}"
        journal = read_journal(repository.common, name)
        remove_stale_locks(repository, journal, path)
        if name == repository.journal:
            done = journal.released if finish_or_undo(repository, journal) else ()
        elif not _finish_or_undo_refs(repository, journal):
            path.unlink()  # of another working tree; what was released there settles its files itself
    return done


def finish_or_undo(repository: LockedRepository, journal: Journal) -> bool:
    """Finish a bump when any of its refs has moved; False when none has, and nothing of it is left."""
    released = _finish_or_undo_refs(repository, journal)
    for change in journal.changes:
        sweep_below(repository.top, change.path)
    if released and repository.git.run_or_none("symbolic-ref", "--quiet", "HEAD") == f"{journal.branch}\n".encode(
        *NAME_ENCODING
    ):
        _update_working_tree(repository, journal)
    remove_stale_locks(
        repository, journal, repository.common / repository.journal
    )  # git leaves one when it cannot remove it
    (repository.common / repository.journal).unlink(missing_ok=True)
    return released


def remove_stale_locks(repository: LockedRepository, journal: Journal, written: Path) -> None:
    """Remove the locks that a killed git left on the journal's refs; none that is older, and none that is alive."""
    began = written.stat().st_mtime_ns
    left = [
        (path, seen)
        for path in _list_lock_paths(repository, journal)
        if (seen := _identify_file(path)) and seen[1] >= began
    ]
    if left:
        time.sleep(_PATIENCE)
    for path, seen in left:
        if _identify_file(path) == seen:
            path.unlink(missing_ok=True)


def _finish_or_undo_refs(repository: LockedRepository, journal: Journal) -> bool:
    now = find_refs(repository.git, journal.refs)
    made = {name: oid for name, oid in journal.tags.items() if now.get(name) == oid}
    tip = now.get(journal.branch)
    arrived = tip is not None and _is_ancestor(repository.git, tip, journal.commit)
    if not made and not arrived:
        return False
    if not arrived and tip != journal.old:
        # The branch has gone elsewhere since: what was tagged is not on it, so it is not released.
        _update_refs(repository, (RefUpdate(name, None, oid) for name, oid in made.items()))
        return False
    missing = [RefUpdate(name, oid, None) for name, oid in journal.tags.items() if name not in now]
    _update_refs(repository, missing if arrived else [*missing, RefUpdate(journal.branch, journal.commit, journal.old)])
    return True


def _update_refs(repository: LockedRepository, updates: Iterable[RefUpdate]) -> None:
    if wanted := list(updates):
        update_refs(repository.git, wanted, reason=REFLOG_REASON, signature=repository.signature)


def _is_ancestor(git: Git, tip: str, commit: str) -> bool:
    return tip == commit or git.run_or_none("merge-base", "--is-ancestor", commit, tip) is not None


def _update_working_tree(repository: LockedRepository, journal: Journal) -> None:
    try:
        _update_files(repository, journal)
        _update_index(repository, journal)
    except (EvalstoreError, OSError) as error:
        raise _make_stuck_error(journal, error) from None


def _make_stuck_error(journal: Journal, error: EvalstoreError | OSError) -> RefusedError:
    reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
    what = f"{journal.released[0].ref} is" if len(journal.released) == 1 else f"{len(journal.released)} versions are"
    return RefusedError(
        f"{what} {'released' if journal.tags else 'committed'}, and the working tree cannot follow: {reason}",
        hint="mend that first, and commit nothing before; the same bump again finishes what this one began",
    )


def _update_files(repository: LockedRepository, journal: Journal) -> None:
    for change in journal.changes:
        blob = change.worked or change.blob
        if blob == change.before:
            continue
        if _find_working_blob(repository, change.path) == change.before:  # else somebody has written there since
            write_below(repository.top, change.path, ObjectReader(repository.git).stream(blob))


def _find_working_blob(repository: LockedRepository, path: str) -> str | None:
    try:
        return hash_working_file(repository.top, path, repository.hex_digits)
    except AbsentError:
        return None
    except LoadError:
        return ""  # what cannot be read is no file of ours


def _update_index(repository: LockedRepository, journal: Journal) -> None:
    now = find_staged_blobs(repository.git, [change.path for change in journal.changes])
    stale = {
        change.path: IndexEntry(change.mode, change.blob)
        for change in journal.changes
        if now.get(change.path) == change.staged != change.blob  # else somebody has staged it since
    }
    if stale:
        stage_files(repository.git, stale)


def _list_lock_paths(repository: LockedRepository, journal: Journal) -> list[Path]:
    names = [*journal.refs, "reftable/tables.list"]
    return [repository.git.directory / "HEAD.lock", *(repository.common / f"{name}.lock" for name in names)]


def _identify_file(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
