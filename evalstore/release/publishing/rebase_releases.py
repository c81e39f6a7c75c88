"""`bump --again`: takes in others' releases that have the numbers of unpushed ones.

The unpushed releases are then released again. Everything is first tried in a scratch clone. The
result is published like any bump: by a journal, with the branch, the tags and the files together or
not at all.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain

from evalstore.errors import RefusedError
from evalstore.files import write_below
from evalstore.model import parse_ref
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, merge_locks, read_lock, write_lock
from evalstore.release.changes.values import Released
from evalstore.release.publishing.bump import build_write_error, release_under_lock
from evalstore.release.publishing.own_edits import (
    OwnEdits,
    RemoteState,
    fetch_remote_state,
    find_own_edits,
    split_commits,
)
from evalstore.release.publishing.publish import publish_once
from evalstore.release.publishing.push import (
    find_push_refs,
    find_push_route,
    plan_push,
    push_release,
)
from evalstore.release.publishing.release_parts import (
    Renumbering,
    list_mentions,
    list_part_files,
    write_renumbered_parts,
)
from evalstore.release.publishing.step import BumpOptions
from evalstore.release.transactions.checkout import Checkout, complete_signature, find_checkout
from evalstore.release.transactions.disk_changes import (
    find_disk_blob,
    has_other_line_ends,
    list_changes,
    write_blob,
    write_working_files,
)
from evalstore.release.transactions.journal import Journal
from evalstore.release.transactions.locking import LockedRepository, lock_repository
from evalstore.release.transactions.recovery import recover_interrupted
from evalstore.store import ArtifactStore
from evalstore.store.ledger import locate_ledger
from evalstore.store.repository.config import read_config
from evalstore.store.repository.objects import find_entry
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.revisions import (
    find_fork,
    find_refs,
    list_refs,
    read_head,
)
from evalstore.store.scratch_clone import CloneSeed, ScratchClone, open_scratch_clone
from evalstore.store.signers import is_signature_required
from evalstore.store.tags import TAG_REFS

_BOTH_HINT = (
    "write there what both of you want (theirs: git show {theirs}:{path}), then run it again"
)


def bump_again(store: ArtifactStore, options: BumpOptions) -> Released:
    """Take in what the branch has at its remote, and release again what needs another number.

    That is everything unpushed whose number is taken. Raises `RefusedError` before anything
    changes: for a part that both sides changed, for files with uncommitted edits that theirs would
    replace, and if there is no remote.
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to release", hint="run it in a clone"
        )
    config = read_config(store.git)
    route = find_push_route(config, read_head(store.git).branch, remote_name=options.push or True)
    if route is None:
        raise RefusedError("there is no remote to compare with", hint="git remote add origin <url>")
    theirs = fetch_remote_state(store, route)
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


def _renumber(
    store: ArtifactStore,
    repository: LockedRepository,
    checkout: Checkout,
    theirs: RemoteState,
    options: BumpOptions,
) -> Released:
    here = list_refs(repository.git, TAG_REFS)
    edits = find_own_edits(store, repository, checkout, theirs, here)
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
    own = _list_artifact_files(store, edits.withdrawn)
    changes = tuple(list_changes(store, repository, (edits.tip, commit), own, theirs.tip))
    published = released.released
    journal = Journal(checkout.branch, edits.tip, commit, new, changes, published, replaced)
    publish_once(repository, journal)
    findings = (*released.findings, *left)
    return replace(released, findings=findings, renumbered=edits.withdrawn)


def _open_clone(
    store: ArtifactStore,
    repository: LockedRepository,
    theirs: RemoteState,
    edits: OwnEdits,
    here: Mapping[str, str],
) -> AbstractContextManager[ScratchClone]:
    """Open a clone at the commit before the own edits, with all tags but the withdrawn ones."""
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
    edits: OwnEdits,
    theirs: RemoteState,
) -> None:
    """Merge theirs, and repeat the own edits on top; what was released becomes an edit."""
    if theirs.tip:
        message = f"Merge branch '{edits.branch}' of {theirs.remote}"
        _check_merged(clone.merge(theirs.tip, message), theirs)
    for alone in split_commits(edits.later)[0]:
        _check_merged(clone.pick(alone.oid, is_committed=True), theirs)
    _repeat_edits(store, repository, clone, edits, theirs)
    _merge_lock(store, clone, edits, theirs)


def _plan_tags(
    store: ArtifactStore,
    here: Mapping[str, str],
    theirs: RemoteState,
    made: Mapping[str, str],
    withdrawn: Iterable[str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the tags to write, and the own tags they replace, with what these point at now.

    A tag that others made again, and that is not ours, stays for `verify` to report.
    """
    prefix = f"{TAG_REFS}{store.tag_prefix}"
    mine = {name: here[name] for ref in withdrawn if (name := prefix + ref) in here}
    other = sorted({**theirs.tags, **made}.items() - here.items())
    new = {name: oid for name, oid in other if name not in here or name in mine}
    gone = {name: oid for name, oid in mine.items() if name in new or name not in theirs.tags}
    return new, gone


def _repeat_edits(
    store: ArtifactStore,
    repository: LockedRepository,
    clone: ScratchClone,
    edits: OwnEdits,
    theirs: RemoteState,
) -> None:
    """Repeat what was released, and edited since, as it is on disk.

    Its ledgers are withdrawn.
    """
    files: dict[str, TreeEntry | None] = {}
    for name in {ref.partition("@")[0] for ref in edits.withdrawn}:
        path = store.prefix + locate_ledger(name)
        files[path] = _write_ledger(store, repository, edits, name) or find_entry(
            store.objects, edits.start, path
        )
    own = _list_artifact_files(store, edits.withdrawn)
    files |= write_working_files(store, repository, own, edits.tip)
    variant = clone.write_variant(edits.tip, edits.start, files)
    _check_merged(clone.pick(variant, is_committed=False), theirs)
    # A release commit can contain more than is withdrawn: a release that the remote has, or amended
    # changes.
    others = [commit.oid for commit in split_commits(edits.later)[1] if not commit.released]
    rest = f"Keep what was committed with {edits.withdrawn[0]}"
    clone.commit_rest(["-C", others[0]] if others else ["-m", rest], own)


def _write_ledger(
    store: ArtifactStore, repository: LockedRepository, edits: OwnEdits, name: str
) -> TreeEntry | None:
    """Write a ledger without the withdrawn releases; None if no later one reached the remote."""
    lines = store.ledgers.read_at(edits.tip, name).lines
    kept = [line for line in lines if f"{name}@{line.version}" not in edits.withdrawn]
    if len(kept) <= len(store.ledgers.read_at(edits.start, name).lines):
        return None
    raw = store.ledgers.read_at(edits.tip, name).raw
    data = b"".join(raw[line.number - 1] + b"\n" for line in kept)
    return TreeEntry("100644", write_blob(repository, data))


def _check_merged(conflict: str | None, theirs: RemoteState) -> None:
    if conflict is not None:
        raise RefusedError(
            f"nothing was changed: both sides changed the same part of {conflict}",
            hint=_BOTH_HINT.format(theirs=theirs.tip or "", path=conflict),
        )


def _list_artifact_files(store: ArtifactStore, withdrawn: Sequence[str]) -> list[str]:
    """Return the files of the artifacts that are released again, from the repository's root."""
    names = list(dict.fromkeys(ref.partition("@")[0] for ref in withdrawn))
    # Ledgers are written without the withdrawn lines.
    ledgers = {locate_ledger(name) for name in names}
    return [store.prefix + path for path in list_part_files(store, names) if path not in ledgers]


def _check_mentions_committed(
    store: ArtifactStore, repository: LockedRepository, tip: str, withdrawn: Sequence[str]
) -> None:
    """Refuse uncommitted edits of other files that name a withdrawn release.

    By then the name would mean another release.
    """
    for name, ref in list_mentions(store, withdrawn):
        path = store.prefix + name
        entry = find_entry(store.objects, tip, path)
        if entry and find_disk_blob(repository, path) == entry.oid:
            continue
        if entry is None or not has_other_line_ends(store, repository, path, entry.oid):
            raise RefusedError(
                f"{path} has uncommitted edits and names {ref}, which gets another number",
                hint=f"commit it: git add {shlex.quote(path)}; git commit; then run it again",
            )


def _merge_lock(
    store: ArtifactStore, clone: ScratchClone, edits: OwnEdits, theirs: RemoteState
) -> None:
    """Write the lock of both sides into the clone.

    It says nothing about what is withdrawn, and no merge has torn it.
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
    store: ArtifactStore, clone: ScratchClone, edits: OwnEdits, released: Released
) -> list[str]:
    """Make everything else that a release touches follow its new number.

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
