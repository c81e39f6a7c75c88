"""Groups drafts with equal content, which share one artifact, with the places that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.merging.stored_artifacts import StoredArtifact
from evalstore.model import Kind


class CaseKey(NamedTuple):
    """A place in a suite that identifies an artifact.

    It is a question's id, and a pointer within its case.
    """

    case: str
    part: str = ""


@dataclass(slots=True)
class ArtifactGroup:
    """Drafts with equal content, which share one artifact, and the places that need it, by draft.

    A group named after what several cases ask for `is_shared`: none of the cases is its place.
    `moved_on` had this content when it was migrated, and was changed here since. `base` is the
    digest of the content.
    """

    draft: ArtifactDraft
    places: dict[int, CaseKey] = field(default_factory=dict)
    base: str = ""
    match: StoredArtifact | None = None
    moved_on: StoredArtifact | None = None
    reason: str = ""
    is_shared: bool = False

    @property
    def keys(self) -> list[CaseKey]:
        """Its places."""
        return [*self.places.values()]

    @property
    def is_wanted_often(self) -> bool:
        """Whether several cases have it as their own rubric."""
        return len(self.keys) > 1 and not self.keys[0].part and self.draft.kind is Kind.RUBRIC

    @property
    def is_for_any_case(self) -> bool:
        """Whether nothing in its rubric belongs to one case, not even the names of checks."""
        checks = self.draft.value["checks"] if self.draft.is_shape else ()
        return self.draft.is_shape and all("id" not in check or "each" in check for check in checks)

    def select(self, places: Mapping[int, CaseKey]) -> ArtifactGroup:
        """Return the group with some of its places; a single place shares it with nobody."""
        is_shared = self.is_shared and (len(places) > 1 or self.draft.is_shape)
        return replace(self, places=dict(places), is_shared=is_shared)
