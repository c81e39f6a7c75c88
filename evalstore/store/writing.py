"""The write half of the door to git: objects, trees, commits, tags and refs by plumbing; runs no filter and no hook."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalstore.store.git import Git
from evalstore.store.tags import TAG_REFS

REGULAR = "100644"
NAMES = ("utf-8", "surrogateescape")  # git's names are bytes
_AT_ONCE = 1000  # objects a process: each is synced to disk, and a command has a time limit


class TreeEntry(NamedTuple):
    """A file as a tree or the index names it."""

    mode: str
    blob: str


class RefUpdate(NamedTuple):
    """A ref's step from `old` to `new`; None says that the ref is not there."""

    name: str
    new: str | None
    old: str | None


def write_objects(git: Git, type_: str, contents: Sequence[bytes | BinaryIO]) -> list[str]:
    """Write objects and return their ids in order; few processes, however many they are and however large."""
    oids: list[str] = []
    for start in range(0, len(contents), _AT_ONCE):
        oids += _write(git, type_, contents[start : start + _AT_ONCE])
    return oids


def write_tree(git: Git, commit: str | None, files: Mapping[str, TreeEntry]) -> str:
    """Write the tree of `commit` (or an empty one) with `files` laid over it, through an index of its own."""
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        if commit:
            git.run("read-tree", commit, env=env)
        git.run("update-index", "-z", "--index-info", stdin=index_info(files), env=env)
        # A partial clone lacks blobs that the commit already names; they are no business of ours.
        return git.run("write-tree", "--missing-ok", env=env).decode().strip()


def write_commit(git: Git, tree: str, parents: Iterable[str], *, message: str, signature: Mapping[str, str]) -> str:
    """Write a commit signed with git's own GIT_AUTHOR_* and GIT_COMMITTER_* variables."""
    parent_args = (word for parent in parents for word in ("-p", parent))
    return git.run("commit-tree", tree, *parent_args, stdin=message.encode(), env=signature).decode().strip()


def write_tags(git: Git, commit: str, messages: Mapping[str, str]) -> dict[str, str]:
    """Write annotated tag objects of one commit, by name; the tagger is the commit's committer, to the second."""
    tagger = committer(git, commit)
    texts = [
        b"object %s\ntype commit\ntag %s\ntagger %s\n\n%s" % (commit.encode(), name.encode(), tagger, message.encode())
        for name, message in messages.items()
    ]
    return dict(zip(messages, write_objects(git, "tag", texts), strict=True))


def committer(git: Git, commit: str) -> bytes:
    """Return who committed, and when, as git writes it."""
    head = git.run("cat-file", "commit", commit).partition(b"\n\n")[0]
    return next(line.removeprefix(b"committer ") for line in head.split(b"\n") if line.startswith(b"committer "))


def update_refs(git: Git, updates: Iterable[RefUpdate], *, reason: str, signature: Mapping[str, str]) -> None:
    """Move refs in one transaction, in the order given; any ref that is not at its old value fails them all."""
    lines = ["start", *(_command(update) for update in updates), "prepare", "commit"]
    git.run("update-ref", "-m", reason, "--stdin", stdin=("\n".join(lines) + "\n").encode(*NAMES), env=signature)


def find_refs(git: Git, names: Iterable[str]) -> dict[str, str]:
    """Return the objects of those refs that exist, by exact full name."""
    wanted = set(names)
    # Thousands of tags would not fit on a command line: they are listed and picked.
    patterns = {TAG_REFS if name.startswith(TAG_REFS) else name for name in wanted}
    out = git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", *sorted(patterns)).decode(*NAMES)
    pairs = (line.rpartition(" ")[::2] for line in out.split("\n") if line)
    return {name: oid for name, oid in pairs if name in wanted}


def file_modes(git: Git, commit: str | None, paths: Iterable[str]) -> dict[str, str]:
    """Return the modes that files have at a commit, by path; those that are not there are left out."""
    if commit is None:
        return {}
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit).decode(*NAMES)
    entries = (line.partition("\t")[::2] for line in out.split("\0") if line)
    wanted = set(paths)
    return {path: head.split(" ")[0] for head, path in entries if path in wanted}


def index_info(files: Mapping[str, TreeEntry]) -> bytes:
    """Return the lines that `update-index -z --index-info` reads."""
    return "".join(f"{mode} {blob}\t{path}\0" for path, (mode, blob) in files.items()).encode(*NAMES)


def _write(git: Git, type_: str, contents: Sequence[bytes | BinaryIO]) -> list[str]:
    # `--no-filters` hashes the bytes as they are: no attribute is looked up and no filter runs.
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, str(index)) for index in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            _spill(path, content)
        lines = b"".join(os.fsencode(path) + b"\n" for path in paths)
        return git.run("hash-object", "-w", "-t", type_, "--no-filters", "--stdin-paths", stdin=lines).decode().split()


def _command(update: RefUpdate) -> str:
    name, new, old = update
    if new is None:
        return f"delete {name} {old}"
    return f"create {name} {new}" if old is None else f"update {name} {new} {old}"


def _spill(path: Path, content: bytes | BinaryIO) -> None:
    with path.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            shutil.copyfileobj(content, file)
