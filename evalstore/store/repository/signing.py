"""Has git sign commits and tags in a scratch repository, because it runs a program for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalstore.errors import RefusedError
from evalstore.progress import Watch
from evalstore.store.repository.git import CommandError, Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.writing import read_committer
from evalstore.text import make_excerpt

_SIGNATURE_MARKS = (
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
)
_CHOOSE = (
    "git config --global gpg.format ssh, and git config --global user.signingKey ~/.ssh/<your "
    "key>.pub"
)
# A text in the stderr of git or its program -> what is wrong, and what to do. git passes on none of
# gpg's other messages.
_SIGNING_FAILURES = (
    ("needs to be configured", "git's global config has no signing key", _CHOOSE),
    ("needs to be set", "git's global config has no signing key", _CHOOSE),
    (
        "cannot run",
        "the program that git signs with is missing",
        f"git config --global --get-regexp gpg; or {_CHOOSE}",
    ),
    ("are too open", "its private key can be read by others", "chmod 600 that file"),
    (
        "gpg failed to sign the data",
        "gpg has no key that it can sign with",
        f"gpg --list-secret-keys; or {_CHOOSE}",
    ),
    (
        "passphrase",
        "the key is locked",
        "unlock it with ssh-add, or run this in a terminal that can ask",
    ),
    (
        "No private key found",
        "its private key is not next to it and not in the agent",
        "list the agent's keys: ssh-add -L",
    ),
    ("load public key", "the key in git's global config does not exist", _CHOOSE),
)


def sign_commit(
    git: Git, tree: str, parents: Sequence[str], *, message: str, signature: Mapping[str, str]
) -> str:
    """Write a signed commit; `git` is a scratch repository. `RefusedError` if git cannot sign."""
    parent_args = (word for parent in parents for word in ("-p", parent))
    try:
        oid = (
            git.run("commit-tree", "-S", tree, *parent_args, stdin=message.encode(), env=signature)
            .decode()
            .strip()
        )
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    _verify_signature(git, "commit", oid)
    return oid


def sign_tags(
    git: Git,
    objects: ObjectReader,
    commit: str,
    messages: Mapping[str, str],
    *,
    watch: Watch[str] = iter,
) -> dict[str, str]:
    """Write signed tag objects of a commit; return them by name.

    The tagger is its committer, to the second.

    Each takes a program of the user's, perhaps a touch of a key: `watch` wraps the iteration over
    the names.
    """
    person, _, stamp = read_committer(objects, commit).rpartition(b"> ")
    who, _, email = person.rpartition(b" <")
    tagger = {"NAME": who, "EMAIL": email, "DATE": b"@" + stamp}
    env: dict[str, str] = {}
    for part, value in tagger.items():
        env[f"GIT_COMMITTER_{part}"] = value.decode("utf-8", "surrogateescape")
    return {
        name: _sign_tag(git, commit, name, messages[name], env) for name in watch(list(messages))
    }


def _sign_tag(git: Git, commit: str, name: str, message: str, env: Mapping[str, str]) -> str:
    try:
        # The ref goes away with the scratch repository; the object stays.
        git.run(
            "tag",
            "-s",
            "--cleanup=verbatim",
            "-F",
            "-",
            "--",
            name,
            commit,
            stdin=message.encode(),
            env=env,
        )
    except CommandError as failure:
        raise _explain_signing_failure(failure) from None
    oid = git.run("rev-parse", "--verify", f"refs/tags/{name}").decode().strip()
    _verify_signature(git, "tag", oid)
    return oid


def _verify_signature(git: Git, type_: str, oid: str) -> None:
    # git 2.39 exits with 0 if the program for an SSH key failed, and leaves the signature out.
    if not any(mark in git.run("cat-file", type_, oid) for mark in _SIGNATURE_MARKS):
        raise RefusedError(
            f"the release cannot be signed: git made a {type_} without a signature", hint=_CHOOSE
        )


def _explain_signing_failure(failure: CommandError) -> RefusedError:
    for text, reason, hint in _SIGNING_FAILURES:
        if text in failure.stderr:
            return RefusedError(f"the release cannot be signed: {reason}", hint=hint)
    lines = [line for line in failure.stderr.splitlines() if line.strip()]
    reason = (
        make_excerpt(lines[0].removeprefix("fatal: ").removeprefix("error: "))
        if lines
        else failure.message
    )
    return RefusedError(f"the release cannot be signed: {reason}", hint="see more: git tag -s")
