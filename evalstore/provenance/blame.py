"""Lists who last changed the meaning of each part of an artifact: version, commit, author, date and subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalstore.errors import LoadError
from evalstore.model import Kind
from evalstore.provenance.artifact_parts import FILE, ArtifactPart
from evalstore.provenance.origins import OriginFinder, PartOrigin, iterate_resolved_questions
from evalstore.provenance.part_places import PartPlace, list_places
from evalstore.store import ArtifactStore, Resolved


@dataclass(frozen=True, slots=True)
class BlamedPart:
    """One part as the artifact has it, and the origin of its value."""

    part: ArtifactPart
    place: PartPlace
    origin: PartOrigin


@dataclass(frozen=True, slots=True)
class Blame:
    """The parts of one version of an artifact, check by check, each with its origin."""

    resolved: Resolved
    parts: tuple[BlamedPart, ...]


def blame(store: ArtifactStore, ref: str) -> Blame:
    """Return who last changed the meaning of each part of what `ref` means; comments, layout and order are none.

    A default that stands nowhere in the file is listed only where it took its value later than what it belongs to.
    Raises `LoadError` for an artifact that is malformed.
    """
    resolved = store.resolve(ref)
    places = dict(list_places(resolved.artifact, iterate_resolved_questions(store, resolved)))
    if not places:
        raise LoadError(f"{resolved.ref} cannot be taken apart", hint="evalstore validate says why")
    owners = {part: _find_owner(part) for part in places if resolved.kind is Kind.RUBRIC}
    origins = OriginFinder(store).find_origins(None, resolved, {*places, *owners.values()})
    return Blame(
        resolved,
        tuple(
            BlamedPart(part, place, origins[part])
            for part, place in places.items()
            if place.is_written or _is_later(part, owners, origins)
        ),
    )


def _find_owner(part: ArtifactPart) -> ArtifactPart:
    return FILE if part.area == "scoring" else ArtifactPart("presence", part.name)


def _is_later(
    part: ArtifactPart, owners: Mapping[ArtifactPart, ArtifactPart], origins: Mapping[ArtifactPart, PartOrigin]
) -> bool:
    """Whether a part took its value in another commit than the one that brought its check, or the rubric."""
    return origins[part] != origins[owners[part]]
