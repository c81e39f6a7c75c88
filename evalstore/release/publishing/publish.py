"""What a bump writes, in order; a kill leaves no release, or one that the next bump finishes.

1. Objects: blobs (`write_release_files`), trees, the commit, the tags; and the journal: what is to
   be done, with refs of our own, which hold the objects until the others do (`_write_journal`).
2. Next to the working files and the index, what will replace them (`stage_files`, `copy_index`).
3. The refs: tags and branch, in one transaction of git; then working files and index, by renaming
   (`_try_to_publish`). This alone happens under git's lock of the index.
4. What all that has left, and the journal (`end_journal`).

All of it happens under the lock of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from evalstore.errors import ConflictError, EvalstoreError, RefusedError
from evalstore.places import SETTINGS_FILE
from evalstore.release.changes.asked_changes import TRAILER
from evalstore.release.publishing.commit_files import CommitFile, write_blobs
from evalstore.release.publishing.step import BumpOptions, ReleaseStep
from evalstore.release.transactions.checkout import Checkout
from evalstore.release.transactions.journal import (
    FileChange,
    Journal,
    ReleasedVersion,
    hold_pending,
    write_journal,
)
from evalstore.release.transactions.locking import REFLOG_REASON, LockedRepository
from evalstore.release.transactions.recovery import (
    end_journal,
    finish_files,
    finish_or_undo_refs,
    list_entries,
    list_tag_updates,
    stage_files,
)
from evalstore.release.transactions.ref_locks import remove_stale_locks
from evalstore.store import ArtifactStore
from evalstore.store.repository.git import CommandError
from evalstore.store.repository.index import (
    IndexCopy,
    IndexState,
    copy_index,
    is_copy_current,
    lock_index,
    release_index_lock,
)
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import find_entry
from evalstore.store.repository.scratch import open_scratch_repository
from evalstore.store.repository.signing import sign_commit, sign_tags
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.repository.writing import (
    REGULAR_MODE,
    RefUpdate,
    update_refs,
    write_commit,
    write_on_tip,
    write_tags,
    write_tree,
)
from evalstore.store.revisions import find_refs
from evalstore.store.signers import open_signature_check
from evalstore.store.tags import TAG_REFS

# For a release whose branch moves meanwhile; the tries in which others can still commit.
_TRIES, _FREE_TRIES = (
    10,
    9,
)
# What git says about a ref that is not as it was -> what happened.
_CONFLICTS = {
    "reference already exists": "one of the tags already exists",
    "but expected": "the branch moved during the bump",
    "unable to resolve reference": "the branch was deleted",
}
# To git a tag is a file: there can be no other tag below it.
_CROSSED = re.compile(r"'refs/tags/([^']+)' exists; cannot create 'refs/tags/([^']+)'")


class ReleaseMessages(NamedTuple):
    """The message of the commit, those of its tags by name, and who may sign them.

    Without `signers` (None) anybody may.
    """

    commit: str
    tags: Mapping[str, str]
    signers: bytes | None


def format_commit_message(steps: Sequence[ReleaseStep], text: str | None, *, tagged: bool) -> str:
    """Return the commit's message: the user's text or a summary.

    If there are several artifacts, each adds a line.
    """
    verb = "Release" if tagged else "Set the version of"
    summary = f"{verb} {steps[0].ref}" if len(steps) == 1 else f"{verb} {len(steps)} artifacts"
    lines = "".join(f"\n- {step.summary}" for step in steps) if len(steps) > 1 else ""
    return (text or summary) + (f"\n{lines}" if lines else "") + "\n"


def format_tag_message(step: ReleaseStep, text: str | None) -> str:
    """Return a tag's message: one line, then the trailers that `log` and `verify` read."""
    summary = text.partition("\n")[0] if text else step.summary
    trailers = {
        "Evalstore-Digest": step.artifact.digest,
        "Evalstore-Bump": str(step.bump),
        "Evalstore-Previous": step.previous or "none",
    }
    asked = [(TRAILER, step.asked)] if step.asked else []
    lines = "".join(
        f"{key}: {value}\n" for key, value in (*trailers.items(), *step.adjustments, *asked)
    )
    return f"{summary}\n\n{lines}"


@dataclass(frozen=True, slots=True)
class ReleaseDraft:
    """A release: the changes of its files, and what the branch has at their paths (`committed`).

    git already has the files, except `contents` (by their blobs), which are written with the trees.
    The commit can be built on any tip of the branch that has the same content there.
    """

    branch: str
    changes: tuple[FileChange, ...]
    contents: Mapping[str, bytes]
    committed: Mapping[str, TreeEntry]
    watched: tuple[str, ...]
    messages: ReleaseMessages
    index: IndexState


def write_release_files(
    repository: LockedRepository,
    store: ArtifactStore,
    checkout: Checkout,
    files: Sequence[CommitFile],
    messages: ReleaseMessages,
) -> ReleaseDraft:
    """Write those blobs of a release that may be large, and return its other parts.

    A kill here leaves objects that nothing refers to, which `git gc` removes one day; nobody has to
    finish anything.
    """
    paths = [store.prefix + file.path for file in files]
    watched = (*paths, store.prefix + SETTINGS_FILE)
    committed = _find_entries(store.objects, checkout.tip, watched)
    blobs, contents = write_blobs(repository, store, files)
    changes: list[FileChange] = []
    for path, (kept, worked), file in zip(paths, blobs, files, strict=True):
        mode = committed[path].mode if path in committed else REGULAR_MODE
        staged = checkout.index.blobs.get(path)
        changes.append(FileChange(path, mode, kept, file.before, staged, worked))
    return ReleaseDraft(
        checkout.branch, tuple(changes), contents, committed, watched, messages, checkout.index
    )


class ReleaseContext(NamedTuple):
    """Where a release is written, what it releases, and which options were given."""

    repository: LockedRepository
    versions: Sequence[ReleasedVersion]
    options: BumpOptions


def publish_release(release: ReleaseContext, draft: ReleaseDraft, tip: str | None) -> Journal:
    """Commit a release on `tip`, make its tags and move the branch, together.

    Raises `ConflictError` if one of them moved. The index is locked for as long as branch, files
    and index differ from each other: anybody else who commits meets that lock for milliseconds. If
    somebody commits all the time, the last tries lock it from the start.
    """
    # A signature may take a touch of a key: it is requested twice at most.
    repository, free = release.repository, 1 if release.options.sign else _FREE_TRIES
    index_entries = list_entries(draft.changes)
    journal, staged, attempt = None, None, _Attempt(is_released=False)
    with ExitStack() as locks:
        try:
            for number in range(_TRIES):
                if number == free:
                    locks.enter_context(lock_index(repository.git))
                # The index before the branch: whoever commits between the two has changed the
                # index, too.
                index = copy_index(repository.git, index_entries, draft.index)
                if number:
                    tip = _follow_tip(release, draft, tip, attempt.failure)
                if journal is None or journal.old != tip:
                    journal = _write_journal(release, draft, tip, journal)
                if staged is None:
                    # If killed before it, git may prune the objects one day, and the journal is
                    # dropped then.
                    hold_pending(repository, journal)
                    staged = stage_files(repository, journal, watch=release.options.watch_writing)
                attempt = _try_to_publish(
                    repository, journal, staged, index, is_index_locked=number >= free
                )
                if attempt.is_released:
                    break
            else:
                raise _explain_failure(attempt.failure)
        except (EvalstoreError, OSError):
            if journal:
                _give_up(repository, journal)
            raise
    end_journal(repository, journal, released=True)
    return journal


def publish_once(repository: LockedRepository, journal: Journal) -> None:
    """Do what a journal says, in one try; raises `ConflictError` if something has moved."""
    index = copy_index(repository.git, list_entries(journal.changes))
    write_journal(repository.git.common, repository.journal_name, journal)
    try:
        with lock_index(repository.git):
            hold_pending(repository, journal)
            staged = stage_files(repository, journal)
            attempt = _try_to_publish(repository, journal, staged, index, is_index_locked=True)
        if not attempt.is_released:
            raise _explain_failure(attempt.failure)
    except (EvalstoreError, OSError):
        _give_up(repository, journal)
        raise
    end_journal(repository, journal, released=True)


class _Attempt(NamedTuple):
    """The outcome of one try: released, or git's answer.

    `failure` is None if somebody else was using the index.
    """

    is_released: bool
    failure: CommandError | None = None


def _write_journal(
    release: ReleaseContext, draft: ReleaseDraft, tip: str | None, last: Journal | None
) -> Journal:
    """Write a release's commit and tags on `tip`, then what remains to do.

    `last` is the journal of a try on another tip. A kill before the journal is as in
    `write_release_files`. A kill while it is written leaves a temporary file, which the next bump
    removes. A kill after it leaves a journal none of whose refs has moved, which the next bump
    removes, too; nothing was released.
    """
    repository = release.repository
    # The tree is that of the branch with these files replaced: nothing else that is edited or
    # staged gets in.
    entries = {change.path: TreeEntry(change.mode, change.blob) for change in draft.changes}
    if last and tip and not release.options.sign:
        commit, refs = write_on_tip(
            repository.git, repository.objects, last.commit, tip, entries, last.tags
        )
    else:
        tree = write_tree(repository.git, repository.objects, tip, entries, draft.contents.values())
        parents = [tip] if tip else []
        commit, tags = _write_commit_and_tags(release, tree, parents, draft.messages)
        refs = {TAG_REFS + name: oid for name, oid in tags.items()}
    released = tuple(replace(version, commit=commit) for version in release.versions)
    journal = Journal(draft.branch, tip, commit, refs, draft.changes, released)
    write_journal(repository.git.common, repository.journal_name, journal)
    return journal


def _try_to_publish(
    repository: LockedRepository,
    journal: Journal,
    staged: Sequence[FileChange],
    index: IndexCopy,
    *,
    is_index_locked: bool,
) -> _Attempt:
    with nullcontext() if is_index_locked else lock_index(repository.git):
        # Somebody is staging or committing right now: catching up under the lock would lock them
        # out for longer.
        if not is_index_locked and not is_copy_current(repository.git, index):
            return _Attempt(is_released=False)
        # Tags first: loose refs are renamed one by one. Killed between them: some tags, and a
        # branch that has not moved. The next bump adds the missing tags and moves the branch; if
        # the branch has moved elsewhere by then, it removes the tags again. Killed after them:
        # released; the next bump brings files and index up to date.
        failure = _move_refs(
            repository,
            journal,
            [*list_tag_updates(journal), RefUpdate(journal.branch, journal.commit, journal.old)],
        )
        # If git answered with an error, the refs show what happened. From here on a kill loses
        # nothing.
        is_released = failure is None or finish_or_undo_refs(repository, journal)
        if is_released:
            finish_files(repository, journal, staged, index)
    return _Attempt(is_released, failure)


def _follow_tip(
    release: ReleaseContext, draft: ReleaseDraft, tip: str | None, failure: CommandError | None
) -> str | None:
    """Return the tip that a branch has now, if it has the same files.

    Raises if the last try failed for any other reason.
    """
    now = find_refs(release.repository.git, [draft.branch]).get(draft.branch)
    if now == tip and failure is None:
        return tip
    if (
        now in {None, tip}
        or _find_entries(release.repository.objects, now, draft.watched) != draft.committed
    ):
        raise _explain_failure(failure) from None
    return now


def _find_entries(
    objects: ObjectReader, commit: str | None, paths: Iterable[str]
) -> dict[str, TreeEntry]:
    """Return the modes and blobs of those files at a commit that exist, by path."""
    found = ((path, find_entry(objects, commit, path)) for path in paths) if commit else ()
    return {path: entry for path, entry in found if entry}


def _give_up(repository: LockedRepository, journal: Journal) -> None:
    """Undo a failed bump, unless it is released.

    What cannot be undone now, the next bump undoes.
    """
    with suppress(EvalstoreError, OSError):
        release_index_lock(repository.git.directory)
        if not finish_or_undo_refs(repository, journal):
            end_journal(repository, journal, released=False)


def _write_commit_and_tags(
    release: ReleaseContext, tree: str, parents: Sequence[str], messages: ReleaseMessages
) -> tuple[str, Mapping[str, str]]:
    repository, options = release.repository, release.options
    if not options.sign:
        commit = write_commit(
            repository.git, tree, parents, message=messages.commit, signature=repository.signature
        )
        return commit, write_tags(repository.git, repository.objects, commit, messages.tags)
    with open_scratch_repository(repository.git, repository.hex_digits) as scratch:
        commit = sign_commit(
            scratch, tree, parents, message=messages.commit, signature=repository.signature
        )
        tags = sign_tags(
            scratch, repository.objects, commit, messages.tags, watch=options.watch_signing
        )
    if messages.signers is not None:
        _check_signer(repository, tags, messages.signers)
    return commit, tags


def _check_signer(repository: LockedRepository, tags: Mapping[str, str], signers: bytes) -> None:
    """Refuse tags that `verify` would not accept, before anybody sees them."""
    with open_signature_check(repository.git, repository.hex_digits, signers) as find_flaw:
        # All are signed by one key.
        for name, oid in list(tags.items())[:1]:
            if flaw := find_flaw(oid, repository.git.run("cat-file", "tag", oid), None):
                hint = (
                    "ask a listed signer to release it, or to add you to the file that "
                    "evalstore.yaml names"
                )
                raise RefusedError(
                    f"{name} would not be signed by an allowed signer: {flaw}", hint=hint
                )


def _move_refs(
    repository: LockedRepository, journal: Journal, updates: Iterable[RefUpdate]
) -> CommandError | None:
    try:
        update_refs(repository.git, updates, reason=REFLOG_REASON, signature=repository.signature)
    except CommandError as error:
        # git itself was killed while this process lives: it could not remove its locks, which would
        # block us.
        if error.status < 0:
            remove_stale_locks(
                repository, journal.refs, repository.git.common / repository.journal_name
            )
        return error
    return None


def _explain_failure(failure: CommandError | None) -> Exception:
    stderr = failure.stderr if failure else "but expected"
    if crossed := _CROSSED.search(stderr):
        there, wanted = crossed.groups()
        hint = (
            f"rename that tag (git tag <new> {there}; git tag -d {there}), then run the same bump "
            "again"
        )
        return RefusedError(f"git cannot have both a tag {wanted} and a tag {there}", hint=hint)
    cause = next((cause for words, cause in _CONFLICTS.items() if words in stderr), None)
    if cause is None and failure:
        return failure
    return ConflictError(f"nothing was released: {cause}", hint="run the same bump again")
