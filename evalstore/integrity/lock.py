"""Writes evalstore.lock: every reference of a store as it was locked before, else as it is today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.files import read_below, sweep_below, write_below
from evalstore.integrity.records import describe_rewrite
from evalstore.model import PinType, Ref, parse_ref
from evalstore.model.lock import LIMIT, LOCK_FILE, Lock, LockedLedger, LockEntry, write_lock
from evalstore.references.reading import walk_references
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import resolve_unlocked
from evalstore.transactions.locking import lock_repository


@dataclass(frozen=True, slots=True)
class LockedRef:
    """One reference as it is locked; `previous` is the version that it was locked at before, None when it was not."""

    ref: str
    version: str
    previous: str | None
    changed: bool


@dataclass(frozen=True, slots=True)
class LockResult:
    """A lock as it was written: `written` is false when the file was so already; `removed` is referred to no more."""

    path: str
    written: bool
    refs: tuple[LockedRef, ...]
    removed: tuple[str, ...]
    ledgers: int


_FIXED = frozenset({PinType.EXACT, PinType.WORKTREE})


def lock(store: ArtifactStore, refs: Sequence[str] = (), *, update: bool = False) -> LockResult:
    """Write the lock of a store; what it held before it holds on to.

    `update` lets references that float (ranges, `latest`, no pin, a branch) mean what they mean today: those of
    `refs`, by name or as they are written, or all. Raises `RefusedError` where what was locked has changed since: a
    lock never forgets that by itself. Nothing is written then.
    """
    if store.root is None:
        raise RefusedError("a bare repository has no working tree to lock", hint="run it in a clone")
    old, selected = store.lock, [parse_ref(text) for text in refs]
    references = _resolve_references(store, lambda ref: update and ref.type not in _FIXED and _is_selected(ref, selected))
    if unused := next((one for one in selected if not any(_selects(one, ref) for ref, _ in references)), None):
        raise RefError(f"nothing in this store refers to {unused}", hint="evalstore lock names what it holds")
    held = {str(ref): _lock_reference(store, resolved) for ref, resolved in references}
    new = Lock(held, _lock_ledgers(store, old))
    data = write_lock(new)
    written = not old.exists or read_below(store.root, LOCK_FILE, LIMIT) != data
    if written:
        with lock_repository(store, {}):
            sweep_below(store.root, LOCK_FILE)  # what a killed one left; the lock keeps the living out
            write_below(store.root, LOCK_FILE, data)
        store.forget()
    entries = tuple(_make_locked_ref(ref, one, old.refs.get(ref)) for ref, one in sorted(held.items()))
    return LockResult(LOCK_FILE, written, entries, tuple(sorted(old.refs.keys() - held.keys())), len(new.ledgers))


def _is_selected(ref: Ref, selected: Sequence[Ref]) -> bool:
    return not selected or any(_selects(one, ref) for one in selected)


def _selects(one: Ref, ref: Ref) -> bool:
    return str(one) == str(ref) or (one.type is PinType.NONE and one.name == ref.name)


def _resolve_references(store: ArtifactStore, moves: Callable[[Ref], bool]) -> list[tuple[Ref, Resolved]]:
    def resolve_at(place: Place, ref: Ref) -> Resolved:
        try:
            return resolve_unlocked(store, ref) if moves(ref) else store.resolve(ref)
        except EvalstoreError as error:
            error.place = error.place or place
            raise

    return [(ref, resolved) for _, ref, resolved in walk_references(store, resolve_at) if resolved]


def _lock_reference(store: ArtifactStore, resolved: Resolved) -> LockEntry:
    tag = store.tags.find(resolved.tag) if resolved.tag else None
    return LockEntry(
        version=resolved.version,
        tag_object=tag.oid if tag and tag.target else None,
        commit=resolved.commit or "",
        blob=resolved.blob or "",
        digest=resolved.digest,
        scoring_digest=resolved.scoring_digest,
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
    ledgers = {name: store.ledgers.read(name) for name in store.ledgers.list_names()}
    lengths = {name: len(ledger.raw) for name, ledger in ledgers.items()}
    return {name: LockedLedger(length, ledgers[name].hash_prefix(length)) for name, length in lengths.items() if length}


def _make_locked_ref(ref: str, held: LockEntry, old: LockEntry | None) -> LockedRef:
    return LockedRef(ref, held.version, old.version if old else None, held != old)
