"""Every reference of a store: those of its files and settings, and those of what they lead to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from evalstore.errors import Place, RefError
from evalstore.model import Kind, PinType, Ref, is_id, parse_ref
from evalstore.references.reading import list_references
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.locate import SETTINGS_FILE
from evalstore.store.objects import list_folder
from evalstore.store.resolve import resolve_unlocked
from evalstore.store.revisions import resolve_head

ReferenceResolver = Callable[[Place, Ref], Resolved | None]


def walk_references(store: ArtifactStore, resolve: ReferenceResolver) -> Iterator[tuple[Place, Ref, Resolved | None]]:
    """Yield each reference once, with the first place that has it and what `look` says that it means.

    What is found is followed: scoring by a released dataset reads the rubrics that *it* pins. A file on disk is none
    that a lock can hold. Raises what reading the store's own files raises.
    """
    seen: set[str] = set()
    waiting = deque(_list_store_references(store))
    while waiting:
        place, ref = waiting.popleft()
        if str(ref) in seen or ref.type is PinType.WORKTREE:
            continue
        seen.add(str(ref))
        resolved = resolve(place, ref)
        yield place, ref, resolved
        if resolved:
            waiting += _drop_repeated(list_references(store, resolved), seen)


def _list_store_references(store: ArtifactStore) -> Iterator[tuple[Place, Ref]]:
    for ref in _list_artifacts(store):
        yield from _drop_repeated(list_references(store, resolve_unlocked(store, ref)), set())
    targets = store.settings.get("targets")
    for target in targets.values() if isinstance(targets, dict) else ():
        if isinstance(target, dict) and isinstance(text := target.get("dataset"), str):
            yield Place(SETTINGS_FILE), _parse_target(text)


def _list_artifacts(store: ArtifactStore) -> list[Ref]:
    """Return the artifacts on disk, or in a bare repository those of HEAD."""
    if store.root is not None:
        return store.list_working_refs()
    commit = resolve_head(store.git)
    return [
        Ref(kind, name[:-5], f"git:{commit}", PinType.REVISION, revision=commit)
        for kind in Kind
        for name in sorted(list_folder(store.objects, commit, store.prefix + kind.folder))
        if name.endswith(".yaml") and is_id(name[:-5])
    ]


def _drop_repeated(found: Iterator[tuple[Place, Ref]], seen: set[str]) -> list[tuple[Place, Ref]]:
    first = {str(ref): (place, ref) for place, ref in reversed(list(found)) if str(ref) not in seen}
    return list(reversed(first.values()))


def _parse_target(text: str) -> Ref:
    try:
        return parse_ref(text)
    except RefError as error:
        raise RefError(error.message, place=Place(SETTINGS_FILE), hint=error.hint) from None
