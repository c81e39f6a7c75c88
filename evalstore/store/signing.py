"""Signed commits and tags, by git itself with the user's own key; a repository's config has no say in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalstore.errors import RefusedError
from evalstore.store.git import CommandError, Git
from evalstore.store.writing import committer
from evalstore.text import excerpt

_MARKS = (b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN SIGNED MESSAGE-----")
_CHOOSE = "git config --global gpg.format ssh, and git config --global user.signingKey ~/.ssh/<your key>.pub"
# What git or its program says -> what is amiss, and what to do. Git hands on no more of what gpg said.
_WORDED = (
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
        raise _refused(failure) from None
    _check(git, "commit", oid)
    return oid


def sign_tags(git: Git, commit: str, messages: Mapping[str, str]) -> dict[str, str]:
    """Write signed tag objects of one commit, by name; the tagger is the commit's committer, to the second."""
    return {name: _sign_tag(git, commit, name, message) for name, message in messages.items()}


def _sign_tag(git: Git, commit: str, name: str, message: str) -> str:
    person, _, stamp = committer(git, commit).rpartition(b"> ")
    who, _, email = person.rpartition(b" <")
    tagger = {"NAME": who, "EMAIL": email, "DATE": b"@" + stamp}
    env = {f"GIT_COMMITTER_{part}": value.decode("utf-8", "surrogateescape") for part, value in tagger.items()}
    try:
        # The ref is one of our own repository, which goes with it; the object stays.
        git.run("tag", "-s", "--cleanup=verbatim", "-F", "-", "--", name, commit, stdin=message.encode(), env=env)
    except CommandError as failure:
        raise _refused(failure) from None
    oid = git.run("rev-parse", "--verify", f"refs/tags/{name}").decode().strip()
    _check(git, "tag", oid)
    return oid


def _check(git: Git, type_: str, oid: str) -> None:
    # git 2.39 answers "done" when the program of an SSH key failed, and leaves the signature out.
    if not any(mark in git.run("cat-file", type_, oid) for mark in _MARKS):
        raise RefusedError(f"the release cannot be signed: git made a {type_} without a signature", hint=_CHOOSE)


def _refused(failure: CommandError) -> RefusedError:
    for said, what, hint in _WORDED:
        if said in failure.stderr:
            return RefusedError(f"the release cannot be signed: {what}", hint=hint)
    lines = [line for line in failure.stderr.splitlines() if line.strip()]
    said = excerpt(lines[0].removeprefix("fatal: ").removeprefix("error: ")) if lines else failure.message
    return RefusedError(f"the release cannot be signed: {said}", hint="git tag -s says more")
