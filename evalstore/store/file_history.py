"""Walks the history of some files once: the commits and releases, with merges opened."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evalstore.errors import GitError
from evalstore.files import read_below
from evalstore.store.contents import StoreReader
from evalstore.store.locate import find_repository
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import is_oid
from evalstore.store.repository.objects import read_parents
from evalstore.store.revisions import NO_GRAFTS, find_head

_NO_REFS = "refs/none"


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The commits that changed some files, children first, with parents in this history.

    Commits in between that left the files alone are skipped. A parent that is not a key of
    `commits` is at or before the base. `cut` are commits whose parents a shallow clone lacks.
    `head` is None if nothing changed since.
    """

    head: str | None
    commits: Mapping[str, tuple[str, ...]]
    cut: frozenset[str] = frozenset()

    def list_roots(self) -> list[str]:
        """Return this history's first commits: without parents, or with one before the base."""
        known = self.commits.keys()
        return [oid for oid, parents in self.commits.items() if not parents or {*parents} - known]

    def list_ancestors(self, oid: str, *, stop: Container[str] = ()) -> list[str]:
        """Return a commit and its ancestors in this history, except those in `stop` and theirs."""
        found = {} if oid in stop else {oid: None}
        waiting = list(found)
        while waiting:
            parents = [one for one in self.commits[waiting.pop()] if one in self.commits]
            fresh = [one for one in parents if one not in found and one not in stop]
            found |= dict.fromkeys(fresh)
            waiting += fresh
        return list(found)


def read_file_history(
    store: StoreReader,
    paths: Sequence[str],
    tip: str,
    *,
    base: str | None = None,
    tags: Sequence[str] = (),
) -> FileHistory:
    """Return the history of files (relative to the store) from `base` (excluded) to `tip`.

    It includes a merge if its file differs from that of every parent, or if it joins two lines that
    changed it. Commits named by a tag that matches one of the patterns `tags` are included as well.
    It takes one git process.
    """
    refs = (f"--decorate-refs={pattern}" for pattern in tags or [_NO_REFS])
    # By decoration: a commit counts if it changes a file or has one of the tags.
    argv = (
        "--topo-order",
        "--simplify-by-decoration",
        *refs,
        "--no-show-signature",
        "--format=%H %P",
        tip,
    )
    argv = (*argv, *([f"^{base}"] if base else []), "--")
    history = _walk_history(store, argv, [store.prefix + path for path in paths])
    # A file that moved with its store from another folder has its earlier history there.
    if (
        any(_may_have_moved(store, oid) for oid in history.list_roots())
        and len(store.moves.list_prefixes()) > 1
    ):
        return _walk_history(
            store, argv, [one + path for one in store.moves.list_prefixes() for path in paths]
        )
    return history


def _may_have_moved(store: StoreReader, oid: str) -> bool:
    """Whether the store may have been elsewhere before a commit: its parents lack it here."""
    lost = store.repository.shallow and oid in read_shallow_commits(store.git)
    parents = [] if lost else read_parents(store.objects, oid)
    return any(store.moves.find_prefix(parent) != store.prefix for parent in parents)


def _walk_history(store: StoreReader, argv: Sequence[str], files: Sequence[str]) -> FileHistory:
    out = store.git.run("-c", "log.follow=false", "log", *argv, *files, env=NO_GRAFTS)
    rows = [line.split() for line in out.decode("ascii").splitlines() if line]
    if not all(is_oid(word) for row in rows for word in row):
        raise GitError("git listed a commit in an unreadable form")
    commits = {oid: tuple(dict.fromkeys(parents)) for oid, *parents in rows}
    cut = (
        read_shallow_commits(store.git) & commits.keys()
        if store.repository.shallow
        else frozenset()
    )
    return FileHistory(next(iter(commits), None), commits, frozenset(cut))


def list_file_commits(store: StoreReader, paths: Sequence[str]) -> list[str]:
    """Return the commits on every branch and tag that changed one of the files, newest first."""
    files = ("--", *(prefix + path for prefix in store.moves.list_prefixes() for path in paths))
    # A detached HEAD may be on no branch.
    head = find_head(store.git)
    tips = ("--branches", "--remotes", "--tags", *([head] if head else []))
    out = store.git.run("rev-list", "--full-history", *tips, *files)
    return out.decode("ascii").split()


def was_committed(top: Path, path: str) -> bool:
    """Whether HEAD's history has a file at a path; False if git does not say."""
    with suppress(GitError):
        return bool(find_repository(top).git.run("log", "-1", "--format=%H", "HEAD", "--", path))
    return False


def read_shallow_commits(git: Git) -> frozenset[str]:
    """Return the commits at which a shallow clone ends."""
    # git's list of the commits at which a shallow clone ends.
    return frozenset(read_below(git.common, "shallow", 16 << 20).decode("ascii").split())
