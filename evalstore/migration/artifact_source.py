"""Finds the artifacts of an export: released ones in git, the others on disk, in a plain folder as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from evalstore.documents import read_yaml
from evalstore.errors import GitError, RefError
from evalstore.files import list_below, read_below
from evalstore.migration.stored_artifacts import read_stored_rows
from evalstore.model import Artifact, Kind, PinType, Question, Ref, is_id, iterate_questions
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_artifact


@dataclass(slots=True)
class ArtifactSource:
    """The artifacts of a store, or of a folder that is no repository; a context manager like `Store`."""

    root: Path | None
    store: ArtifactStore | None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the store of a folder, or the folder itself."""
        try:
            store = ArtifactStore.open(path)
        except GitError:
            if not path.is_dir():
                raise
            return cls(path, None)
        return cls(store.root, store)

    def list_refs_of_format(self, format: str) -> list[Ref]:  # noqa: A002  # the word of the command line
        """Return the artifacts on disk that stand for sources of a format: datasets, and rubrics with a remainder."""
        return [
            ref
            for kind in (Kind.DATASET, Kind.RUBRIC)
            for ref in self._list_on_disk(kind)
            if self._is_from_format(ref, format)
        ]

    def _list_on_disk(self, kind: Kind) -> list[Ref]:
        names = list_below(self.root, f"{kind}s") if self.root else []
        return [Ref(kind, name[:-5], "worktree", PinType.WORKTREE) for name in names if is_id(name[:-5])]

    def load_dataset(self, ref: Ref) -> tuple[Artifact, list[Question]]:
        """Return a dataset and its questions; without a release, from the disk."""
        if self.store:
            try:
                resolved = self.store.resolve(ref)
                return resolved.artifact, list(self.store.questions(resolved))
            except RefError:
                # Only a bare reference falls back to the disk: a pinned version must exist as a release.
                if ref.type is not PinType.NONE:
                    raise
        artifact = self._read_on_disk(ref)
        return artifact, list(iterate_questions(artifact.value, self._read_dataset_rows(artifact)))

    def load_artifact(self, ref: Ref) -> Artifact:
        """Return the rubric or judge at a reference: its release, or before the first release the file on disk."""
        has_no_release = self.store is None or not self.store.releases(ref.kind, ref.id)
        if self.store and not (has_no_release and ref.type in {PinType.EXACT, PinType.NONE}):
            return self.store.load(ref)
        artifact = self._read_on_disk(ref)
        if ref.version and str(ref.version) != artifact.version:
            raise RefError(f"{ref} is not here: the file has version {artifact.version}, and no release is tagged")
        return artifact

    def _read_on_disk(self, ref: Ref) -> Artifact:
        if self.root is None:
            raise RefError(f"{ref.name} has no release, and a bare repository has no files", hint="bump it first")
        return read_artifact(ref, read_below(self.root, ref.path, ARTIFACT_LIMIT), ref.path)

    def _read_dataset_rows(self, artifact: Artifact) -> Iterator[Mapping[str, Any]] | None:
        if "rows" not in artifact.value or self.root is None:
            return None
        return read_stored_rows(self.root, f"datasets/{artifact.id}.yaml")

    def _is_from_format(self, ref: Ref, format: str) -> bool:  # noqa: A002
        value = read_yaml(read_below(self.root or Path(), ref.path, ARTIFACT_LIMIT), ref.path).value
        source = value.get("x_source") if isinstance(value, dict) else None
        if not isinstance(source, dict) or source.get("format") != format:
            return False
        return ref.kind is Kind.DATASET or "kept" in source

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.store:
            self.store.close()
