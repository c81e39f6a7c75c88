"""One release, all or nothing: objects first, then the journal, then every ref in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple

from evalstore.errors import ConflictError, RefusedError
from evalstore.files import open_below
from evalstore.release.commit_files import CommitFile
from evalstore.release.git_state import Checkout
from evalstore.release.pins import move_pins_in_rows
from evalstore.release.step import ReleaseStep
from evalstore.store import ArtifactStore
from evalstore.store.git import CommandError
from evalstore.store.index import find_staged_blobs
from evalstore.store.object_reader import ObjectReader
from evalstore.store.scratch import open_scratch_repository
from evalstore.store.tags import TAG_REFS
from evalstore.store.working_files import normalize_line_ends, normalize_pieces
from evalstore.store.writing import (
    REGULAR_MODE,
    IndexEntry,
    RefUpdate,
    find_file_modes,
    sign_commit,
    sign_tags,
    update_refs,
    write_commit,
    write_objects,
    write_tags,
    write_tree,
)
from evalstore.transactions.journal import FileChange, Journal, ReleasedVersion, write_journal
from evalstore.transactions.locking import REFLOG_REASON, LockedRepository
from evalstore.transactions.recovery import finish_or_undo, remove_stale_locks

# What git says of a ref that is not as it was -> what has happened.
_CONFLICTS = {
    "reference already exists": "one of the tags is there already",
    "but expected": "the branch moved while it was bumped",
    "unable to resolve reference": "the branch is gone",
}
# To git a tag is a file: below it there can be no other.
_CROSSED = re.compile(r"'refs/tags/([^']+)' exists; cannot create 'refs/tags/([^']+)'")


class ReleaseMessages(NamedTuple):
    """The messages of a commit, and of its tags by name; and whether they are signed."""

    commit: str
    tags: Mapping[str, str]
    sign: bool


def write_release_objects(
    repository: LockedRepository,
    store: ArtifactStore,
    checkout: Checkout,
    files: Sequence[CommitFile],
    messages: ReleaseMessages,
) -> Journal:
    """Write the objects of a release, which nothing refers to yet, and return what remains to be done."""
    paths = [store.prefix + file.path for file in files]
    modes = find_file_modes(repository.git, checkout.tip, paths)
    worked = _write_blobs(repository, store, files)
    blobs = _write_lf_blobs(repository, worked, files)
    entries = {path: IndexEntry(modes.get(path, REGULAR_MODE), blob) for path, blob in zip(paths, blobs, strict=True)}
    tree = write_tree(repository.git, checkout.tip, entries)
    commit, made = _write_commit_and_tags(repository, tree, [checkout.tip] if checkout.tip else [], messages)
    held = find_staged_blobs(repository.git, paths)
    changes = tuple(
        FileChange(path, entries[path].mode, entries[path].blob, file.before, held.get(path), on_disk)
        for path, file, on_disk in zip(paths, files, worked, strict=True)
    )
    return Journal(
        checkout.branch, checkout.tip, commit, {TAG_REFS + name: oid for name, oid in made.items()}, changes, ()
    )


def _write_commit_and_tags(
    repository: LockedRepository, tree: str, parents: Sequence[str], messages: ReleaseMessages
) -> tuple[str, Mapping[str, str]]:
    if not messages.sign:
        commit = write_commit(repository.git, tree, parents, message=messages.commit, signature=repository.signature)
        return commit, write_tags(repository.git, commit, messages.tags) if messages.tags else {}
    with open_scratch_repository(repository.git, repository.hex_digits) as own:
        commit = sign_commit(own, tree, parents, message=messages.commit, signature=repository.signature)
        return commit, sign_tags(own, commit, messages.tags)


def publish_release(repository: LockedRepository, journal: Journal, released: Sequence[ReleasedVersion]) -> None:
    """Move the branch and make the tags, together; `ConflictError` when one of them is not as it was."""
    journal = replace(journal, released=tuple(released))
    write_journal(repository.common, repository.journal_name, journal)
    tags = [RefUpdate(name, oid, None) for name, oid in journal.tags.items()]
    # Tags first: should the transaction be torn, a tag without its branch is what `finish_or_undo` recognises and mends.
    updates = [*tags, RefUpdate(journal.branch, journal.commit, journal.old)]
    failure = None
    try:
        update_refs(repository.git, updates, reason=REFLOG_REASON, signature=repository.signature)
    except CommandError as error:
        failure = error
        if error.status < 0:  # git was killed, and could not remove its locks
            remove_stale_locks(repository, journal, repository.common / repository.journal_name)
    if not finish_or_undo(repository, journal):
        raise _explain_failure(failure) from None


def _explain_failure(failure: CommandError | None) -> Exception:
    said = failure.stderr if failure else "but expected"
    if crossed := _CROSSED.search(said):
        there, wanted = crossed.groups()
        hint = f"give that one another name (git tag <new> {there}; git tag -d {there}), then run the same bump again"
        return RefusedError(f"git keeps no tag {wanted} beside the tag {there}", hint=hint)
    what = next((what for messages, what in _CONFLICTS.items() if messages in said), None)
    if what is None and failure:
        return failure
    return ConflictError(f"nothing was released: {what}", hint="run the same bump again")


def _write_blobs(repository: LockedRepository, store: ArtifactStore, files: Sequence[CommitFile]) -> list[str]:
    with ExitStack() as stack:
        contents = [
            file.content
            if file.content is not None
            else stack.enter_context(_open_file(store.root or repository.top, file))
            for file in files
        ]
        return write_objects(repository.git, "blob", contents)


def _write_lf_blobs(repository: LockedRepository, worked: Sequence[str], files: Sequence[CommitFile]) -> list[str]:
    """Write what git keeps with LF where the working tree has CRLF; return the blobs that are committed."""
    odd = [number for number, file in enumerate(files) if file.to_lf]
    with ExitStack() as stack:
        contents = [
            normalize_line_ends(content)
            if (content := files[number].content) is not None
            else stack.enter_context(_open_lf_rows(repository, worked[number]))
            for number in odd
        ]
        made = dict(zip(odd, write_objects(repository.git, "blob", contents), strict=True))
    return [made.get(number, blob) for number, blob in enumerate(worked)]


@contextmanager
def _open_lf_rows(repository: LockedRepository, blob: str) -> Iterator[BinaryIO]:
    with TemporaryFile() as file:
        file.writelines(normalize_pieces(ObjectReader(repository.git).stream(blob)))
        file.seek(0)
        yield file


@contextmanager
def _open_file(root: Path, file: CommitFile) -> Iterator[BinaryIO]:
    with open_below(root, file.path) as source, TemporaryFile() as moved:
        if file.moves:
            moved.writelines(move_pins_in_rows(source, file.moves))
            moved.seek(0)
        yield moved if file.moves else source


def format_commit_message(steps: Sequence[ReleaseStep], text: str | None, *, tagged: bool) -> str:
    """Return the commit's message: what the user said or a summary, and a line an artifact where there are several."""
    verb = "Release" if tagged else "Set the version of"
    summary = f"{verb} {steps[0].ref}" if len(steps) == 1 else f"{verb} {len(steps)} artifacts"
    lines = "".join(f"\n- {step.words}" for step in steps) if len(steps) > 1 else ""
    return (text or summary) + (f"\n{lines}" if lines else "") + "\n"


def format_tag_message(step: ReleaseStep, text: str | None) -> str:
    """Return a tag's message: one line, then the trailers that `log` and `verify` read."""
    summary = text.partition("\n")[0] if text else step.words
    trailers = {
        "Evalstore-Digest": step.artifact.digest,
        "Evalstore-Bump": str(step.bump),
        "Evalstore-Previous": step.previous or "none",
    }
    lines = "".join(f"{key}: {value}\n" for key, value in trailers.items())
    return f"{summary}\n\n{lines}"
