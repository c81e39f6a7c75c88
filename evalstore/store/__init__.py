"""Git as the database of artifacts: tags as versions, references by name; sole user of git."""

from evalstore.store.repository.objects import Commit
from evalstore.store.resolve import Resolved
from evalstore.store.store import ArtifactStore, OpenedStore
from evalstore.store.tags import Release

__all__ = ["ArtifactStore", "Commit", "OpenedStore", "Release", "Resolved"]
