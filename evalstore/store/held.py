"""References as evalstore.lock holds them: the version that was locked, and refused when its content is another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evalstore.errors import Place, RefusedError
from evalstore.model import PinType, Ref
from evalstore.model.lock import LOCK_FILE, Held
from evalstore.store.resolve import Resolved, can_mean, resolve_at_commit, resolve_release, resolve_unlocked
from evalstore.store.rows import rows_blob
from evalstore.versions import Version, find_version

if TYPE_CHECKING:
    from evalstore.store.store import ArtifactStore


def resolve_ref(store: ArtifactStore, ref: Ref) -> Resolved:
    """Resolve one reference: as the lock holds it, else as it is today."""
    if ref.type is PinType.WORKTREE:
        return resolve_unlocked(store, ref)
    held = store.lock.refs.get(str(ref)) or store.lock.releases.get(f"{ref.name}@{ref.version}")
    return resolve_unlocked(store, ref) if held is None else _as_held(store, ref, held)


def find_locked_version(ref: Ref, held: Held) -> Version | None:
    """Return the version that a lock holds a reference at; None when the reference can never mean it."""
    version = find_version(held.version)
    if version is None or str(version) != held.version:
        return None
    possible = version == ref.version if ref.version else can_mean(ref, version)
    return version if possible else None


def _as_held(store: ArtifactStore, ref: Ref, held: Held) -> Resolved:
    revision = ref.type is PinType.REVISION
    found = resolve_at_commit(store, ref, held.commit) if revision else _at_version(store, ref, held)
    if found.blob != held.blob:
        raise _refused(f"{ref} has other content than it had when it was locked", held, ref)
    if held.rows != rows_blob(store, found.artifact, found.commit):
        raise _refused(f"the rows of {ref} are not those that were locked", held, ref)
    return replace(found, floating=False, locked=True)


def _at_version(store: ArtifactStore, ref: Ref, held: Held) -> Resolved:
    version = find_locked_version(ref, held)
    if version is None:
        raise _refused(f"{ref} is locked at {held.version or 'no version'}, which it cannot mean", held, ref)
    if store.tags.find(store.tags.grammar.format_name(ref.kind, ref.id, version)) is None:
        raise _refused(f"{ref} is locked at {version}, and there is no such tag", held, ref)
    return resolve_release(store, ref, version)


def _refused(message: str, held: Held, ref: Ref) -> RefusedError:
    return RefusedError(message, place=Place(LOCK_FILE, held.line or None), hint=f"evalstore verify {ref.name}")
