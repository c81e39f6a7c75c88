"""The references that artifacts hold, rows included: which pins would dangle, and how they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.model import Artifact, Ref, parse_ref, pins_of
from evalstore.release.moves import Moves
from evalstore.store import ArtifactStore, Resolved
from evalstore.versions import Version, find_version


def references(store: ArtifactStore, resolved: Resolved, moves: Moves | None = None) -> Iterator[tuple[Place, Ref]]:
    """Yield every reference of an artifact, after its `moves`, and its place; a `RefError` where one cannot be read."""
    document, moved = resolved.artifact.document, moves or {}
    for pointer, text in pins_of(resolved.kind, resolved.artifact.value):
        yield _placed(document.place(pointer), moved.get(text, text))
    for number, row in enumerate(store.read_rows(resolved), start=1):
        ref = row.get("rubric_ref")
        if isinstance(ref, str):
            place = Place(f"{resolved.kind.folder}/{resolved.artifact.value['rows']}", number)
            yield _placed(place, moved.get(ref, ref))


def check_pins(pins: Iterable[tuple[Place, Ref]], versions: Mapping[str, Iterable[Version]]) -> None:
    """Refuse a pin that no version of `versions` (by name) meets."""
    for place, ref in pins:
        known = sorted(versions.get(ref.name, ()))
        if ref.names_release and not any(_meets(ref, version) for version in known):
            raise RefusedError(
                f"{ref} is not released, and not in this bump",
                place=place,
                hint=f"pin {ref.name}@{known[-1]}, or one before it"
                if known
                else f"name {ref.name} in the same bump, or pin another",
            )


def loader(store: ArtifactStore, drafts: Mapping[str, Artifact]) -> Callable[[str], Artifact]:
    """Return how references are loaded while `drafts`, by `<kind>/<id>@<version>`, are about to be released."""

    def load(text: str) -> Artifact:
        ref = parse_ref(text)
        try:
            return store.load(ref)
        except RefError:
            if (draft := drafts.get(f"{ref.name}@{ref.version}")) is None:
                raise
            return draft

    return load


def working_loader(store: ArtifactStore) -> Callable[[str], Artifact]:
    """Return how the references of working files are loaded: the next version of an artifact is its working file."""

    def load(text: str) -> Artifact:
        ref = parse_ref(text)
        try:
            return store.load(ref)
        except RefError:
            with suppress(EvalstoreError):
                draft = store.load(f"{ref.name}@worktree")
                if ref.version is not None and find_version(draft.version) == ref.version:
                    return draft
            raise

    return load


def _placed(place: Place, text: str) -> tuple[Place, Ref]:
    try:
        return place, parse_ref(text)
    except RefError as error:
        raise RefError(error.message, place=place, hint=error.hint) from None


def _meets(ref: Ref, version: Version) -> bool:
    if ref.version is not None:
        return version == ref.version
    return version in ref.range if ref.range else True
