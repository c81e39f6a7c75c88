"""`bump --again`: takes in others' releases that have the numbers of unpushed ones.

The unpushed releases are then released anew. All of it is tried in a scratch clone first. What
comes out is published like any bump: by a journal, with the branch, the tags and the files together
or not at all.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from evalstore.errors import EvalstoreError, RefusedError
from evalstore.files import write_below
from evalstore.model import parse_ref
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, merge_locks, read_lock, write_lock
from evalstore.release.bump import build_write_error, release_under_lock
from evalstore.release.checkout import Checkout, complete_signature, find_checkout
from evalstore.release.journal import REMOVED, FileChange, Journal
from evalstore.release.locking import LockedRepository, lock_repository
from evalstore.release.publish import publish_once
from evalstore.release.push import (
    PushRoute,
    find_push_refs,
    find_push_route,
    plan_push,
    push_release,
)
from evalstore.release.push_record import record_push
from evalstore.release.recovery import recover_interrupted
from evalstore.release.release_parts import (
    Renumbering,
    list_mentions,
    list_part_files,
    write_renumbered_parts,
)
from evalstore.release.step import BumpOptions
from evalstore.release.values import Released
from evalstore.store import ArtifactStore
from evalstore.store.ledger import locate_ledger
from evalstore.store.remote import fetch_objects, list_remote_refs
from evalstore.store.repository.config import read_config
from evalstore.store.repository.index import read_index
from evalstore.store.repository.objects import find_entry
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.repository.writing import write_objects
from evalstore.store.revisions import (
    BRANCH_REFS,
    find_default_branch,
    find_fork,
    find_new_commits,
    find_refs,
    list_refs,
    read_head,
)
from evalstore.store.scratch_clone import CloneSeed, ScratchClone, open_scratch_clone
from evalstore.store.signers import is_signature_required
from evalstore.store.store_moves import read_changes
from evalstore.store.tags import TAG_REFS
from evalstore.store.working_files import find_normalized, hash_working_file, normalize_line_ends

_LINK, _MODULE = "120000", "160000"
_BOTH_HINT = (
    "write there what both of you want (theirs: git show {theirs}:{path}), then run it again"
)


@dataclass(frozen=True, slots=True)
class _OwnCommit:
    """A commit that the remote lacks, with its parents.

    Unless it is a merge, it has the files that it changed and what it released.
    """

    oid: str
    parents: Sequence[str]
    paths: frozenset[str]
    released: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Theirs:
    """What the remote has: the tip of the branch, and the tags of the store's releases.

    `tip` is None while the remote has no such branch.
    """

    remote: str
    tip: str | None
    tags: Mapping[str, str]


def bump_again(store: ArtifactStore, options: BumpOptions) -> Released:
    """Take in what the branch has at its remote, and release anew what needs another number.

    That is what is unpushed and has a number that is taken. Raises `RefusedError` before anything
    changes: for a part that both sides changed, for files with uncommitted edits that theirs would
    replace, and where there is no remote.
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to release", hint="run it in a clone"
        )
    config = read_config(store.git)
    route = find_push_route(config, read_head(store.git).branch, remote_name=options.push or True)
    if route is None:
        raise RefusedError("there is no remote to compare with", hint="git remote add origin <url>")
    theirs = _fetch_theirs(store, route)
    try:
        with lock_repository(store, options.signature) as repository:
            recovered = recover_interrupted(repository)
            head = read_head(repository.git)
            store.forget(head.commit)
            checkout = find_checkout(repository.git, head)
            signed = replace(repository, signature=complete_signature(config, options.signature))
            released = _renumber(store, signed, checkout, theirs, options)
            released = replace(released, recovered=recovered, branch=checkout.name)
            store.forget()
            push = plan_push(store, route, released)
            refs = find_push_refs(repository.git, push) if push and options.push else {}
    except OSError as error:
        raise build_write_error(error) from None
    if push and options.push and refs:
        push = push_release(store, route, push, refs)
    return replace(released, push=push)


def _fetch_theirs(store: ArtifactStore, route: PushRoute) -> _Theirs:
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
    return _Theirs(route.to.name, refs.get(branch), tags)


def _renumber(
    store: ArtifactStore,
    repository: LockedRepository,
    checkout: Checkout,
    theirs: _Theirs,
    options: BumpOptions,
) -> Released:
    here = list_refs(repository.git, TAG_REFS)
    edits = _find_own_edits(store, repository, checkout, theirs, here)
    if edits is None:
        return Released((), (), renumbered=())
    _check_mentions_committed(store, repository, edits.tip, edits.withdrawn)
    with _open_clone(store, repository, theirs, edits, here) as clone:
        _replay_in_clone(store, repository, clone, edits, theirs)
        released = _release_in_clone(store, clone, edits.withdrawn, options)
        left = _renumber_other_parts(store, clone, edits, released)
        commit = clone.head
        versions = [version.tag for version in released.released if version.tag]
        new_tags = find_refs(clone.git, [TAG_REFS + tag for tag in versions])
    new, replaced = _plan_tags(store, here, theirs, new_tags, edits.withdrawn)
    changes = tuple(_list_changes(store, repository, edits.tip, commit, edits.withdrawn))
    published = released.released
    journal = Journal(checkout.branch, edits.tip, commit, new, changes, published, replaced)
    publish_once(repository, journal)
    findings = (*released.findings, *left)
    return replace(released, findings=findings, renumbered=edits.withdrawn)


def _find_own_edits(
    store: ArtifactStore,
    repository: LockedRepository,
    checkout: Checkout,
    theirs: _Theirs,
    here: Mapping[str, str],
) -> _OwnEdits | None:
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
    return _OwnEdits(checkout.name, checkout.tip, first.parents[0], later, tuple(withdrawn))


def _open_clone(
    store: ArtifactStore,
    repository: LockedRepository,
    theirs: _Theirs,
    edits: _OwnEdits,
    here: Mapping[str, str],
) -> AbstractContextManager[ScratchClone]:
    """Open a clone that stands before the own edits, with all tags but the withdrawn ones."""
    prefix = f"{TAG_REFS}{store.tag_prefix}"
    withdrawn = {prefix + ref for ref in edits.withdrawn}
    tags = {name: oid for name, oid in here.items() if name not in withdrawn}
    seed = CloneSeed(
        edits.branch, edits.start, {**theirs.tags, **tags}, store.prefix, repository.signature
    )
    return open_scratch_clone(repository.git, seed)


def _replay_in_clone(
    store: ArtifactStore,
    repository: LockedRepository,
    clone: ScratchClone,
    edits: _OwnEdits,
    theirs: _Theirs,
) -> None:
    """Merge theirs, and repeat the own edits on it; what was released becomes an edit."""
    if theirs.tip:
        message = f"Merge branch '{edits.branch}' of {theirs.remote}"
        _check_merged(clone.merge(theirs.tip, message), theirs)
    for alone in _split_commits(edits.later)[0]:
        _check_merged(clone.pick(alone.oid, is_committed=True), theirs)
    _repeat_edits(store, repository, clone, edits, theirs)
    _merge_lock(store, clone, edits, theirs)


def _plan_tags(
    store: ArtifactStore,
    here: Mapping[str, str],
    theirs: _Theirs,
    made: Mapping[str, str],
    withdrawn: Iterable[str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the tags to write, and the own ones that they replace, with what these point at now.

    A tag that others made again, and that is not mine, stays: it is for `verify` to report.
    """
    prefix = f"{TAG_REFS}{store.tag_prefix}"
    mine = {name: here[name] for ref in withdrawn if (name := prefix + ref) in here}
    other = sorted({**theirs.tags, **made}.items() - here.items())
    new = {name: oid for name, oid in other if name not in here or name in mine}
    gone = {name: oid for name, oid in mine.items() if name in new or name not in theirs.tags}
    return new, gone


def _list_own_commits(store: ArtifactStore, tip: str, theirs: str | None) -> Iterator[_OwnCommit]:
    """Yield the commits that the remote lacks, the oldest first."""
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
        yield _OwnCommit(oid, parents, frozenset(changed[oid]), released)


def _list_released(
    store: ArtifactStore, oid: str, parents: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    for name in names:
        before = store.ledgers.read_at(parents[0], name).by_version if parents else {}
        after = store.ledgers.read_at(oid, name).by_version
        yield from (f"{name}@{version}" for version in after.keys() - before.keys())


def _find_released_there(
    store: ArtifactStore, own: Sequence[_OwnCommit], tip: str, theirs: _Theirs
) -> set[str]:
    """Return the artifacts of which the remote's branch has more releases.

    Only artifacts that own commits released are looked at.
    """
    if not theirs.tip:
        return set()
    there, here = partial(store.ledgers.read_at, theirs.tip), partial(store.ledgers.read_at, tip)
    names = {ref.partition("@")[0] for commit in own for ref in commit.released}
    return {one for one in names if there(one).by_version.keys() - here(one).by_version}


def _has_met(unseen: Iterable[str], theirs: _Theirs, prefix: str, released_there: set[str]) -> bool:
    """Whether the remote has what collides with one of the `unseen` releases.

    That is another release of the same version, or one more release of the same artifact.
    """
    return any(
        prefix + ref in theirs.tags or ref.partition("@")[0] in released_there for ref in unseen
    )


def _list_unseen(
    store: ArtifactStore, commit: _OwnCommit, theirs: _Theirs, here: Mapping[str, str]
) -> Iterator[str]:
    """Yield the releases of a commit that never reached the remote.

    A push without `--atomic` brings only some of the tags.
    """
    for ref in commit.released:
        name = f"{TAG_REFS}{store.tag_prefix}{ref}"
        there = theirs.tags.get(name)
        # My own tag may be gone: `git fetch --tags --force` puts theirs in its place.
        if not there or there != here.get(name) or not _is_tag_of(store, there, commit.oid):
            yield ref


def _is_tag_of(store: ArtifactStore, oid: str, commit: str) -> bool:
    return store.git.run("rev-parse", "--verify", f"{oid}^{{commit}}").decode().strip() == commit


@dataclass(frozen=True, slots=True)
class _OwnEdits:
    """What is repeated on theirs as an edit.

    It is made of the commits from the first withdrawn release up to the tip.
    """

    branch: str
    tip: str
    start: str  # the commit before them
    later: Sequence[_OwnCommit]
    withdrawn: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The artifacts whose releases are withdrawn."""
        return tuple(dict.fromkeys(ref.partition("@")[0] for ref in self.withdrawn))


def _split_commits(later: Sequence[_OwnCommit]) -> tuple[list[_OwnCommit], list[_OwnCommit]]:
    """Return the commits that can be repeated as they are, and the others.

    The others are releases, and what goes on from them.
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


def _repeat_edits(
    store: ArtifactStore,
    repository: LockedRepository,
    clone: ScratchClone,
    edits: _OwnEdits,
    theirs: _Theirs,
) -> None:
    """Repeat what was released, and was edited since, as it is on disk.

    Its ledgers are withdrawn.
    """
    files: dict[str, TreeEntry | None] = {}
    for name in {ref.partition("@")[0] for ref in edits.withdrawn}:
        path = store.prefix + locate_ledger(name)
        files[path] = _write_ledger(store, repository, edits, name) or find_entry(
            store.objects, edits.start, path
        )
    own = _list_artifact_files(store, edits.withdrawn)
    files |= _write_working_files(store, repository, own, edits.tip)
    variant = clone.write_variant(edits.tip, edits.start, files)
    _check_merged(clone.pick(variant, is_committed=False), theirs)
    # A release commit can hold more than is withdrawn: a release that the remote has, or what was
    # amended.
    others = [commit.oid for commit in _split_commits(edits.later)[1] if not commit.released]
    rest = f"Keep what was committed with {edits.withdrawn[0]}"
    clone.commit_rest(["-C", others[0]] if others else ["-m", rest], own)


def _write_ledger(
    store: ArtifactStore, repository: LockedRepository, edits: _OwnEdits, name: str
) -> TreeEntry | None:
    """Write a ledger without the withdrawn releases; None where no later one reached the remote."""
    lines = store.ledgers.read_at(edits.tip, name).lines
    kept = [line for line in lines if f"{name}@{line.version}" not in edits.withdrawn]
    if len(kept) <= len(store.ledgers.read_at(edits.start, name).lines):
        return None
    raw = store.ledgers.read_at(edits.tip, name).raw
    data = b"".join(raw[line.number - 1] + b"\n" for line in kept)
    return TreeEntry("100644", _write_blob(repository, data))


def _check_merged(conflict: str | None, theirs: _Theirs) -> None:
    if conflict is not None:
        raise RefusedError(
            f"nothing was changed: both sides changed the same part of {conflict}",
            hint=_BOTH_HINT.format(theirs=theirs.tip or "", path=conflict),
        )


def _list_artifact_files(store: ArtifactStore, withdrawn: Sequence[str]) -> list[str]:
    """Return the files of the artifacts that are released anew, from the root of the repository."""
    names = list(dict.fromkeys(ref.partition("@")[0] for ref in withdrawn))
    # Ledgers are written without the withdrawn lines.
    ledgers = {locate_ledger(name) for name in names}
    return [store.prefix + path for path in list_part_files(store, names) if path not in ledgers]


def _check_mentions_committed(
    store: ArtifactStore, repository: LockedRepository, tip: str, withdrawn: Sequence[str]
) -> None:
    """Refuse uncommitted edits of other files that name a withdrawn release.

    By then the name would be that of another release.
    """
    for name, ref in list_mentions(store, withdrawn):
        path = store.prefix + name
        entry = find_entry(store.objects, tip, path)
        if entry and _find_disk_blob(repository, path) == entry.oid:
            continue
        if entry is None or not _differs_by_line_ends(store, repository, path, entry.oid):
            raise RefusedError(
                f"{path} has uncommitted edits and names {ref}, which gets another number",
                hint=f"commit it: git add {shlex.quote(path)}; git commit; then run it again",
            )


def _merge_lock(
    store: ArtifactStore, clone: ScratchClone, edits: _OwnEdits, theirs: _Theirs
) -> None:
    """Write the lock of both sides into the clone.

    It says nothing of what is withdrawn, and no merge has torn it.
    """
    fork = find_fork(store.git, edits.tip, theirs.tip) if theirs.tip else edits.start
    base, ours, other = (_read_lock_at(store, commit) for commit in (fork, edits.tip, theirs.tip))
    merged = merge_locks(base, ours, other, edits.withdrawn)
    if merged.exists:
        write_below(clone.folder / store.prefix, LOCK_FILE, write_lock(merged))


def _read_lock_at(store: ArtifactStore, commit: str | None) -> Lock:
    data = store.read_file_at(commit, LOCK_FILE, LOCK_LIMIT) if commit else None
    return NO_LOCK if data is None else read_lock(data)


def _renumber_other_parts(
    store: ArtifactStore, clone: ScratchClone, edits: _OwnEdits, released: Released
) -> list[str]:
    """Let all else that a release touches follow its new number.

    That is committed after the release. Returns what did not follow.
    """
    with ArtifactStore.open(clone.folder / store.prefix) as inner:
        files = {name: inner.read_artifact(parse_ref(f"{name}@worktree")) for name in edits.names}
        now = {name: f"{name}@{file.version}" for name, file in files.items()}
        versions = {ref: now[ref.partition("@")[0]] for ref in edits.withdrawn}
        touched = chain.from_iterable(commit.paths for commit in edits.later)
        paths = frozenset(path.removeprefix(store.prefix) for path in touched)
        moved = {old: new for old, new in versions.items() if old != new}
        left = write_renumbered_parts(inner, Renumbering(moved, paths))
    first = released.released[0].ref if released.released else edits.withdrawn[0]
    clone.commit_rest(["-m", f"Let what refers to {first} follow it"], [])
    return left


def _write_working_files(
    store: ArtifactStore, repository: LockedRepository, paths: Sequence[str], tip: str
) -> dict[str, TreeEntry]:
    """Write files as they are on disk, and return their entries.

    The edits since the release are in them.
    """
    normalized = find_normalized(store, paths)
    found: dict[str, TreeEntry] = {}
    for path in paths:
        file = repository.top / path
        entry = find_entry(store.objects, tip, path)
        if entry is None or file.is_symlink() or not file.is_file():
            continue
        data = file.read_bytes()
        kept = normalize_line_ends(data) if path in normalized else data
        found[path] = TreeEntry(entry.mode, _write_blob(repository, kept))
    return found


def _release_in_clone(
    store: ArtifactStore,
    clone: ScratchClone,
    withdrawn: Sequence[str],
    options: BumpOptions,
) -> Released:
    with ArtifactStore.open(clone.folder / store.prefix) as inner:
        wanted = {ref.partition("@")[0] for ref in withdrawn}
        anew = BumpOptions(
            [ref.name for ref in inner.working() if ref.name in wanted],
            renumbered=frozenset(withdrawn),
            message=options.message,
            sign=options.sign or is_signature_required(inner.settings),
            signature=clone.signature,
            today=options.today,
        )
        return release_under_lock(inner, anew)[0]


def _list_changes(
    store: ArtifactStore, repository: LockedRepository, old: str, new: str, withdrawn: Sequence[str]
) -> Iterator[FileChange]:
    """Yield the files that differ.

    Raises `RefusedError` for one with uncommitted edits, which only own files may have.
    """
    out = repository.git.run(
        "diff-tree", "-r", "--no-renames", "--raw", "-z", "--abbrev=64", old, new
    )
    fields = out.decode("utf-8", "surrogateescape").split("\0")
    rows = [(head.split(" "), path) for head, path in zip(fields[0::2], fields[1::2], strict=False)]
    mine = set(_list_artifact_files(store, withdrawn))
    staged = read_index(repository.git).blobs
    for (_, mode, old_blob, blob, kind), path in rows:
        before = None if old_blob.strip("0") == "" else old_blob
        if mode in {_LINK, _MODULE}:
            raise RefusedError(
                f"theirs changes {path}, which is a link or a submodule: evalstore writes neither",
                hint=(
                    "take it first: git switch --detach; git pull; or: git tag -d "
                    f"{withdrawn[0]}, then git pull"
                ),
            )
        on_disk = _find_disk_blob(repository, path)
        worked = None
        if on_disk != before and path not in mine:
            if (
                before is None
                or on_disk is None
                or not _differs_by_line_ends(store, repository, path, before)
            ):
                raise _refuse_edited(path)
            worked = _write_crlf(store, repository, blob) if kind != "D" else None
        if staged.get(path) != before:
            raise _refuse_edited(path)
        yield FileChange(
            path, REMOVED if kind == "D" else mode, blob, on_disk, staged.get(path), worked
        )


def _refuse_edited(path: str) -> RefusedError:
    return RefusedError(
        f"{path} has uncommitted edits, and theirs changes it, too",
        hint="commit it, or git stash; then run it again",
    )


def _find_disk_blob(repository: LockedRepository, path: str) -> str | None:
    try:
        return hash_working_file(repository.top, path, repository.hex_digits)
    except EvalstoreError:
        return None


def _differs_by_line_ends(
    store: ArtifactStore, repository: LockedRepository, path: str, blob: str
) -> bool:
    data = (repository.top / path).read_bytes()
    return (
        bool(find_normalized(store, [path]))
        and normalize_line_ends(data) == store.objects.read(blob).data
    )


def _write_crlf(store: ArtifactStore, repository: LockedRepository, blob: str) -> str:
    return _write_blob(
        repository, normalize_line_ends(store.objects.read(blob).data).replace(b"\n", b"\r\n")
    )


def _write_blob(repository: LockedRepository, data: bytes) -> str:
    return write_objects(repository.git, [("blob", data)], hex_digits=repository.hex_digits)[0]
