"""Finds the commits that the remote lacks, and which of their releases need another number.

A release needs one if the remote has the same version, or one more release of the same artifact.
Only the remote's objects are fetched; nothing in the repository is changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from evalstore.errors import RefusedError
from evalstore.release.publishing.push import PushRoute
from evalstore.release.transactions.checkout import Checkout
from evalstore.release.transactions.locking import LockedRepository
from evalstore.release.transactions.push_record import record_push
from evalstore.store import ArtifactStore
from evalstore.store.ledger import locate_ledger
from evalstore.store.remote import fetch_objects, list_remote_refs
from evalstore.store.revisions import BRANCH_REFS, find_default_branch, find_new_commits, find_refs
from evalstore.store.store_moves import read_changes
from evalstore.store.tags import TAG_REFS


@dataclass(frozen=True, slots=True)
class OwnCommit:
    """A commit that the remote lacks, with its parents.

    Unless it is a merge, it has the files that it changed and what it released.
    """

    oid: str
    parents: Sequence[str]
    paths: frozenset[str]
    released: frozenset[str]


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What the remote has: the tip of the branch, and the tags of the store's releases.

    `tip` is None as long as the remote has no such branch.
    """

    remote: str
    tip: str | None
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnEdits:
    """What is repeated on top of theirs as an edit.

    It is made from the commits from the first withdrawn release up to the tip.
    """

    branch: str
    tip: str
    start: str  # the commit before them
    later: Sequence[OwnCommit]
    withdrawn: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The artifacts whose releases are withdrawn."""
        return tuple(dict.fromkeys(ref.partition("@")[0] for ref in self.withdrawn))


def fetch_remote_state(store: ArtifactStore, route: PushRoute) -> RemoteState:
    """Fetch the branch that a push goes to and the tags of the store, with their objects."""
    refs = list_remote_refs(store.git, store.repository, route.to)
    branch = BRANCH_REFS + route.branch
    if branch not in refs:  # never pushed: it began at the default branch
        branch = BRANCH_REFS + find_default_branch(store.git)
    prefix = f"{TAG_REFS}{store.tag_prefix}"
    tags = {name: oid for name, oid in refs.items() if name.startswith(prefix)}
    here = find_refs(store.git, [*tags, branch])
    wanted = [name for name, oid in tags.items() if here.get(name) != oid]
    names = [*([branch] if branch in refs else []), *wanted]
    if names:
        fetch_objects(
            store.git, store.repository, route.to, names, [here[branch]] if branch in here else []
        )
    if branch in refs:
        record_push(store, route.to, {branch: refs[branch]})
    return RemoteState(route.to.name, refs.get(branch), tags)


def find_own_edits(
    store: ArtifactStore,
    repository: LockedRepository,
    checkout: Checkout,
    theirs: RemoteState,
    here: Mapping[str, str],
) -> OwnEdits | None:
    """Return the own commits from the first release that collides with the remote's; None if none.

    `here` are this repository's tags.
    """
    if checkout.tip is None:
        return None
    own = list(_list_own_commits(store, checkout.tip, theirs.tip))
    unseen = {commit.oid: [*_list_unseen(store, commit, theirs, here)] for commit in own}
    released_there = _find_released_there(store, own, checkout.tip, theirs)
    prefix = f"{TAG_REFS}{store.tag_prefix}"
    colliding = (
        commit for commit in own if _has_met(unseen[commit.oid], theirs, prefix, released_there)
    )
    first = next(colliding, None)
    if first is None:
        return None
    if not first.parents:
        raise RefusedError(
            "the first commit of this branch is a release", hint=f"clone {theirs.remote} anew"
        )
    kept = find_new_commits(repository.git, first.parents[0], None)
    later = [commit for commit in own if commit.oid not in kept]
    withdrawn = sorted({ref for commit in later for ref in unseen[commit.oid]})
    return OwnEdits(checkout.name, checkout.tip, first.parents[0], later, tuple(withdrawn))


def _list_own_commits(store: ArtifactStore, tip: str, theirs: str | None) -> Iterator[OwnCommit]:
    """Yield the commits that the remote lacks, oldest first."""
    span, ledgers = [f"^{theirs}"] if theirs else [], f"{store.prefix}{locate_ledger('')}"
    changed = defaultdict[str, set[str]](set)
    for change in read_changes(store.git, tip, [], "ADMT", ["--no-merges", *span]):
        changed[change.commit].add(change.path)
    for line in (
        store.git.run("rev-list", "--reverse", "--topo-order", "--parents", tip, *span)
        .decode()
        .splitlines()
    ):
        oid, *parents = line.split(" ")
        names = [path.removeprefix(ledgers) for path in changed[oid] if path.startswith(ledgers)]
        released = frozenset(_list_released(store, oid, parents, names))
        yield OwnCommit(oid, parents, frozenset(changed[oid]), released)


def _list_released(
    store: ArtifactStore, oid: str, parents: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    for name in names:
        before = store.ledgers.read_at(parents[0], name).by_version if parents else {}
        after = store.ledgers.read_at(oid, name).by_version
        yield from (f"{name}@{version}" for version in after.keys() - before.keys())


def _find_released_there(
    store: ArtifactStore, own: Sequence[OwnCommit], tip: str, theirs: RemoteState
) -> set[str]:
    """Return the artifacts that have more releases on the remote's branch.

    Only artifacts that own commits released are considered.
    """
    if not theirs.tip:
        return set()
    there, here = partial(store.ledgers.read_at, theirs.tip), partial(store.ledgers.read_at, tip)
    names = {ref.partition("@")[0] for commit in own for ref in commit.released}
    return {one for one in names if there(one).by_version.keys() - here(one).by_version}


def _has_met(
    unseen: Iterable[str], theirs: RemoteState, prefix: str, released_there: set[str]
) -> bool:
    """Whether the remote has something that collides with one of the `unseen` releases.

    That is another release of the same version, or one more release of the same artifact.
    """
    return any(
        prefix + ref in theirs.tags or ref.partition("@")[0] in released_there for ref in unseen
    )


def _list_unseen(
    store: ArtifactStore, commit: OwnCommit, theirs: RemoteState, here: Mapping[str, str]
) -> Iterator[str]:
    """Yield the releases of a commit that never reached the remote.

    A push without `--atomic` delivers only some of the tags.
    """
    for ref in commit.released:
        name = f"{TAG_REFS}{store.tag_prefix}{ref}"
        there = theirs.tags.get(name)
        # The own tag may be gone: `git fetch --tags --force` puts theirs in its place.
        if not there or there != here.get(name) or not _is_tag_of(store, there, commit.oid):
            yield ref


def _is_tag_of(store: ArtifactStore, oid: str, commit: str) -> bool:
    return store.git.run("rev-parse", "--verify", f"{oid}^{{commit}}").decode().strip() == commit


def split_commits(later: Sequence[OwnCommit]) -> tuple[list[OwnCommit], list[OwnCommit]]:
    """Return the commits that can be repeated as they are, and the others.

    The others are releases, and commits that build on them.
    """
    alone, edits = [], []
    edited: set[str] = set()
    for commit in later:
        if commit.released or commit.paths & edited:
            edited |= commit.paths
            edits.append(commit)
        elif len(commit.parents) == 1:  # a merge has nothing that its parents lack
            alone.append(commit)
    return alone, edits
