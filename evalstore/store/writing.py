"""The write half of the door to git: objects, trees, commits, tags and refs by plumbing; runs no filter and no hook."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalstore.errors import RefusedError
from evalstore.store.git import NAME_ENCODING, CommandError, Git
from evalstore.text import make_excerpt

REGULAR_MODE = "100644"
_BATCH_SIZE = 1000  # objects a process: each is synced to disk, and a command has a time limit


class IndexEntry(NamedTuple):
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
    for start in range(0, len(contents), _BATCH_SIZE):
        oids += _write_batch(git, type_, contents[start : start + _BATCH_SIZE])
    return oids


def write_tree(git: Git, commit: str | None, files: Mapping[str, IndexEntry]) -> str:
    """Write the tree of `commit` (or an empty one) with `files` laid over it, through an index of its own."""
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        if commit:
            git.run("read-tree", commit, env=env)
        git.run("update-index", "-z", "--index-info", stdin=format_index_info(files), env=env)
        # A partial clone lacks blobs that the commit already names; they are no business of ours.
        return git.run("write-tree", "--missing-ok", env=env).decode().strip()


def write_commit(git: Git, tree: str, parents: Iterable[str], *, message: str, signature: Mapping[str, str]) -> str:
    """Write a commit signed with git's own GIT_AUTHOR_* and GIT_COMMITTER_* variables."""
    parent_args = (word for parent in parents for word in ("-p", parent))
    return git.run("commit-tree", tree, *parent_args, stdin=message.encode(), env=signature).decode().strip()


def write_tags(git: Git, commit: str, messages: Mapping[str, str]) -> dict[str, str]:
    """Write annotated tag objects of one commit, by name; the tagger is the commit's committer, to the second."""
    tagger = read_committer(git, commit)
    texts = [
        b"object %s\ntype commit\ntag %s\ntagger %s\n\n%s" % (commit.encode(), name.encode(), tagger, message.encode())
        for name, message in messages.items()
    ]
    return dict(zip(messages, write_objects(git, "tag", texts), strict=True))


def read_committer(git: Git, commit: str) -> bytes:
    """Return who committed, and when, as git writes it."""
    head = git.run("cat-file", "commit", commit).partition(b"\n\n")[0]
    return next(line.removeprefix(b"committer ") for line in head.split(b"\n") if line.startswith(b"committer "))


def update_refs(git: Git, updates: Iterable[RefUpdate], *, reason: str, signature: Mapping[str, str]) -> None:
    """Move refs in one transaction, in the order given; any ref that is not at its old value fails them all."""
    lines = ["start", *(_format_update(update) for update in updates), "prepare", "commit"]
    git.run(
        "update-ref", "-m", reason, "--stdin", stdin=("\n".join(lines) + "\n").encode(*NAME_ENCODING), env=signature
    )


def find_file_modes(git: Git, commit: str | None, paths: Iterable[str]) -> dict[str, str]:
    """Return the modes that files have at a commit, by path; those that are not there are left out."""
    if commit is None:
        return {}
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit).decode(*NAME_ENCODING)
    entries = (line.partition("\t")[::2] for line in out.split("\0") if line)
    wanted = set(paths)
    return {path: head.split(" ")[0] for head, path in entries if path in wanted}


def format_index_info(files: Mapping[str, IndexEntry]) -> bytes:
    """Return the lines that `update-index -z --index-info` reads."""
    return "".join(f"{mode} {blob}\t{path}\0" for path, (mode, blob) in files.items()).encode(*NAME_ENCODING)


def _write_batch(git: Git, type_: str, contents: Sequence[bytes | BinaryIO]) -> list[str]:
    # `--no-filters` hashes the bytes as they are: no attribute is looked up and no filter runs.
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, str(index)) for index in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            _write_temporary(path, content)
        lines = b"".join(os.fsencode(path) + b"\n" for path in paths)
        return git.run("hash-object", "-w", "-t", type_, "--no-filters", "--stdin-paths", stdin=lines).decode().split()


def _format_update(update: RefUpdate) -> str:
    name, new, old = update
    if new is None:
        return f"delete {name} {old}"
    return f"create {name} {new}" if old is None else f"update {name} {new} {old}"


def _write_temporary(path: Path, content: bytes | BinaryIO) -> None:
    with path.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            shutil.copyfileobj(content, file)


_SIGNATURE_MARKS = (
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
)
_CHOOSE = "git config --global gpg.format ssh, and git config --global user.signingKey ~/.ssh/<your key>.pub"
# What git or its program says -> what is amiss, and what to do. Git hands on no more of what gpg message.
_SIGNING_FAILURES = (
    ("needs to be configured", "git's global config names no key", _CHOOSE),
    ("needs to be set", "git's global config names no key", _CHOOSE),
    (
        "cannot run",
        "the program that git signs with is not there",
        f"git config --global --get-regexp gpg; or {_CHOOSE}",
    ),
    ("are too open", "its private key can be read by others", "chmod 600 that file"),
    ("gpg failed to sign the data", "gpg has no key that it can sign with", f"gpg --list-secret-keys; or {_CHOOSE}"),
    ("passphrase", "the key is locked", "unlock it with ssh-add, or run this in a terminal that can ask"),
    ("No private key found", "its private key is neither beside it nor in the agent", "ssh-add -L lists the agent's"),
    ("load public key", "the key that git's global config names is not there", _CHOOSE),
)


def sign_commit(git: Git, tree: str, parents: Sequence[str], *, message: str, signature: Mapping[str, str]) -> str:
    """Write a signed commit; `git` is a repository of our own. Raises `RefusedError` where there is no key."""
    words = [word for parent in parents for word in ("-p", parent)]
    try:
        oid = git.run("commit-tree", "-S", tree, *words, stdin=message.encode(), env=signature).decode().strip()
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    _verify_signature(git, "commit", oid)
    return oid


def sign_tags(git: Git, commit: str, messages: Mapping[str, str]) -> dict[str, str]:
    """Write signed tag objects of one commit, by name; the tagger is the commit's committer, to the second."""
    return {name: _sign_tag(git, commit, name, message) for name, message in messages.items()}


def _sign_tag(git: Git, commit: str, name: str, message: str) -> str:
    person, _, stamp = read_committer(git, commit).rpartition(b"> ")
    who, _, email = person.rpartition(b" <")
    tagger = {"NAME": who, "EMAIL": email, "DATE": b"@" + stamp}
    env = {f"GIT_COMMITTER_{part}": value.decode("utf-8", "surrogateescape") for part, value in tagger.items()}
    try:
        # The ref is one of our own repository, which goes with it; the object stays.
        git.run("tag", "-s", "--cleanup=verbatim", "-F", "-", "--", name, commit, stdin=message.encode(), env=env)
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    oid = git.run("rev-parse", "--verify", f"refs/tags/{name}").decode().strip()
    _verify_signature(git, "tag", oid)
    return oid


def _verify_signature(git: Git, type_: str, oid: str) -> None:
    # git 2.39 answers "done" when the program of an SSH key failed, and leaves the signature out.
    if not any(mark in git.run("cat-file", type_, oid) for mark in _SIGNATURE_MARKS):
        raise RefusedError(f"the release cannot be signed: git made a {type_} without a signature", hint=_CHOOSE)


def _explain_signing_failure(failure: CommandError) -> RefusedError:
    for message, what, hint in _SIGNING_FAILURES:
        if message in failure.stderr:
            return RefusedError(f"the release cannot be signed: {what}", hint=hint)
    lines = [line for line in failure.stderr.splitlines() if line.strip()]
    message = make_excerpt(lines[0].removeprefix("fatal: ").removeprefix("error: ")) if lines else failure.message
    return RefusedError(f"the release cannot be signed: {message}", hint="git tag -s says more")
