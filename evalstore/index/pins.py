"""Follows the references of artifacts as far as scores depend on them, and says what each means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError
from evalstore.index.columns import IndexRow, make_artifact_columns, make_used_columns, make_version_columns
from evalstore.model import parse_ref
from evalstore.references.reading import ArtifactReference, read_references
from evalstore.store import ArtifactStore


@dataclass(frozen=True, slots=True)
class ReadReference:
    """What a reference means: its exact name and version, and what the artifact refers to; or why it means nothing."""

    name: str
    version: str | None = None
    references: tuple[ArtifactReference, ...] = ()
    error: EvalstoreError | None = None


@dataclass(slots=True)
class PinReader:
    """Reads each reference of a store once."""

    store: ArtifactStore
    _read: dict[str, ReadReference] = field(default_factory=dict)

    def read(self, text: str) -> ReadReference:
        """Return what a reference means."""
        if text not in self._read:
            self._read[text] = self._resolve(text)
        return self._read[text]

    def iterate_pins(self, root: str) -> Iterator[IndexRow]:
        """Yield the row of each reference that an artifact (`<kind>/<id>@<pin>`) has, itself or by what it pins."""
        seen, waiting = {root}, [root]
        while waiting:
            user = waiting.pop(0)
            for reference in self.read(user).references:
                text = str(reference.ref)
                yield self._make_row(root, user, reference)
                # What a judge was measured on grades nothing.
                if reference.scores and text not in seen:
                    seen.add(text)
                    waiting.append(text)

    def _make_row(self, root: str, user: str, reference: ArtifactReference) -> IndexRow:
        target = self.read(str(reference.ref))
        return {
            **make_artifact_columns(root.partition("@")[0]),
            **make_used_columns(reference.ref.name),
            **make_version_columns(target.version),
            "pin": reference.ref.pin or None,
            "via": None if user == root else self.read(user).name,
            "floating": reference.ref.is_floating,
            "scores": reference.scores,
            "questions": reference.questions if reference.name.startswith("dataset/") else None,
            "file": reference.place.file,
            "line": reference.place.line,
            "message": target.error and target.error.message,
        }

    def _resolve(self, text: str) -> ReadReference:
        ref = parse_ref(text)
        try:
            resolved = self.store.resolve(ref)
            references = read_references(self.store, resolved, text).references
        except EvalstoreError as error:
            return ReadReference(text, error=error)
        name = f"{ref.name}@{resolved.version}" if ref.names_release else text
        return ReadReference(name, resolved.version, references)
