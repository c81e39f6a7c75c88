"""Git as the database of artifacts: the one door to git, tags as versions, references resolved by exact name."""

from evalstore.store.objects import Commit
from evalstore.store.resolve import Resolved
from evalstore.store.store import ArtifactStore
from evalstore.store.tags import Release

__all__ = ["ArtifactStore", "Commit", "Release", "Resolved"]
