"""An artifact: a document with a kind, an id and a version, and the two digests that name its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evalstore.documents import Document, digest
from evalstore.model.refs import Kind, Named
from evalstore.versions import find_version

# Keys that no executor reads; a rubric, its checks and its questions may carry them freely.
COSMETIC = frozenset({"title", "description", "metadata", "tags", "owner"})
# What reading a mapping as the artifact that it should be raises where it is none.
MISFITS = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
_UNSCORED: dict[Kind, frozenset[str]] = {
    Kind.RUBRIC: frozenset({"id", "version"}),
    Kind.JUDGE: frozenset({"id", "version", "validation", "applicable_to"}),
    Kind.DATASET: frozenset({"id", "version"}),
}


@dataclass(frozen=True, slots=True)
class Artifact(Named):
    """One rubric, judge or dataset as it stands in one file."""

    kind: Kind
    id: str
    version: str
    document: Document

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
        return digest({key: item for key, item in self.value.items() if key != "version"})

    @property
    def scoring_digest(self) -> str:
        """SHA-256 over the part that can move a score."""
        return digest(scoring_part(self.kind, self.value))


def scoring_part(kind: Kind, value: dict[str, Any]) -> dict[str, Any]:
    """Return what is left of an artifact's mapping without its cosmetic and extension keys."""
    part = {key: item for key, item in value.items() if key not in _UNSCORED[kind] and not is_cosmetic(key)}
    for key in ("checks", "questions"):
        if isinstance(part.get(key), list):
            part[key] = [_bare(item) for item in part[key]]
    return part


def is_cosmetic(key: str) -> bool:
    """Whether no executor reads `key`: a declared cosmetic key or an `x_` extension."""
    return key in COSMETIC or key.startswith("x_")


def _bare(item: Any) -> Any:
    return {key: value for key, value in item.items() if not is_cosmetic(key)} if isinstance(item, dict) else item
