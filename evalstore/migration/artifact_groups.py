"""Groups drafts of a suite that share one artifact, and says how the stored artifact of a group is known again."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.stored_artifacts import StoredArtifact
from evalstore.model import Kind


class CaseAnchor(NamedTuple):
    """A place in a suite by which an artifact is known again: the id of a question, and a pointer within its case."""

    case: str
    part: str = ""


@dataclass(slots=True)
class ArtifactGroup:
    """Drafts with equal content, which share one artifact, and the places in the suite that need it.

    One that is named by what several cases ask for `is_shared`: none of the cases is its place. `moved_on` had this
    content when it was migrated, and was changed here since. `bases` are the digests of the content, the later ones
    under the names that earlier releases gave its checks.
    """

    draft: ArtifactDraft
    anchors: list[CaseAnchor]
    indexes: list[int]
    bases: tuple[str, ...] = ()
    match: StoredArtifact | None = None
    moved_on: StoredArtifact | None = None
    reason: str = ""
    is_shared: bool = False

    @property
    def base(self) -> str:
        """The digest of its content."""
        return self.bases[0]

    @property
    def is_wanted_often(self) -> bool:
        """Whether several cases have it for their own rubric."""
        return len(self.anchors) > 1 and not self.anchors[0].part and self.draft.kind is Kind.RUBRIC

    @property
    def is_for_any_case(self) -> bool:
        """Whether nothing in its rubric is of one case, not even the names of checks."""
        checks = self.draft.value["checks"] if self.draft.is_shape else ()
        return self.draft.is_shape and all("id" not in check or "each" in check for check in checks)

    def select(self, places: Sequence[int]) -> ArtifactGroup:
        """Return the group with some of its places; one place shares it with nobody."""
        return replace(
            self,
            anchors=[self.anchors[place] for place in places],
            indexes=[self.indexes[place] for place in places],
            is_shared=self.is_shared and (len(places) > 1 or self.draft.is_shape),
        )


FileStored = Callable[[StoredArtifact, Container[str]], Any]
ListKeys = Callable[[ArtifactGroup, Mapping[str, str]], list[Any]]
# How an artifact of a suite is known again, the surest first: the key under which a stored one is filed (`cases` are
# those that the suite still has), and the keys by which a group looks for it (`pins` are those of the questions).
CONTENT_ROUNDS = 3  # the first rounds
MATCH_ROUNDS: Sequence[tuple[FileStored, ListKeys]] = (
    (
        lambda item, _: (item.origin.case, item.origin.part, item.origin.base),
        lambda group, _: [(*anchor, base) for base in group.bases for anchor in group.anchors],
    ),
    (
        lambda item, _: (item.origin.case, item.origin.base),
        lambda group, _: [(anchor.case, base) for base in group.bases for anchor in group.anchors],
    ),
    (lambda item, _: None if item.origin.case else item.origin.base, lambda group, _: [*group.bases]),
    (
        # A judge that the whole suite asks is a part of no case.
        lambda item, _: (item.origin.case, item.origin.part) if item.origin.case or item.origin.part else None,
        lambda group, _: [tuple(anchor) for anchor in group.anchors],
    ),
    (lambda item, cases: None if item.origin.case in cases else item.origin.base, lambda group, _: [*group.bases]),
    (
        lambda item, cases: None if item.origin.case in cases else item.name,
        lambda group, pins: [pins[anchor.case].partition("@")[0] for anchor in group.anchors if anchor.case in pins],
    ),
)
