"""Finds commits: HEAD, branches, and `git:<rev>` by exact ref name or object id, never guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from evalstore.errors import GitError, RefError
from evalstore.store.repository.git import NAME_ENCODING, CommandError, Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import read_tag
from evalstore.store.repository.shallow import describe_missing_history, is_shallow
from evalstore.store.tags import TAG_REFS

BRANCH_REFS = "refs/heads/"
REMOTE_REFS = "refs/remotes/"
# Nothing in the repository may show another history than its commits do: no graft.
NO_GRAFTS = {"GIT_GRAFT_FILE": os.devnull}
_NAMESPACES = (BRANCH_REFS, TAG_REFS, REMOTE_REFS)
# A name, then steps to ancestors; `@{…}`, `^{/text}` and the like ask git to search, and are not
# accepted.
_REVISION = re.compile(r"([0-9A-Za-z][0-9A-Za-z._/@+-]*?)((?:[~^][0-9]{0,6}|\^\{commit\})*)")
_ABBREVIATED = re.compile(r"[0-9a-f]{4,64}")
_HINT = "name a branch, a tag, a commit or HEAD; ~2 and ^ may follow"


def resolve_revision(git: Git, objects: ObjectReader, revision: str) -> str:
    """Return the commit that a revision names; raises `RefError` if it names none or several."""
    match = _REVISION.fullmatch(revision)
    if match is None:
        raise RefError(f"{revision!r} is not a revision that evalstore reads", hint=_HINT)
    commit = _resolve_name(git, objects, match[1])
    return _walk_ancestors(git, commit, match[2], revision) if match[2] else commit


def resolve_head(git: Git) -> str:
    """Return the commit that is checked out, on a branch or detached."""
    try:
        return git.run("show-ref", "--verify", "--hash", "HEAD").decode("ascii").strip()
    except CommandError:
        raise RefError("HEAD has no commit yet", hint="make a commit first") from None


def find_head(git: Git) -> str | None:
    """Return the commit that is checked out; None before the first one."""
    try:
        return resolve_head(git)
    except RefError:
        return None


class Head(NamedTuple):
    """What is checked out: a branch's short name (None: detached), a commit (None: none yet)."""

    branch: str | None
    commit: str | None


def read_head(git: Git) -> Head:
    """Return the branch and the commit that are checked out."""
    out = git.run(
        "for-each-ref", "--format=%(HEAD)%(objectname) %(refname)", "--", BRANCH_REFS
    ).decode(*NAME_ENCODING)
    if line := next((line for line in out.split("\n") if line.startswith("*")), None):
        commit, _, ref = line[1:].partition(" ")
        return Head(ref.removeprefix(BRANCH_REFS), commit)
    # A branch before its first commit, or none.
    name = find_head_ref(git) or ""
    return Head(
        name.removeprefix(BRANCH_REFS) if name.startswith(BRANCH_REFS) else None, find_head(git)
    )


def find_head_ref(git: Git) -> str | None:
    """Return the full name of the ref that HEAD refers to; None if it is detached."""
    out = git.run_or_none("symbolic-ref", "--quiet", "HEAD")
    return None if out is None else out.decode(*NAME_ENCODING).removesuffix("\n")


def find_default_branch(git: Git) -> str:
    """Return the branch that changes are merged into, as known here: origin's, or its own."""
    out = git.run_or_none("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
    name = (find_head_ref(git) or "") if out is None else out.decode(*NAME_ENCODING).strip()
    return name.removeprefix("refs/remotes/origin/").removeprefix(BRANCH_REFS) or "main"


def list_branches(git: Git) -> dict[str, str]:
    """Return the commits of all branches, those of remotes too, by their short names."""
    out = git.run(
        "for-each-ref", "--format=%(objectname) %(refname:short)", "--", BRANCH_REFS, REMOTE_REFS
    )
    lines = (line.partition(" ") for line in out.decode(*NAME_ENCODING).splitlines())
    return {name: commit for commit, _, name in lines}


def list_branch_tips(git: Git) -> list[str]:
    """Return the commits of all branches, those of remotes too, sorted and each once."""
    return sorted(set(list_branches(git).values()))


def find_branch_with(git: Git, commit: str) -> str | None:
    """Return the short name of a local or remote branch whose history has a commit; else None."""
    argv = ("for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname:short)")
    return (
        git.run(*argv, "--", BRANCH_REFS, REMOTE_REFS).decode(*NAME_ENCODING).removesuffix("\n")
        or None
    )


def is_ancestor(git: Git, commit: str, tip: str) -> bool:
    """Whether a commit is in the history of another, or is the same one."""
    return git.run_or_none("merge-base", "--is-ancestor", commit, tip) is not None


def find_fork(git: Git, commit: str, tip: str) -> str | None:
    """Return the newest commit in the history of both.

    Returns None if there is none, or if a shallow clone ends first.
    """
    out = git.run_or_none("merge-base", commit, tip)
    return out.decode("ascii").split("\n")[0] if out else None


def list_merged_tags(git: Git, commit: str, pattern: str) -> frozenset[str]:
    """Return the names of tags (by a pattern of refs) whose commits are in a commit's history."""
    out = (
        git.run_or_none("for-each-ref", f"--merged={commit}", "--format=%(refname)", "--", pattern)
        or b""
    )
    return frozenset(
        line.removeprefix(TAG_REFS) for line in out.decode(*NAME_ENCODING).split("\n") if line
    )


def list_first_parents(git: Git, tip: str) -> list[tuple[str, int]]:
    """Return a commit and its chain of first parents, each with its committer's time in seconds."""
    out = git.run("rev-list", "--first-parent", "--timestamp", tip, env=NO_GRAFTS).decode("ascii")
    lines = (line.partition(" ") for line in out.split("\n") if line)
    return [(oid, int(seconds)) for seconds, _, oid in lines]


def find_new_commits(git: Git, tip: str, known: str | None) -> set[str]:
    """Return the commits in the history of `tip` that are not in that of `known` (None: all)."""
    return set(git.run("rev-list", tip, *(["--not", known] if known else [])).decode().split())


def find_refs(git: Git, names: Iterable[str]) -> dict[str, str]:
    """Return the objects of those refs that exist, by exact full name."""
    wanted = set(names)
    # Thousands of tags would not fit on a command line, so they are listed and picked.
    patterns = {TAG_REFS if name.startswith(TAG_REFS) else name for name in wanted}
    return {name: oid for name, oid in list_refs(git, *sorted(patterns)).items() if name in wanted}


def list_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Return the objects of refs by full name, for patterns.

    A pattern that ends in a slash is a folder.
    """
    out = git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", *patterns).decode(
        *NAME_ENCODING
    )
    return dict(line.rpartition(" ")[::2] for line in out.split("\n") if line)


def find_missing_objects(git: Git, oids: Iterable[str]) -> set[str]:
    """Return those full object ids whose objects are not in the repository."""
    stdin = "".join(f"{oid}\n" for oid in oids).encode("ascii")
    lines = (
        git.run("cat-file", "--batch-check=%(objectname)", stdin=stdin).decode("ascii").split("\n")
    )
    return {line.removesuffix(" missing") for line in lines if line.endswith(" missing")}


def _resolve_name(git: Git, objects: ObjectReader, name: str) -> str:
    if name == "HEAD":
        return resolve_head(git)
    commits = _peel_to_commits(
        git, objects, [*_find_exact_refs(git, name), *_find_abbreviated(git, name)]
    )
    if not commits:
        raise RefError(f"no branch, tag or commit is named {name!r}", hint=_HINT)
    if len(commits) > 1:
        raise RefError(
            f"{name!r} names {len(commits)} commits",
            hint="write the full name, as in refs/heads/main",
        )
    return commits.pop()


def _find_exact_refs(git: Git, name: str) -> list[str]:
    full = [name] if name.startswith("refs/") else [namespace + name for namespace in _NAMESPACES]
    lines = git.run("for-each-ref", "--format=%(refname)%00%(objectname)", "--", *full).split(
        b"\n"
    )[:-1]
    pairs = (line.decode("utf-8", "surrogateescape").split("\0") for line in lines)
    return [oid for ref, oid in pairs if ref in full]


def _find_abbreviated(git: Git, name: str) -> list[str]:
    # Ids only: for a plain name, `rev-parse` would itself choose between refs and ids.
    if not _ABBREVIATED.fullmatch(name):
        return []
    return git.run("rev-parse", f"--disambiguate={name}").decode("ascii").split()


def _peel_to_commits(git: Git, objects: ObjectReader, oids: list[str]) -> set[str]:
    """Return the commits among objects and behind tag objects."""
    commits: set[str] = set()
    # One process per level: a tag object may name another tag object.
    for _ in range(5):  # tags of tags
        stdin = "\n".join(oids).encode("ascii")
        out = git.run("cat-file", "--batch-check=%(objecttype)", stdin=stdin).decode("ascii")
        types = [*zip(oids, out.split("\n"), strict=False)]
        commits.update(oid for oid, type_ in types if type_ == "commit")
        oids = [read_tag(objects, oid).target for oid, type_ in types if type_ == "tag"]
        if not oids:
            break
    return commits


def _walk_ancestors(git: Git, commit: str, steps: str, revision: str) -> str:
    try:
        return (
            git.run("rev-parse", "--verify", "--end-of-options", f"{commit}{steps}")
            .decode("ascii")
            .strip()
        )
    except GitError:
        hint = describe_missing_history(git) if is_shallow(git) else None
        raise RefError(
            f"{revision!r} goes back further than the history of this clone", hint=hint
        ) from None
