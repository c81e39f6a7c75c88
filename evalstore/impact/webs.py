"""The references that an impact follows: of the working files, and of every release when one version is asked for."""

from __future__ import annotations

from evalstore.errors import EvalstoreError
from evalstore.model import Kind
from evalstore.references.mentions import ANYTHING, Mentions, scan_mentions
from evalstore.release.web import ReferenceGraph, build_working_graph
from evalstore.store import ArtifactStore, Release
from evalstore.store.object_reader import find_committed_blobs


def build_full_graph(store: ArtifactStore) -> ReferenceGraph:
    """Return the references of working files and of all releases, by one listing of tags and one pass over blobs."""
    releases = store.list_releases()
    files = [(one.commit, store.prefix + one.path) for one in releases]
    blobs = find_committed_blobs(store.git, files)
    released = {
        f"{one.name}@{one.version}": scan_release(store, one, blob)
        for one, blob in zip(releases, blobs, strict=True)
        if blob
    }
    return ReferenceGraph(store, {**build_working_graph(store).mentions, **released})


def scan_release(store: ArtifactStore, release: Release, blob: str) -> Mentions:
    try:
        data = store.objects.read(blob).data
    except EvalstoreError:
        return ANYTHING
    # Rows lie in another file, which is read only where it has to be.
    return ANYTHING if release.kind is Kind.DATASET and b"rows" in data else scan_mentions([data])
