"""Writes evalstore.lock: what every reference of a store means, as it was locked before, else as it is today."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.files import read_below, sweep_below, write_below
from evalstore.integrity.records import describe_rewrite, find_tag_object
from evalstore.model import PinType, Ref, compute_digests, parse_ref
from evalstore.model.lock import LIMIT, LOCK_FILE, Lock, LockedLedger, LockEntry, write_lock
from evalstore.references.reading import FindPlace, walk_references
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import resolve_unlocked
from evalstore.transactions.locking import lock_repository

_FIXED = frozenset({PinType.EXACT, PinType.WORKTREE})  # kinds of pins that cannot move


@dataclass(frozen=True, slots=True)
class LockedRef:
    """One reference and the version that it is locked at; `previous` is the one before, None when it was not locked."""

    ref: str
    version: str
    previous: str | None
    changed: bool


@dataclass(frozen=True, slots=True)
class LockResult:
    """The lock after `lock`: `written` is False when nothing changed; to `removed` nothing refers any more."""

    path: str
    written: bool
    refs: tuple[LockedRef, ...]
    removed: tuple[str, ...]
    ledgers: int


def lock(
    store: ArtifactStore,
    refs: Sequence[str] = (),
    *,
    update: bool = False,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> LockResult:
    """Write the lock of a store; a reference that was locked before stays where it was.

    `update` moves floating references (ranges, `latest`, no pin, a branch) to what they mean today: those of `refs`,
    by name or as they are written, or all. Raises `RefusedError`, and writes nothing, where content that was locked
    has changed since, and `RefError` for one of `refs` that nothing refers to. `watch` wraps the iterations over
    artifacts and references (a progress bar).
    """
    if store.root is None:
        raise RefusedError("a bare repository has no working tree to lock", hint="run it in a clone")
    old, selectors = store.lock, [parse_ref(text) for text in refs]
    references = _resolve_references(store, lambda ref: update and _can_move(ref, selectors), watch)
    unused = (selector for selector in selectors if not any(_selects(selector, ref) for ref, _ in references))
    if selector := next(unused, None):
        raise RefError(f"nothing in this store refers to {selector}", hint="evalstore lock names what it holds")
    entries = {str(ref): _lock_reference(store, resolved) for ref, resolved in references}
    new = Lock(entries, _lock_ledgers(store, old))
    data = write_lock(new)
    written = not old.exists or read_below(store.root, LOCK_FILE, LIMIT) != data
    if written:
        with lock_repository(store, {}):
            # Only a killed process can have left a temporary file: nobody else writes while the repository is locked.
            sweep_below(store.root, LOCK_FILE)
            write_below(store.root, LOCK_FILE, data)
        store.forget()
    locked = tuple(_make_locked_ref(ref, entry, old.refs.get(ref)) for ref, entry in sorted(entries.items()))
    return LockResult(LOCK_FILE, written, locked, tuple(sorted(old.refs.keys() - entries.keys())), len(new.ledgers))


def _can_move(ref: Ref, selectors: Sequence[Ref]) -> bool:
    return ref.type not in _FIXED and (not selectors or any(_selects(selector, ref) for selector in selectors))


def _selects(selector: Ref, ref: Ref) -> bool:
    return str(selector) == str(ref) or (selector.type is PinType.NONE and selector.name == ref.name)


def _resolve_references(
    store: ArtifactStore, moves: Callable[[Ref], bool], watch: Callable[[Sequence[Any]], Iterable[Any]]
) -> list[tuple[Ref, Resolved]]:
    def resolve_at(find_place: FindPlace, ref: Ref) -> Resolved:
        try:
            return resolve_unlocked(store, ref) if moves(ref) else store.resolve(ref)
        except EvalstoreError as error:
            error.place = error.place or find_place()
            raise

    return [(ref, resolved) for _, ref, resolved in walk_references(store, resolve_at, watch=watch) if resolved]


def _lock_reference(store: ArtifactStore, resolved: Resolved) -> LockEntry:
    digest, scoring_digest = compute_digests(resolved.artifact)
    return LockEntry(
        version=resolved.version,
        tag_object=find_tag_object(store, resolved),
        commit=resolved.commit or "",
        blob=resolved.blob or "",
        digest=digest,
        scoring_digest=scoring_digest,
        rows=find_rows_blob(store, resolved.artifact, resolved.commit),
    )


def _lock_ledgers(store: ArtifactStore, old: Lock) -> dict[str, LockedLedger]:
    for name, locked_ledger in old.ledgers.items():
        if change := describe_rewrite(store.ledgers.read(name), locked_ledger):
            raise RefusedError(
                f"the ledger of {name} does not go on from what was locked: {change}",
                place=Place(LOCK_FILE, locked_ledger.line),
                hint=f"evalstore verify {name}; to lock it as it is, take its line out of {LOCK_FILE}",
            )
    # A ledger only grows, so that the lines of today hold until the next lock, too.
    store.ledgers.expect(names := store.ledgers.list_names())
    ledgers = {name: store.ledgers.read(name) for name in names}
    lengths = {name: len(ledger.raw) for name, ledger in ledgers.items()}
    return {name: LockedLedger(length, ledgers[name].hash_prefix(length)) for name, length in lengths.items() if length}


def _make_locked_ref(ref: str, entry: LockEntry, old: LockEntry | None) -> LockedRef:
    return LockedRef(ref, entry.version, old.version if old else None, entry != old)
