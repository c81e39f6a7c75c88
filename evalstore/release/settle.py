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
from evalstore.release.journal import Journal, read_journal
from evalstore.release.site import FOLDER, REASON, Site
from evalstore.release.values import ReleasedVersion
from evalstore.store.batch import ObjectReader
from evalstore.store.blobs import hash_working_file
from evalstore.store.git import Git
from evalstore.store.index import release_index_lock, stage_files, find_staged_blobs
from evalstore.store.writing import NAMES, RefUpdate, TreeEntry, find_refs, update_refs

_PATIENCE = 1.0  # seconds that a live git may hold a lock on a ref; it holds one for milliseconds


def recover(site: Site) -> tuple[ReleasedVersion, ...]:
    """Finish or undo what killed bumps left behind; returns what this working tree's one has released."""
    release_index_lock(site.git.directory)
    sweep_below(site.common, site.journal)
    done: tuple[ReleasedVersion, ...] = ()
    for path in sorted((site.common / FOLDER).glob("journal*.json")):
        name = f"{FOLDER}/{path.name}"
        journal = read_journal(site.common, name)
        clear_locks(site, journal, path)
        if name == site.journal:
            done = journal.released if settle(site, journal) else ()
        elif not _settle_refs(site, journal):
            path.unlink()  # of another working tree; what was released there settles its files itself
    return done


def settle(site: Site, journal: Journal) -> bool:
    """Finish a bump when any of its refs has moved; False when none has, and nothing of it is left."""
    released = _settle_refs(site, journal)
    for change in journal.changes:
        sweep_below(site.top, change.path)
    if released and site.git.ask("symbolic-ref", "--quiet", "HEAD") == f"{journal.branch}\n".encode(*NAMES):
        _settle_tree(site, journal)
    clear_locks(site, journal, site.common / site.journal)  # git leaves one when it cannot remove it
    (site.common / site.journal).unlink(missing_ok=True)
    return released


def clear_locks(site: Site, journal: Journal, written: Path) -> None:
    """Remove the locks that a killed git left on the journal's refs; none that is older, and none that is alive."""
    began = written.stat().st_mtime_ns
    left = [(path, seen) for path in _locks(site, journal) if (seen := _seen(path)) and seen[1] >= began]
    if left:
        time.sleep(_PATIENCE)
    for path, seen in left:
        if _seen(path) == seen:
            path.unlink(missing_ok=True)


def _settle_refs(site: Site, journal: Journal) -> bool:
    now = find_refs(site.git, journal.refs)
    made = {name: oid for name, oid in journal.tags.items() if now.get(name) == oid}
    tip = now.get(journal.branch)
    arrived = tip is not None and _holds(site.git, tip, journal.commit)
    if not made and not arrived:
        return False
    if not arrived and tip != journal.old:
        # The branch has gone elsewhere since: what was tagged is not on it, so it is not released.
        _move(site, (RefUpdate(name, None, oid) for name, oid in made.items()))
        return False
    missing = [RefUpdate(name, oid, None) for name, oid in journal.tags.items() if name not in now]
    _move(site, missing if arrived else [*missing, RefUpdate(journal.branch, journal.commit, journal.old)])
    return True


def _move(site: Site, updates: Iterable[RefUpdate]) -> None:
    if wanted := list(updates):
        update_refs(site.git, wanted, reason=REASON, signature=site.signature)


def _holds(git: Git, tip: str, commit: str) -> bool:
    return tip == commit or git.ask("merge-base", "--is-ancestor", commit, tip) is not None


def _settle_tree(site: Site, journal: Journal) -> None:
    try:
        _settle_files(site, journal)
        _settle_index(site, journal)
    except (EvalstoreError, OSError) as error:
        raise _stuck(journal, error) from None


def _stuck(journal: Journal, error: EvalstoreError | OSError) -> RefusedError:
    reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
    what = f"{journal.released[0].ref} is" if len(journal.released) == 1 else f"{len(journal.released)} versions are"
    return RefusedError(
        f"{what} {'released' if journal.tags else 'committed'}, and the working tree cannot follow: {reason}",
        hint="mend that first, and commit nothing before; the same bump again finishes what this one began",
    )


def _settle_files(site: Site, journal: Journal) -> None:
    for change in journal.changes:
        blob = change.worked or change.blob
        if blob == change.before:
            continue
        if _on_disk(site, change.path) == change.before:  # else somebody has written there since
            write_below(site.top, change.path, ObjectReader(site.git).stream(blob))


def _on_disk(site: Site, path: str) -> str | None:
    try:
        return hash_working_file(site.top, path, site.hex_digits)
    except AbsentError:
        return None
    except LoadError:
        return ""  # what cannot be read is no file of ours


def _settle_index(site: Site, journal: Journal) -> None:
    now = find_staged_blobs(site.git, [change.path for change in journal.changes])
    stale = {
        change.path: TreeEntry(change.mode, change.blob)
        for change in journal.changes
        if now.get(change.path) == change.staged != change.blob  # else somebody has staged it since
    }
    if stale:
        stage_files(site.git, stale)


def _locks(site: Site, journal: Journal) -> list[Path]:
    names = [*journal.refs, "reftable/tables.list"]
    return [site.git.directory / "HEAD.lock", *(site.common / f"{name}.lock" for name in names)]


def _seen(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
