"""Finds what commits and releases of an artifact say: git is asked only when a rubric has moved on, or for a merge."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from evalstore.errors import EvalstoreError, GitError
from evalstore.migration.artifact_merge import digest_content, digest_parts, read_base_parts
from evalstore.migration.part_merge import ArtifactPlace
from evalstore.migration.stored_artifacts import StoredArtifact, locate_rows, put_rows
from evalstore.model import Kind, PinType, Ref, parse_ref
from evalstore.store import ArtifactStore
from evalstore.store.file_history import list_file_commits
from evalstore.store.tags import find_last_release


@dataclass(slots=True)
class ReleaseLookup:
    """The releases of the store in a folder, which need not be in a repository; a context manager."""

    root: Path
    _store: ArtifactStore | None = None
    _is_open: bool = False

    def find(self, artifact: StoredArtifact, digest: str) -> str | None:
        """Return the last version of an artifact whose content has this digest; None where there is none."""
        store = self._open()
        for release in reversed(store.releases(artifact.kind, artifact.id) if store else []):
            ref = Ref(artifact.kind, artifact.id, str(release.version), PinType.EXACT, release.version)
            # A release that cannot be read is none that could be pinned.
            with suppress(EvalstoreError):
                if store and digest_content(store.load(ref).value) == digest:
                    return str(release.version)
        return None

    def load_last(self, kind: Kind, id_: str) -> dict[str, Any] | None:
        """Return the whole value of an artifact at its last release, a dataset with its rows; None without one."""
        store = self._open()
        last = find_last_release(store.releases(kind, id_)) if store else None
        if store is None or last is None:
            return None
        return _load_value(store, Ref(kind, id_, str(last.version), PinType.EXACT, last.version))

    def load_base(self, artifact: StoredArtifact, ours: Mapping[str, Any]) -> Mapping[ArtifactPlace, str] | None:
        """Return the digests of the parts of what was last migrated into an artifact; None without a trace of it.

        The file, whose value is `ours`, tells them since an earlier merge; else it is in a commit as it was migrated.
        """
        if noted := read_base_parts(ours):
            return noted
        store = self._open()
        if store is None:
            return None
        for oid in list_file_commits(store, (artifact.path, locate_rows(artifact.path))):
            value = _load_value(store, parse_ref(f"{artifact.name}@git:{oid}"))
            if value and digest_content(value) == artifact.origin.base:
                return digest_parts(value)
        return None

    def _open(self) -> ArtifactStore | None:
        if not self._is_open:
            self._is_open = True
            with suppress(GitError):
                self._store = ArtifactStore.open(self.root)
        return self._store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store:
            self._store.close()


def _load_value(store: ArtifactStore, ref: Ref) -> dict[str, Any] | None:
    """Return the whole value of an artifact, a dataset with its rows; None where it cannot be read."""
    with suppress(EvalstoreError):  # what cannot be read is nobody's to merge with
        resolved = store.resolve(ref)
        value = resolved.artifact.value
        return put_rows(value, [*store.rows(resolved)]) if "rows" in value else dict(value)
    return None
