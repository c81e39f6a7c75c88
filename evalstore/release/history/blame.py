"""Blame: lists an artifact's parts with place and value, and who gave each its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalstore.diff.rubric_state import read_rubric_state
from evalstore.errors import LoadError
from evalstore.model import Kind
from evalstore.release.history.artifact_parts import (
    FILE,
    ArtifactPart,
    PartPlace,
    list_own_fields,
    list_parts,
)
from evalstore.release.history.origins import OriginFinder, PartOrigin, iterate_resolved_questions
from evalstore.store import ArtifactStore, Resolved


@dataclass(frozen=True, slots=True)
class BlamedPart:
    """One part in the artifact, and the origin of its value."""

    part: ArtifactPart
    place: PartPlace
    origin: PartOrigin


@dataclass(frozen=True, slots=True)
class Blame:
    """The parts of one version of an artifact, check by check, each with its origin."""

    resolved: Resolved
    parts: tuple[BlamedPart, ...]


def blame(store: ArtifactStore, ref: str) -> Blame:
    """Return who last changed the meaning of each part of what `ref` means.

    Comments, layout and order have no meaning. A default that is not in the file is listed only if
    it took its value later than what it belongs to. Raises `LoadError` for a malformed artifact.
    """
    resolved = store.resolve(ref)
    places = dict(_list_places(store, resolved))
    if not places:
        raise LoadError(
            f"{resolved.ref} cannot be read part by part",
            hint="see what is wrong: evalstore validate",
        )
    # A default counts if it took its value in another commit than the one that brought its check,
    # or the rubric.
    is_rubric = resolved.kind is Kind.RUBRIC
    owners = {part: _find_owner(part) for part in places} if is_rubric else {}
    origins = OriginFinder(store).find_origins(None, resolved, {*places, *owners.values()})
    blamed: list[BlamedPart] = []
    for part, place in places.items():
        if place.is_written or origins[part] != origins[owners[part]]:
            blamed.append(BlamedPart(part, place, origins[part]))
    return Blame(resolved, tuple(blamed))


def _find_owner(part: ArtifactPart) -> ArtifactPart:
    return FILE if part.area == "scoring" else ArtifactPart("presence", part.name)


def _list_places(
    store: ArtifactStore, resolved: Resolved
) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    """Yield an artifact's parts by check, key or question; none for a malformed rubric."""
    value = resolved.artifact.value
    rubric = read_rubric_state(value) if resolved.kind is Kind.RUBRIC else None
    yield from (
        (one.part, one.place) for one in list_parts(resolved.kind, value, rubric) if one.place
    )
    defaults, folder = value.get("defaults", {}), "rows" if "rows" in value else "questions"
    for index, question in enumerate(iterate_resolved_questions(store, resolved)):
        own = list_own_fields(question, defaults)
        yield ArtifactPart("question", question.id), PartPlace((folder, index), own)
