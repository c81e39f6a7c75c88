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
from evalstore.release.checkout import Checkout
from evalstore.release.journal import FileChange, Journal, write_journal
from evalstore.release.moves import move_lines
from evalstore.release.parts import Part
from evalstore.release.settle import clear_locks, settle
from evalstore.release.site import REASON, Site
from evalstore.release.values import ReleasedVersion
from evalstore.store import ArtifactStore
from evalstore.store.batch import ObjectReader
from evalstore.store.git import CommandError
from evalstore.store.index import find_staged_blobs
from evalstore.store.line_ends import normalize_line_ends, normalize_pieces
from evalstore.store.own import own_repository
from evalstore.store.signing import sign_commit, sign_tags
from evalstore.store.tags import TAG_REFS
from evalstore.store.writing import (
    REGULAR,
    RefUpdate,
    TreeEntry,
    file_modes,
    update_refs,
    write_commit,
    write_objects,
    write_tags,
    write_tree,
)

# What git says of a ref that is not as it was -> what has happened.
_CONFLICTS = {
    "reference already exists": "one of the tags is there already",
    "but expected": "the branch moved while it was bumped",
    "unable to resolve reference": "the branch is gone",
}
# To git a tag is a file: below it there can be no other.
_CROSSED = re.compile(r"'refs/tags/([^']+)' exists; cannot create 'refs/tags/([^']+)'")


class Words(NamedTuple):
    """The messages of a commit, and of its tags by name; and whether they are signed."""

    commit: str
    tags: Mapping[str, str]
    sign: bool


def prepare(site: Site, store: ArtifactStore, checkout: Checkout, parts: Sequence[Part], words: Words) -> Journal:
    """Write the objects of a release, which nothing refers to yet, and return what remains to be done."""
    paths = [store.prefix + part.path for part in parts]
    modes = file_modes(site.git, checkout.tip, paths)
    worked = _write(site, store, parts)
    blobs = _cleaned(site, worked, parts)
    files = {path: TreeEntry(modes.get(path, REGULAR), blob) for path, blob in zip(paths, blobs, strict=True)}
    tree = write_tree(site.git, checkout.tip, files)
    commit, made = _worded(site, tree, [checkout.tip] if checkout.tip else [], words)
    held = find_staged_blobs(site.git, paths)
    changes = tuple(
        FileChange(path, files[path].mode, files[path].blob, part.before, held.get(path), on_disk)
        for path, part, on_disk in zip(paths, parts, worked, strict=True)
    )
    return Journal(checkout.branch, checkout.tip, commit, {TAG_REFS + name: oid for name, oid in made.items()}, changes, ())


def _worded(site: Site, tree: str, parents: Sequence[str], words: Words) -> tuple[str, Mapping[str, str]]:
    if not words.sign:
        commit = write_commit(site.git, tree, parents, message=words.commit, signature=site.signature)
        return commit, write_tags(site.git, commit, words.tags) if words.tags else {}
    with own_repository(site.git, site.hex_digits) as own:
        commit = sign_commit(own, tree, parents, message=words.commit, signature=site.signature)
        return commit, sign_tags(own, commit, words.tags)


def publish(site: Site, journal: Journal, released: Sequence[ReleasedVersion]) -> None:
    """Move the branch and make the tags, together; `ConflictError` when one of them is not as it was."""
    journal = replace(journal, released=tuple(released))
    write_journal(site.common, site.journal, journal)
    tags = [RefUpdate(name, oid, None) for name, oid in journal.tags.items()]
    # Tags first: should the transaction be torn, a tag without its branch is what `settle` recognises and mends.
    updates = [*tags, RefUpdate(journal.branch, journal.commit, journal.old)]
    failure = None
    try:
        update_refs(site.git, updates, reason=REASON, signature=site.signature)
    except CommandError as error:
        failure = error
        if error.status < 0:  # git was killed, and could not remove its locks
            clear_locks(site, journal, site.common / site.journal)
    if not settle(site, journal):
        raise _conflict(failure) from None


def _conflict(failure: CommandError | None) -> Exception:
    said = failure.stderr if failure else "but expected"
    if crossed := _CROSSED.search(said):
        there, wanted = crossed.groups()
        hint = f"give that one another name (git tag <new> {there}; git tag -d {there}), then run the same bump again"
        return RefusedError(f"git keeps no tag {wanted} beside the tag {there}", hint=hint)
    what = next((what for words, what in _CONFLICTS.items() if words in said), None)
    if what is None and failure:
        return failure
    return ConflictError(f"nothing was released: {what}", hint="run the same bump again")


def _write(site: Site, store: ArtifactStore, parts: Sequence[Part]) -> list[str]:
    with ExitStack() as stack:
        contents = [
            part.content if part.content is not None else stack.enter_context(_opened(store.root or site.top, part))
            for part in parts
        ]
        return write_objects(site.git, "blob", contents)


def _cleaned(site: Site, worked: Sequence[str], parts: Sequence[Part]) -> list[str]:
    """Write what git keeps with LF where the working tree has CRLF; return the blobs that are committed."""
    odd = [number for number, part in enumerate(parts) if part.cleaned]
    with ExitStack() as stack:
        contents = [
            normalize_line_ends(content)
            if (content := parts[number].content) is not None
            else stack.enter_context(_cleaned_rows(site, worked[number]))
            for number in odd
        ]
        made = dict(zip(odd, write_objects(site.git, "blob", contents), strict=True))
    return [made.get(number, blob) for number, blob in enumerate(worked)]


@contextmanager
def _cleaned_rows(site: Site, blob: str) -> Iterator[BinaryIO]:
    with TemporaryFile() as file:
        file.writelines(normalize_pieces(ObjectReader(site.git).stream(blob)))
        file.seek(0)
        yield file


@contextmanager
def _opened(root: Path, part: Part) -> Iterator[BinaryIO]:
    with open_below(root, part.path) as file, TemporaryFile() as moved:
        if part.moves:
            moved.writelines(move_lines(file, part.moves))
            moved.seek(0)
        yield moved if part.moves else file
