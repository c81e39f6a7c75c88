"""What a store holds: every artifact with its releases and whether its file has changed since, told by blob ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evalstore.errors import EvalstoreError
from evalstore.files import read_below
from evalstore.model import Kind, Ref
from evalstore.model.refs import Named
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_artifact
from evalstore.store.blobs import find_committed_blobs, is_blob
from evalstore.store.store import ArtifactStore
from evalstore.store.tags import Release


@dataclass(frozen=True, slots=True)
class ArtifactSummary(Named):
    """One artifact; `changed` is None without a file or a release to compare, `problem` says why a file is unread."""

    kind: Kind
    id: str
    latest: str | None
    releases: int
    working: str | None
    changed: bool | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StoreListing:
    """All artifacts, and the tags that stand among theirs and are no versions (name, why)."""

    artifacts: tuple[ArtifactSummary, ...]
    ignored: tuple[tuple[str, str], ...]


def list_artifacts(store: ArtifactStore) -> StoreListing:
    """List a store with one question about tags and one about blobs; a file is parsed only when it has changed."""
    released = {
        key: list(group) for key, group in groupby(store.list_releases(), key=lambda release: (release.kind, release.id))
    }
    files = {(ref.kind, ref.id): ref for ref in store.list_working_refs()}
    blobs = _blobs(store, {key: group[-1] for key, group in released.items() if key in files})
    artifacts = (
        _listed(store, key, released.get(key, []), ref=files.get(key), blob=blobs.get(key))
        for key in sorted(released.keys() | files.keys())
    )
    return StoreListing(tuple(artifacts), tuple(store.tags.list_ignored()))


_Key = tuple[Kind, str]


def _blobs(store: ArtifactStore, newest: Mapping[_Key, Release]) -> dict[_Key, str | None]:
    """Return the blob of each artifact at its newest release, by one call to git."""
    files = ((one.commit, store.prefix + one.path) for one in newest.values())
    return dict(zip(newest, find_committed_blobs(store.git, files), strict=True))


def _listed(store: ArtifactStore, key: _Key, releases: Sequence[Release], *, ref: Ref | None, blob: str | None) -> ArtifactSummary:
    finals = [release for release in releases if not release.version.prerelease] or releases
    latest = str(finals[-1].version) if finals else None
    working, changed, problem = None, None, None
    if ref is not None and store.root is not None:
        try:
            same = blob is not None and is_blob(store.root, ref.path, blob, limit=ARTIFACT_LIMIT)
            changed = not same if releases else None
            working = str(releases[-1].version) if same else _version(store.root, ref)
        except EvalstoreError as error:
            changed, problem = (True if releases else None), str(error)
    return ArtifactSummary(*key, latest, len(releases), working, changed, problem)


def _version(root: Path, ref: Ref) -> str:
    return read_artifact(ref, read_below(root, ref.path, ARTIFACT_LIMIT), ref.path).version
