"""How far a change goes: who refers to the artifact, what its scores reach, and which pins would stay behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evalstore.model import PinType, Ref
from evalstore.references.reading import ArtifactReference
from evalstore.release.values import ArtifactState, ArtifactStatus, ReachCounts, StalePin
from evalstore.release.web import ReferenceGraph
from evalstore.store.resolve import can_mean
from evalstore.versions import Version, find_version

_PINNED = frozenset({PinType.EXACT, PinType.RANGE})


def add_dependents(standing: ArtifactStatus, graph: ReferenceGraph) -> ArtifactStatus:
    """Return a standing with what refers to its artifact, near and far."""
    users, reach = graph.find_references_to(standing.ref), graph.find_reached(standing.ref)
    return replace(
        standing,
        dependents=tuple(sorted({use.name for use in users})),
        reached=ReachCounts(len(reach.rubrics), len(reach.questions), sum(reach.questions.values())),
        pins=tuple(_find_stale_pins(standing, users)),
    )


def _find_stale_pins(standing: ArtifactStatus, users: Iterable[ArtifactReference]) -> Iterator[StalePin]:
    versions = [find_version(text) for text in (standing.working, standing.next_version) if text]
    if standing.released is None or standing.state is not ArtifactState.CHANGED or not standing.required_bump:
        return
    new = max(version for version in versions if version)
    for use in users:
        # What a judge was measured on is a record of the past.
        if use.scores and use.ref.type in _PINNED and not _will_match(use.ref, new):
            yield StalePin(use.name, str(use.ref), use.place)


def _will_match(ref: Ref, version: Version) -> bool:
    return version == ref.version if ref.version else can_mean(ref, version)
