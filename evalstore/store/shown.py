"""An artifact's file, whole, with where it was read from."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.documents import encode
from evalstore.store.resolve import Resolved
from evalstore.store.store import ArtifactStore


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """What a reference means, its path in the repository, and its bytes."""

    resolved: Resolved
    path: str
    data: bytes


def read_artifact_file(store: ArtifactStore, ref: str) -> ArtifactFile:
    """Return the file that a reference means."""
    resolved = store.resolve(ref)
    return ArtifactFile(resolved, store.prefix + resolved.path, encode(resolved.artifact.document))
