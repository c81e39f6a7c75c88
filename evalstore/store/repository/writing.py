"""Writes objects, trees, commits, tags and refs with git's plumbing, without filters or hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalstore.errors import GitError
from evalstore.store.repository.disk_sync import can_sync_all, wait_for_disk
from evalstore.store.repository.git import NAME_ENCODING, TIMEOUT, CommandError, Git
from evalstore.store.repository.object_reader import ObjectReader, compute_object_id
from evalstore.store.repository.objects import find_folder, read_object
from evalstore.store.repository.packs import build_pack, write_packed_objects
from evalstore.store.repository.tree_editor import TreeEditor
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.repository.watchdog import read_output, wait_for_output

# Files from which on one sync of everything is cheaper; it also writes what other programs have not
# synced yet.
MANY = 100
REGULAR_MODE, EXECUTABLE_MODE = "100644", "100755"
_BATCH_SIZE = 1000  # objects per process: each is synced to disk, and a command has a time limit


class RefUpdate(NamedTuple):
    """The change of a ref from `old` to `new`; None if the ref does not exist."""

    name: str
    new: str | None
    old: str | None


def write_objects(git: Git, objects: Iterable[tuple[str, bytes]], *, hex_digits: int) -> list[str]:
    """Write objects, each with its type, and return their ids, of `hex_digits`, in order.

    Many of one type become a pack; all others are written by one process, and stay loose.
    """
    written = list(objects)
    counts = Counter(type_ for type_, _ in written)
    for type_ in (type_ for type_, count in counts.items() if count >= MANY):
        write_packed_objects(
            git, type_, [data for other, data in written if other == type_], hex_digits=hex_digits
        )
    if few := [(type_, data) for type_, data in written if counts[type_] < MANY]:
        git.run("unpack-objects", "-q", stdin=build_pack(few, hex_digits))
    return [compute_object_id(type_, data, hex_digits) for type_, data in written]


def write_files(git: Git, files: Sequence[BinaryIO]) -> list[str]:
    """Write blobs of any number and size, and return their ids in order."""
    blobs: list[str] = []
    for start in range(0, len(files), _BATCH_SIZE):
        blobs += _write_batch(git, files[start : start + _BATCH_SIZE])
    return blobs


def write_tree(
    git: Git,
    objects: ObjectReader,
    commit: str | None,
    files: Mapping[str, TreeEntry | None],
    contents: Iterable[bytes],
) -> str:
    """Write the tree of `commit` (None: empty) with `files` added, replaced or removed (None).

    `contents` are those of the files that git does not have yet.
    """
    root, trees = _edit_tree(objects, commit, files)
    written = [*(("blob", data) for data in contents), *(("tree", data) for data in trees)]
    write_objects(git, written, hex_digits=len(root))
    return root


def _edit_tree(
    objects: ObjectReader, commit: str | None, files: Mapping[str, TreeEntry | None]
) -> tuple[str, list[bytes]]:
    # Only the folders on the way are read: a partial clone may lack the rest, and no index is
    # built.
    digits = len(commit) if commit else next(len(entry.oid) for entry in files.values() if entry)
    editor = TreeEditor(
        lambda oid: read_object(objects, oid, "tree"),
        lambda data: compute_object_id("tree", data, digits),
    )
    root = editor.edit(find_folder(objects, commit, "") if commit else None, files)
    if root is None:
        raise GitError("the commit would be empty")
    return root, list(editor.new.values())


def write_on_tip(  # noqa: PLR0913, PLR0917  # git, and what is written where
    git: Git,
    objects: ObjectReader,
    commit: str,
    tip: str,
    files: Mapping[str, TreeEntry],
    tags: Mapping[str, str],
) -> tuple[str, dict[str, str]]:
    """Write an unsigned commit and its tags again on another tip; return both, tags by name."""
    root, trees = _edit_tree(objects, tip, files)
    head, _, message = read_object(objects, commit, "commit").partition(b"\n\n")
    people = [line for line in head.split(b"\n") if not line.startswith((b"tree ", b"parent "))]
    lines = [f"tree {root}".encode(), f"parent {tip}".encode(), *people]
    new = b"\n".join(lines) + b"\n\n" + message
    moved = compute_object_id("commit", new, len(tip))
    texts: dict[str, bytes] = {}
    for name, oid in tags.items():
        rest = read_object(objects, oid, "tag").partition(b"\n")[2]
        texts[name] = b"object %b\n%b" % (moved.encode(), rest)
    written = [
        *(("tree", data) for data in trees),
        ("commit", new),
        *(("tag", text) for text in texts.values()),
    ]
    write_objects(git, written, hex_digits=len(tip))
    return moved, {name: compute_object_id("tag", text, len(tip)) for name, text in texts.items()}


def write_commit(
    git: Git, tree: str, parents: Iterable[str], *, message: str, signature: Mapping[str, str]
) -> str:
    """Write a commit and return its id.

    `signature` has git's GIT_AUTHOR_* and GIT_COMMITTER_* variables.
    """
    parent_args = (word for parent in parents for word in ("-p", parent))
    return (
        git.run("commit-tree", tree, *parent_args, stdin=message.encode(), env=signature)
        .decode()
        .strip()
    )


def write_tags(
    git: Git, objects: ObjectReader, commit: str, messages: Mapping[str, str]
) -> dict[str, str]:
    """Write annotated tag objects for a commit; return them by name.

    The tagger is the commit's committer, to the second.
    """
    tagger = read_committer(objects, commit)
    head = b"object %s\ntype commit\ntag %s\ntagger %s\n\n%s"
    tags: list[tuple[str, bytes]] = []
    for name, message in messages.items():
        text = head % (commit.encode(), name.encode(), tagger, message.encode())
        tags.append(("tag", text))
    oids = write_objects(git, tags, hex_digits=len(commit))
    return dict(zip(messages, oids, strict=True))


def read_committer(objects: ObjectReader, commit: str) -> bytes:
    """Return the committer and time of a commit, as git writes them."""
    head = read_object(objects, commit, "commit").partition(b"\n\n")[0]
    key = b"committer "
    return next(line.removeprefix(key) for line in head.split(b"\n") if line.startswith(key))


def update_refs(
    git: Git, updates: Iterable[RefUpdate], *, reason: str, signature: Mapping[str, str]
) -> None:
    """Update refs in one transaction, which fails as a whole if a ref lacks its old value."""
    lines = ["start", *(_format_update(update) for update in updates), "prepare"]
    prepared = ("\n".join(lines) + "\n").encode(*NAME_ENCODING)
    if len(lines) < MANY or not can_sync_all():
        git.run("update-ref", "-m", reason, "--stdin", stdin=prepared + b"commit\n", env=signature)
    else:
        _update_many_refs(git, prepared, reason, signature)


def pack_tags(git: Git) -> None:
    """Move tags from one file each to the single file of packed refs."""
    git.run("pack-refs")


def _write_batch(git: Git, files: Sequence[BinaryIO]) -> list[str]:
    # `--no-filters` hashes the bytes as they are: no attribute is looked up and no filter runs.
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, str(index)) for index in range(len(files))]
        for path, file in zip(paths, files, strict=True):
            with path.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        lines = b"".join(os.fsencode(path) + b"\n" for path in paths)
        return (
            git.run("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin-paths", stdin=lines)
            .decode()
            .split()
        )


def _update_many_refs(git: Git, prepared: bytes, reason: str, signature: Mapping[str, str]) -> None:
    # git syncs each ref before renaming it into place. Here all of them are written, then synced at
    # once, and only then renamed: the same order, with one wait.
    argv = ("-c", "core.fsync=all,-reference", "update-ref", "-m", reason, "--stdin")
    started = git.start(*argv, stdin=subprocess.PIPE, env=signature)
    process = started.proc
    limit, said = git.timeout or TIMEOUT, b""
    # A pipe that git has closed: it ended early, and says why.
    with suppress(BrokenPipeError):
        process.stdin.write(prepared)
        process.stdin.flush()
        while not said.endswith(b"prepare: ok\n") and wait_for_output(process, limit):
            if not (piece := os.read(process.stdout.fileno(), 1 << 16)):
                break
            said += piece
        if said.endswith(b"prepare: ok\n"):
            wait_for_disk(git.common)
            process.stdin.write(b"commit\n")
            process.stdin.flush()
    # Without a commit, the end of its input makes git undo what it has prepared.
    answer = read_output(process, limit)
    stderr = (
        answer[1].decode("utf-8", "replace")
        if answer
        else f"Timeout: git did nothing for {limit:g} seconds"
    )
    if process.returncode:
        raise CommandError("update-ref", process.returncode, stderr)


def _format_update(update: RefUpdate) -> str:
    name, new, old = update
    if new is None:
        return f"delete {name} {old}"
    return f"create {name} {new}" if old is None else f"update {name} {new} {old}"
