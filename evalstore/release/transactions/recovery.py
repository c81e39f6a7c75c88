"""Finishes what a journal says, or undoes it if no ref has moved.

First come the refs, then the working files, then the index. Every bump ends here, and the next bump
ends a killed one here, so the recovery code runs every time.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from contextlib import suppress

from evalstore.errors import AbsentError, EvalstoreError, GitError, LoadError, RefusedError
from evalstore.files import (
    describe_error,
    list_below,
    place_below,
    remove_below,
    sweep_below,
    write_aside_below,
    write_folders_below,
)
from evalstore.progress import Watch
from evalstore.release.transactions.journal import (
    REMOVED,
    FileChange,
    Journal,
    ReleasedVersion,
    read_journal,
    release_pending,
)
from evalstore.release.transactions.locking import REFLOG_REASON, STATE_FOLDER, LockedRepository
from evalstore.release.transactions.push_record import forget_push
from evalstore.release.transactions.ref_locks import remove_stale_locks
from evalstore.store.repository.disk_sync import can_sync_all, wait_for_disk
from evalstore.store.repository.index import (
    IndexCopy,
    StagedEntry,
    copy_index,
    lock_index,
    place_index,
    release_index_lock,
)
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.packs import release_packs
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.repository.writing import (
    EXECUTABLE_MODE,
    MANY,
    RefUpdate,
    pack_tags,
    update_refs,
)
from evalstore.store.revisions import find_head_ref, find_missing_objects, find_refs, is_ancestor
from evalstore.store.working_files import hash_working_file


def recover_interrupted(repository: LockedRepository) -> tuple[ReleasedVersion, ...]:
    """Finish or undo what killed bumps left behind.

    Returns what the one of this working tree has released.
    """
    # Our own index.lock and half-written journals first: they are in the way, and nothing refers to
    # them.
    release_index_lock(repository.git.directory)
    sweep_below(repository.git.common, repository.journal_name)
    released: tuple[ReleasedVersion, ...] = ()
    forget_push(repository)
    for file in fnmatch.filter(list_below(repository.git.common, STATE_FOLDER), "journal*.json"):
        name = f"{STATE_FOLDER}/{file}"
        journal = read_journal(repository.git.common, name)
        remove_stale_locks(
            repository, [*journal.refs, *journal.pending], repository.git.common / name
        )
        if name == repository.journal_name:
            is_released = finish_or_undo_refs(repository, journal)
            released = journal.released if is_released else ()
            if is_released and find_head_ref(repository.git) == journal.branch:
                _finish_late(repository, journal)
            end_journal(repository, journal, released=is_released)
        # Another working tree of this repository: its refs are shared, and finished or undone here.
        # Its files are written by the next bump there, which needs the journal, unless nothing was
        # released.
        elif not finish_or_undo_refs(repository, journal):
            release_pending(repository, journal)
            remove_below(repository.git.common, name)
    return released


def list_entries(changes: Iterable[FileChange]) -> dict[str, StagedEntry]:
    """Return the entries that the index gets for the files of a bump."""
    entries: dict[str, StagedEntry] = {}
    for change in changes:
        entry = TreeEntry(change.mode, change.blob)
        entries[change.path] = StagedEntry(entry, change.staged)
    return entries


def stage_files(
    repository: LockedRepository, journal: Journal, *, watch: Watch[FileChange] = iter
) -> Sequence[FileChange]:
    """Write the files of a journal aside, and return those that nobody has edited.

    They are next to the files that they will replace. A kill here leaves temporary files, which the
    next bump removes.
    """
    sweep_below(repository.top, *(change.path for change in journal.changes))
    changes = [change for change in journal.changes if _find_new_blob(change) != change.before]
    unedited = [change for change in changes if _is_unedited(repository, change)]
    # Written aside, synced, renamed, and the folders synced; many are synced at once.
    sync_all = len(unedited) >= MANY and can_sync_all()
    written = [change for change in unedited if change.mode != REMOVED]
    repository.objects.expect(_find_new_blob(change) for change in written)
    for change in watch(written):
        pieces = _read_pieces(repository.objects, _find_new_blob(change))
        mode = 0o755 if change.mode == EXECUTABLE_MODE else None
        write_aside_below(repository.top, change.path, pieces, sync=not sync_all, mode=mode)
    if sync_all:
        wait_for_disk(repository.top)
    return unedited


def finish_files(
    repository: LockedRepository, journal: Journal, staged: Sequence[FileChange], index: IndexCopy
) -> None:
    """Bring working files and index up to a journal whose refs have moved.

    The lock on the index is held. `staged` are the files that were written aside. Each step can be
    repeated: killed at any point, the next bump reads the same journal and does the rest.
    """
    # Unless another branch is checked out by now. If killed here, git status shows the remaining
    # files as modified; the next bump writes those that nobody has edited since.
    if find_head_ref(repository.git) != journal.branch:
        return
    try:
        for change in staged:
            if _is_unedited(repository, change):
                place = remove_below if change.mode == REMOVED else place_below
                place(repository.top, change.path)
        place_index(repository.git, index, list_entries(journal.changes))
    except (EvalstoreError, OSError) as error:
        raise _make_stuck_error(journal, error) from None


def end_journal(repository: LockedRepository, journal: Journal, *, released: bool) -> None:
    """Remove what a finished or undone bump has left.

    The journal goes last: as long as it exists, the bump is not over.
    """
    # Many tags are packed, as in a clone: a file for each would slow every git command. If killed
    # here, they are tags all the same, and the remaining locks go next.
    if released and len(journal.tags) >= MANY:
        with suppress(GitError):
            pack_tags(repository.git)
    sweep_below(repository.top, *(change.path for change in journal.changes))
    if released:
        _sync_files(repository, journal)
    # The locks of git's transactions, which git leaves if it cannot remove them: of earlier ones,
    # and of the last.
    written = repository.git.common / repository.journal_name
    remove_stale_locks(repository, [*journal.refs, *journal.pending], written)
    # What keeps its objects from being pruned or repacked. If killed before, the next bump removes
    # it.
    release_pending(repository, journal)
    remove_stale_locks(repository, journal.pending, written)
    release_packs(repository.git.common)
    with suppress(FileNotFoundError):
        remove_below(repository.git.common, repository.journal_name)


def list_tag_updates(journal: Journal) -> list[RefUpdate]:
    """Return the changes of a journal's tags.

    Most tags are created; for `bump --again`, some are replaced or removed.
    """
    names = dict.fromkeys([*journal.tags, *journal.replaced])
    return [RefUpdate(name, journal.tags.get(name), journal.replaced.get(name)) for name in names]


def finish_or_undo_refs(repository: LockedRepository, journal: Journal) -> bool:
    """Return whether the bump is released; its refs are then complete, else all gone."""
    current = find_refs(repository.git, [*journal.refs, *journal.replaced])
    # git may have pruned what no ref held: that can no longer be published.
    lost = (
        set()
        if current == journal.refs
        else find_missing_objects(repository.git, journal.refs.values())
    )
    made = [
        update for update in list_tag_updates(journal) if current.get(update.name) == update.new
    ]
    created = [update for update in made if update.new]
    tip = current.get(journal.branch)
    branch_moved = tip == journal.commit or (
        tip is not None
        and journal.commit not in lost
        and is_ancestor(repository.git, journal.commit, tip)
    )
    if not created and not branch_moved:
        return False
    if not branch_moved and (tip != journal.old or lost):
        # The branch has since moved elsewhere, without this commit: the tags would release what is
        # on no branch.
        _update_refs(
            repository, (RefUpdate(update.name, update.old, update.new) for update in made)
        )
        return False
    # git writes loose refs one by one, so a kill may leave tags without their branch, or without
    # each other.
    unmade = (update for update in list_tag_updates(journal) if update not in made)
    unmoved = (update for update in unmade if current.get(update.name) == update.old)
    missing = [update for update in unmoved if update.new not in lost]
    _update_refs(
        repository,
        missing
        if branch_moved
        else [*missing, RefUpdate(journal.branch, journal.commit, journal.old)],
    )
    return True


def _update_refs(repository: LockedRepository, updates: Iterable[RefUpdate]) -> None:
    if wanted := list(updates):
        update_refs(repository.git, wanted, reason=REFLOG_REASON, signature=repository.signature)


def _finish_late(repository: LockedRepository, journal: Journal) -> None:
    """Do what remained to do for a killed bump whose refs have moved."""
    try:
        staged = stage_files(repository, journal)
        with lock_index(repository.git):
            finish_files(
                repository,
                journal,
                staged,
                copy_index(repository.git, list_entries(journal.changes)),
            )
    except OSError as error:
        raise _make_stuck_error(journal, error) from None


def _make_stuck_error(journal: Journal, error: EvalstoreError | OSError) -> RefusedError:
    reason = describe_error(error) if isinstance(error, OSError) else str(error)
    what = (
        f"{journal.released[0].ref} is"
        if len(journal.released) == 1
        else f"{len(journal.released)} versions are"
    )
    return RefusedError(
        (
            f"{what} {'released' if journal.tags else 'committed'}, but the working tree could "
            f"not be updated: {reason}"
        ),
        hint=(
            "fix that first without committing anything, then run the same bump again: it "
            "finishes this one"
        ),
    )


def _sync_files(repository: LockedRepository, journal: Journal) -> None:
    if len(journal.changes) >= MANY and can_sync_all():
        wait_for_disk(repository.top)
    else:
        with suppress(OSError):  # a folder that is gone again
            write_folders_below(repository.top, *(change.path for change in journal.changes))


def _find_new_blob(change: FileChange) -> str:
    return change.worked or change.blob


def _is_unedited(repository: LockedRepository, change: FileChange) -> bool:
    """Whether a file is as it was when the bump began.

    A file that somebody has edited since is left alone.
    """
    return _find_working_blob(repository, change.path) == change.before


def _read_pieces(objects: ObjectReader, blob: str) -> Iterable[bytes]:
    try:
        return [objects.read(blob).data]
    except LoadError:  # too large to be read as a whole
        return objects.stream(blob)


def _find_working_blob(repository: LockedRepository, path: str) -> str | None:
    try:
        return hash_working_file(repository.top, path, repository.hex_digits)
    except AbsentError:
        return None
    except LoadError:
        return ""  # equals no blob: what cannot be read is not ours to replace
