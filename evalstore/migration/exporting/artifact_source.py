"""Opens the artifacts that an export reads.

They are those of a store, or of a folder that is not a repository.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, GitError, RefError
from evalstore.files import list_below, read_below
from evalstore.migration.merging.stored_artifacts import read_stored_rows
from evalstore.model import (
    Artifact,
    Kind,
    PinType,
    Question,
    Ref,
    find_rows_path,
    is_id,
    iterate_questions,
)
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_artifact


@dataclass(frozen=True, slots=True)
class ArtifactSource:
    """The artifacts of a store, or of a folder that is not a repository."""

    root: Path | None
    store: ArtifactStore | None

    @classmethod
    def open(cls, path: Path, stack: ExitStack) -> Self:
        """Open the store of a folder, which the stack closes, or the folder itself."""
        try:
            store = stack.enter_context(ArtifactStore.open(path))
        except GitError:
            if not path.is_dir():
                raise
            return cls(path, None)
        return cls(store.root, store)

    # `format` is the word of the command line.
    def list_refs_of_format(self, format: str) -> list[Ref]:  # noqa: A002
        """Return the artifacts on disk that came from a format's sources.

        They are datasets, and whatever has a remainder.
        """
        if self.root is None:
            raise RefError(
                "a bare repository has no files to export", hint="name releases: dataset/x@1.0.0"
            )
        refs: list[Ref] = []
        for kind in (Kind.DATASET, Kind.RUBRIC, Kind.JUDGE):
            ids = filter(is_id, (name[:-5] for name in list_below(self.root, kind.folder)))
            refs += [Ref(kind, id_, "worktree", PinType.WORKTREE) for id_ in ids]
        return [ref for ref in refs if self._is_from_format(ref, format)]

    def load_dataset(self, ref: Ref) -> tuple[Artifact, list[Question]]:
        """Return a dataset and its questions; without a release, from the disk."""
        if self.store:
            try:
                resolved = self.store.resolve(ref)
                return resolved.artifact, list(self.store.questions(resolved))
            except RefError:
                # Only a bare reference falls back to the disk: a pinned version must be released.
                has_file = self.root is not None and (self.root / ref.path).exists()
                if ref.type is not PinType.NONE or not has_file:
                    raise
        artifact = self._read_on_disk(ref)
        path = find_rows_path(artifact)
        rows = read_stored_rows(self.root, path) if path and self.root else None
        return artifact, list(iterate_questions(artifact.value, rows))

    def load_artifact(self, ref: Ref) -> Artifact:
        """Return the rubric or judge at a reference.

        It is its release, or, before the first one, its file.
        """
        has_no_release = self.store is None or not self.store.releases(ref.kind, ref.id)
        if self.store and not (has_no_release and ref.type in {PinType.EXACT, PinType.NONE}):
            return self.store.read_artifact(ref)
        artifact = self._read_on_disk(ref)
        if ref.version and str(ref.version) != artifact.version:
            raise RefError(
                f"{ref} is not here: the file has version {artifact.version}, and no release "
                "is tagged"
            )
        return artifact

    def load_main(self, ref: Ref) -> Artifact:
        """Return the artifact that an export begins with: a dataset, or a rubric that is a file."""
        return self.load_dataset(ref)[0] if ref.kind is Kind.DATASET else self.load_artifact(ref)

    def load_unreleased(self, ref: Ref) -> Artifact:
        """Return the file that a pin will mean once it is released.

        It is a file with that version; otherwise it is the release.
        """
        with suppress(EvalstoreError):
            artifact = self._read_on_disk(ref)
            if ref.version and str(ref.version) == artifact.version:
                return artifact
        return self.load_artifact(ref)

    def _read_on_disk(self, ref: Ref) -> Artifact:
        if self.root is None:
            raise RefError(
                f"{ref.name} has no release, and a bare repository has no files",
                hint="bump it first",
            )
        return read_artifact(ref, read_below(self.root, ref.path, ARTIFACT_LIMIT), ref.path)

    def _is_from_format(self, ref: Ref, format: str) -> bool:  # noqa: A002
        value = read_yaml(read_below(self.root or Path(), ref.path, ARTIFACT_LIMIT), ref.path).value
        source = value.get("x_source") if isinstance(value, dict) else None
        if not isinstance(source, dict) or source.get("format") != format:
            return False
        return ref.kind is Kind.DATASET or "kept" in source
