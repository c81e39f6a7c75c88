"""One side of a comparison as plain data, with its kind and the values at pointers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.diff.findings import Side
from evalstore.diff.plain_data import make_plain
from evalstore.documents import Pointer, compute_digest, follow_pointer
from evalstore.errors import LoadError, Place
from evalstore.model import Artifact, Kind, find_kind


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """The value of an artifact, or a mapping; the kind is None if nothing in it says the kind."""

    value: dict[str, Any]
    kind: Kind | None
    artifact: Artifact | None

    @property
    def side(self) -> Side:
        """Its reference and digest, for the diff."""
        if self.artifact is None:
            return Side(None, compute_digest(self.content))
        return Side(f"{self.artifact.name}@{self.artifact.version}", self.artifact.digest)

    @property
    def content(self) -> dict[str, Any]:
        """Everything except the version."""
        return {key: item for key, item in self.value.items() if key != "version"}

    @property
    def name(self) -> str:
        """Its kind and id."""
        return f"{self.kind or 'mapping'}/{self.value.get('id', '')}"

    def find_place(self, pointer: Pointer | None) -> Place | None:
        """Return the file and line of a pointer; None if there is no file."""
        return (
            None
            if pointer is None or self.artifact is None
            else self.artifact.document.locate(pointer)
        )

    def cut_to_written(self, pointer: Pointer | None) -> Pointer | None:
        """Return the longest part of a pointer that is in the document, which omits defaults."""
        return None if pointer is None else follow_pointer(self.value, pointer)[0]

    def get_written_value(self, pointer: Pointer | None, fact: Any) -> Any:
        """Return the value at a pointer, or `fact` if nothing is written there."""
        if not pointer:
            return None
        written_part, value = follow_pointer(self.value, pointer)
        return value if written_part == pointer else fact


Sides = tuple[ComparedDocument, ComparedDocument]


def read_document(side: Artifact | Mapping[str, Any]) -> ComparedDocument:
    """Return an artifact or a mapping as plain data; raises `LoadError` for anything else."""
    if not isinstance(side, Artifact | Mapping):
        raise LoadError(f"compare takes an artifact or a mapping, not a {type(side).__name__}")
    artifact = side if isinstance(side, Artifact) else None
    value: dict[str, Any] = make_plain(side.value if isinstance(side, Artifact) else side)
    kind = artifact.kind if artifact else find_kind(value)
    return ComparedDocument(value, kind, artifact)
