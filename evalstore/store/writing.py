"""Writes objects, trees, commits, tags and refs with git's plumbing, which runs no filter and no hook.

Signing is the exception that runs a program, and is done in a scratch repository (`scratch.py`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evalstore.errors import GitError, LoadError, RefusedError
from evalstore.files import list_below, read_below, remove_below
from evalstore.progress import Watch
from evalstore.store.repository.git import NAME_ENCODING, TIMEOUT, CommandError, Git
from evalstore.store.repository.object_reader import ObjectReader, compute_object_id
from evalstore.store.repository.objects import find_folder, read_object
from evalstore.store.repository.trees import TreeEditor, TreeEntry
from evalstore.store.repository.watchdog import read_output, wait_for_output
from evalstore.store.scratch import FORMATS
from evalstore.text import make_excerpt

MANY = 100  # files from which on one sync of all is cheaper; it also writes what other programs have not yet synced


def can_sync_all() -> bool:
    """Whether this system has a sync of a whole file system that waits for its end (Linux's syncfs(2))."""
    return _find_syncfs() is not None


def wait_for_disk(folder: Path) -> None:
    """Wait until all that was written to the file system of a folder is on its disk; `OSError` when that fails."""
    syncfs = _find_syncfs()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if syncfs is None or syncfs(descriptor):
            import ctypes

            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(descriptor)


def _find_syncfs() -> Any:
    import ctypes  # only what writes thousands needs it

    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}  # of a pack (gitformat-pack(5))
_PACKS = "objects/pack"
_KEEP_MARK = "evalstore bump"  # in the .keep file of a pack (git-index-pack(1))
_PACK_SIZE = 64 << 20  # bytes of content, before they are compressed
REGULAR_MODE, EXECUTABLE_MODE = "100644", "100755"
_BATCH_SIZE = 1000  # objects a process: each is synced to disk, and a command has a time limit
_SIGNATURE_MARKS = (
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
)
_CHOOSE = "git config --global gpg.format ssh, and git config --global user.signingKey ~/.ssh/<your key>.pub"
# A text in the stderr of git or its program -> what is wrong, and what to do. git passes on no more of gpg's messages.
_SIGNING_FAILURES = (
    ("needs to be configured", "git's global config has no signing key", _CHOOSE),
    ("needs to be set", "git's global config has no signing key", _CHOOSE),
    (
        "cannot run",
        "the program that git signs with is missing",
        f"git config --global --get-regexp gpg; or {_CHOOSE}",
    ),
    ("are too open", "its private key can be read by others", "chmod 600 that file"),
    ("gpg failed to sign the data", "gpg has no key that it can sign with", f"gpg --list-secret-keys; or {_CHOOSE}"),
    ("passphrase", "the key is locked", "unlock it with ssh-add, or run this in a terminal that can ask"),
    (
        "No private key found",
        "its private key is not next to it and not in the agent",
        "list the agent's keys: ssh-add -L",
    ),
    ("load public key", "the key in git's global config does not exist", _CHOOSE),
)


class RefUpdate(NamedTuple):
    """The change of a ref from `old` to `new`; None where the ref does not exist."""

    name: str
    new: str | None
    old: str | None


def write_objects(git: Git, objects: Iterable[tuple[str, bytes]], *, hex_digits: int) -> list[str]:
    """Write objects, each with its type, and return their ids, of `hex_digits`, in order.

    Many of a type are a pack; all others are written by one process, and stay loose.
    """
    written = list(objects)
    counts = Counter(type_ for type_, _ in written)
    for type_ in (type_ for type_, count in counts.items() if count >= MANY):
        write_packed_objects(git, type_, [data for other, data in written if other == type_], hex_digits=hex_digits)
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
    """Write the tree of `commit` (None: an empty one) with `files` added, replaced or removed (None).

    `contents` are those of the files that git does not have yet.
    """
    root, trees = _edit_tree(objects, commit, files)
    written = [*(("blob", data) for data in contents), *(("tree", data) for data in trees)]
    write_objects(git, written, hex_digits=len(root))
    return root


def _edit_tree(
    objects: ObjectReader, commit: str | None, files: Mapping[str, TreeEntry | None]
) -> tuple[str, list[bytes]]:
    # Only the folders on the way are read: a partial clone may lack the rest, and no index is built for it.
    digits = len(commit) if commit else next(len(entry.oid) for entry in files.values() if entry)
    editor = TreeEditor(
        lambda oid: read_object(objects, oid, "tree"), lambda data: compute_object_id("tree", data, digits)
    )
    root = editor.edit(find_folder(objects, commit, "") if commit else None, files)
    if root is None:
        raise GitError("the commit would be empty")
    return root, list(editor.new.values())


def write_on_tip(  # noqa: PLR0913, PLR0917  # git, and what is written where
    git: Git, objects: ObjectReader, commit: str, tip: str, files: Mapping[str, TreeEntry], tags: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Write an unsigned commit and its tags again, on another tip, by one process; return both, tags by name."""
    root, trees = _edit_tree(objects, tip, files)
    head, _, message = read_object(objects, commit, "commit").partition(b"\n\n")
    people = [line for line in head.split(b"\n") if not line.startswith((b"tree ", b"parent "))]
    lines = [f"tree {root}".encode(), f"parent {tip}".encode(), *people]
    new = b"\n".join(lines) + b"\n\n" + message
    moved = compute_object_id("commit", new, len(tip))
    texts = {
        name: b"object %b\n%b" % (moved.encode(), read_object(objects, oid, "tag").partition(b"\n")[2])
        for name, oid in tags.items()
    }
    written = [*(("tree", data) for data in trees), ("commit", new), *(("tag", text) for text in texts.values())]
    write_objects(git, written, hex_digits=len(tip))
    return moved, {name: compute_object_id("tag", text, len(tip)) for name, text in texts.items()}


def write_commit(git: Git, tree: str, parents: Iterable[str], *, message: str, signature: Mapping[str, str]) -> str:
    """Write a commit and return its id; `signature` holds git's GIT_AUTHOR_* and GIT_COMMITTER_* variables."""
    parent_args = (word for parent in parents for word in ("-p", parent))
    return git.run("commit-tree", tree, *parent_args, stdin=message.encode(), env=signature).decode().strip()


def write_tags(git: Git, objects: ObjectReader, commit: str, messages: Mapping[str, str]) -> dict[str, str]:
    """Write annotated tag objects of a commit and return them by name; the tagger is its committer, to the second."""
    tagger = _read_committer(objects, commit)
    texts = [
        b"object %s\ntype commit\ntag %s\ntagger %s\n\n%s" % (commit.encode(), name.encode(), tagger, message.encode())
        for name, message in messages.items()
    ]
    oids = write_objects(git, [("tag", text) for text in texts], hex_digits=len(commit))
    return dict(zip(messages, oids, strict=True))


def sign_commit(git: Git, tree: str, parents: Sequence[str], *, message: str, signature: Mapping[str, str]) -> str:
    """Write a signed commit; `git` is a scratch repository. `RefusedError` when git cannot sign."""
    parent_args = (word for parent in parents for word in ("-p", parent))
    try:
        oid = git.run("commit-tree", "-S", tree, *parent_args, stdin=message.encode(), env=signature).decode().strip()
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    _verify_signature(git, "commit", oid)
    return oid


def sign_tags(
    git: Git, objects: ObjectReader, commit: str, messages: Mapping[str, str], *, watch: Watch[str] = iter
) -> dict[str, str]:
    """Write signed tag objects of a commit and return them by name; the tagger is its committer, to the second.

    Each takes a program of the user's, perhaps a touch of a key: `watch` wraps the iteration over the names.
    """
    person, _, stamp = _read_committer(objects, commit).rpartition(b"> ")
    who, _, email = person.rpartition(b" <")
    tagger = {"NAME": who, "EMAIL": email, "DATE": b"@" + stamp}
    env = {f"GIT_COMMITTER_{part}": value.decode("utf-8", "surrogateescape") for part, value in tagger.items()}
    return {name: _sign_tag(git, commit, name, messages[name], env) for name in watch(list(messages))}


def _read_committer(objects: ObjectReader, commit: str) -> bytes:
    """Return the committer and time of a commit, as git writes them."""
    head = read_object(objects, commit, "commit").partition(b"\n\n")[0]
    return next(line.removeprefix(b"committer ") for line in head.split(b"\n") if line.startswith(b"committer "))


def update_refs(git: Git, updates: Iterable[RefUpdate], *, reason: str, signature: Mapping[str, str]) -> None:
    """Update refs in order in one transaction, which fails as a whole when a ref is not at its old value."""
    lines = ["start", *(_format_update(update) for update in updates), "prepare"]
    prepared = ("\n".join(lines) + "\n").encode(*NAME_ENCODING)
    if len(lines) < MANY or not can_sync_all():
        git.run("update-ref", "-m", reason, "--stdin", stdin=prepared + b"commit\n", env=signature)
    else:
        _update_many_refs(git, prepared, reason, signature)


def pack_tags(git: Git) -> None:
    """Move the tags from a file each to the one file of packed refs."""
    git.run("pack-refs")


def _write_batch(git: Git, files: Sequence[BinaryIO]) -> list[str]:
    # `--no-filters` hashes the bytes as they are: no attribute is looked up and no filter runs.
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, str(index)) for index in range(len(files))]
        for path, file in zip(paths, files, strict=True):
            with path.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        lines = b"".join(os.fsencode(path) + b"\n" for path in paths)
        return git.run("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin-paths", stdin=lines).decode().split()


def _update_many_refs(git: Git, prepared: bytes, reason: str, signature: Mapping[str, str]) -> None:
    # git syncs each ref before it renames it into place. Here all of them are written, then synced at once, and only
    # then renamed: the same order, with one wait.
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
    # Without a commit the end of its input makes git undo what it has prepared.
    answer = read_output(process, limit)
    stderr = answer[1].decode("utf-8", "replace") if answer else f"Timeout: git did nothing for {limit:g} seconds"
    if process.returncode:
        raise CommandError("update-ref", process.returncode, stderr)


def _format_update(update: RefUpdate) -> str:
    name, new, old = update
    if new is None:
        return f"delete {name} {old}"
    return f"create {name} {new}" if old is None else f"update {name} {new} {old}"


def _sign_tag(git: Git, commit: str, name: str, message: str, env: Mapping[str, str]) -> str:
    try:
        # The ref goes with the scratch repository; the object stays.
        git.run("tag", "-s", "--cleanup=verbatim", "-F", "-", "--", name, commit, stdin=message.encode(), env=env)
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    oid = git.run("rev-parse", "--verify", f"refs/tags/{name}").decode().strip()
    _verify_signature(git, "tag", oid)
    return oid


def _verify_signature(git: Git, type_: str, oid: str) -> None:
    # git 2.39 exits with 0 when the program of an SSH key failed, and leaves the signature out.
    if not any(mark in git.run("cat-file", type_, oid) for mark in _SIGNATURE_MARKS):
        raise RefusedError(f"the release cannot be signed: git made a {type_} without a signature", hint=_CHOOSE)


def _explain_signing_failure(failure: CommandError) -> RefusedError:
    for text, reason, hint in _SIGNING_FAILURES:
        if text in failure.stderr:
            return RefusedError(f"the release cannot be signed: {reason}", hint=hint)
    lines = [line for line in failure.stderr.splitlines() if line.strip()]
    reason = make_excerpt(lines[0].removeprefix("fatal: ").removeprefix("error: ")) if lines else failure.message
    return RefusedError(f"the release cannot be signed: {reason}", hint="see more: git tag -s")


def write_packed_objects(git: Git, type_: str, contents: Iterable[bytes], *, hex_digits: int) -> list[str]:
    """Write objects of one type and return their ids, of `hex_digits`, in order.

    git keeps their packs until `release_packs`: it would drop what nothing refers to yet, were it repacked meanwhile.
    """
    oids: list[str] = []
    for group in _split_by_size(contents):
        keys = [compute_object_id(type_, content, hex_digits) for content in group]
        # A pack holds each object once.
        pack = build_pack([(type_, content) for content in dict(zip(keys, group, strict=True)).values()], hex_digits)
        # git hashes every object again, and refuses one that is malformed or refers to nothing.
        git.run("index-pack", "--stdin", "--strict", f"--keep={_KEEP_MARK}", stdin=pack)
        oids += keys
    return oids


def release_packs(common: Path) -> None:
    """Let git repack what was written, which refs have by now, or never will; `common` is the common git directory.

    Only under the lock of the repository: a mark is then of this process or of one that was killed.
    """
    for name in list_below(common, _PACKS):
        if name.endswith(".keep"):
            with suppress(LoadError):  # of somebody else, who has removed it by now
                if read_below(common, f"{_PACKS}/{name}", 1 << 12).strip() == _KEEP_MARK.encode():
                    remove_below(common, f"{_PACKS}/{name}")


def build_pack(objects: Sequence[tuple[str, bytes]], hex_digits: int) -> bytes:
    """Return the pack of some objects, each with its type; `hex_digits` are those of the repository's ids."""
    entries = b"".join(_format_header(type_, len(content)) + zlib.compress(content) for type_, content in objects)
    pack = struct.pack(">4sLL", b"PACK", 2, len(objects)) + entries
    return pack + hashlib.new(FORMATS[hex_digits], pack, usedforsecurity=False).digest()


def _format_header(type_: str, size: int) -> bytes:
    # Three bits of type and four of the size, then seven of the size a byte, the lowest first.
    header, rest = bytearray([_TYPES[type_] << 4 | size & 0x0F]), size >> 4
    while rest:
        header[-1] |= 0x80
        header.append(rest & 0x7F)
        rest >>= 7
    return bytes(header)


def _split_by_size(contents: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for content in contents:
        if group and size + len(content) > _PACK_SIZE:
            yield group
            group, size = [], 0
        group.append(content)
        size += len(content)
    if group:
        yield group
