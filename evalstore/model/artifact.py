"""An artifact: a document with a kind, an id and a version, and the two digests of its content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from evalstore.documents import Document, compute_document_digest, hash_members, write_members
from evalstore.model.refs import ArtifactIdentity, Kind
from evalstore.notebook import format_repr
from evalstore.versions import find_version

# Keys that no executor reads; a rubric, its checks and its questions may carry them freely.
COSMETIC_KEYS = frozenset({"title", "description", "metadata", "tags", "owner"})
# The exceptions of reading a mapping that is not of the artifact's shape.
MALFORMED_ERRORS = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
_PARTS = ("checks", "questions")  # whose items may have cosmetic keys, too
_COSMETIC = re.compile(rf'"(?:x_|(?:{"|".join(sorted(COSMETIC_KEYS))})")')  # in JSON: without it there is no such key
_Item = TypeVar("_Item")
# Keys of the root that cannot move a score.
_UNSCORED: dict[Kind, frozenset[str]] = {
    Kind.RUBRIC: frozenset({"id", "version"}),
    Kind.JUDGE: frozenset({"id", "version", "validation", "applicable_to", "retires"}),
    Kind.DATASET: frozenset({"id", "version"}),
}


@dataclass(frozen=True, slots=True)
class Artifact(ArtifactIdentity):
    """One rubric, judge or dataset as it stands in one file."""

    kind: Kind
    id: str
    version: str
    document: Document

    def __repr__(self) -> str:
        return format_repr(self, self.versioned)

    @property
    def value(self) -> dict[str, Any]:
        """The document's mapping."""
        value: dict[str, Any] = self.document.value
        return value

    @property
    def versioned(self) -> str:
        """`<kind>/<id>@<version>`, with the version in its one spelling."""
        return f"{self.name}@{find_version(self.version) or self.version}"

    @property
    def digest(self) -> str:
        """SHA-256 over everything but `version`."""
        return compute_document_digest({key: item for key, item in self.value.items() if key != "version"})

    @property
    def scoring_digest(self) -> str:
        """SHA-256 over the part that can move a score."""
        return compute_document_digest(select_scoring_part(self.kind, self.value))


def compute_digests(artifact: Artifact) -> tuple[str, str]:
    """Return the digest and the scoring digest of an artifact in two thirds of the time of both."""
    value = artifact.value
    members = write_members(value)
    digest = hash_members([text for key, text in members.items() if key != "version"])
    scoring = _drop_unscored(artifact.kind, members)
    for key in _PARTS:
        if key in scoring and isinstance(items := value[key], list) and _COSMETIC.search(scoring[key]):
            scoring |= write_members({key: [_drop_cosmetic(item) for item in items]})
    return digest, hash_members(scoring.values())


def select_scoring_part(kind: Kind, value: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an artifact's mapping that can move a score: no cosmetic, extension or identity keys."""
    part = _drop_unscored(kind, value)
    for key in _PARTS:
        if isinstance(part.get(key), list):
            part[key] = [_drop_cosmetic(item) for item in part[key]]
    return part


def is_cosmetic(key: str) -> bool:
    """Whether no executor reads `key`: a declared cosmetic key or an `x_` extension."""
    return key in COSMETIC_KEYS or key.startswith("x_")


def _drop_unscored(kind: Kind, members: Mapping[str, _Item]) -> dict[str, _Item]:
    unscored = _UNSCORED[kind] | COSMETIC_KEYS
    return {key: item for key, item in members.items() if key not in unscored and key[:2] != "x_"}


def _drop_cosmetic(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    # Of each check of thousands of rubrics: a call for each key would take as long as the rest.
    return {key: value for key, value in item.items() if key not in COSMETIC_KEYS and key[:2] != "x_"}
