"""Finds and opens the store that validated files are in, to look their references up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalstore.errors import LoadError
from evalstore.lint import ValidationSource
from evalstore.store import ArtifactStore
from evalstore.store.locate import find_enclosing_store, resolve_folder


def find_source_root(root: Path | None, sources: Sequence[ValidationSource]) -> Path | None:
    """Return the root of the store that the files are in.

    That is `root`, the store around the current directory, unless a file is outside it: then the
    store around that file.
    """
    outside = next(
        (source.root for source in sources if source.root and not _lies_within(source, root)), None
    )
    return find_enclosing_store(resolve_folder(outside)) if outside else root


def open_source_store(
    root: Path | None, sources: Sequence[ValidationSource]
) -> ArtifactStore | None:
    """Open the store in which references are looked up.

    None when a file is outside it, or when its settings cannot be read and are among the files, so
    that they are a finding.
    """
    if root is None or not are_of_store(root, sources):
        return None
    try:
        store = ArtifactStore.open(root)
    except LoadError as error:
        if _is_finding(error, root, sources):
            return None
        raise
    return store if _has_lock(store, root, sources) else store.without_lock()


def are_of_store(root: Path | None, sources: Sequence[ValidationSource]) -> bool:
    """Whether all files are in the store at `root`."""
    return root is not None and all(_lies_within(source, root) for source in sources)


def _has_lock(store: ArtifactStore, root: Path, sources: Sequence[ValidationSource]) -> bool:
    try:
        return store.lock.exists
    except LoadError as error:
        if _is_finding(error, root, sources):
            return False
        raise


def _is_finding(error: LoadError, root: Path, sources: Sequence[ValidationSource]) -> bool:
    return error.place is not None and any(
        source.root == root and source.path == error.place.file for source in sources
    )


def _lies_within(source: ValidationSource, root: Path | None) -> bool:
    if source.root is None or source.root == root:
        return True
    if root is None:
        return False
    # A source with a kind lies in the folders of its store: where that is not this one, it is
    # another store.
    return not (source.kind and source.is_in_layout) and source.root.is_relative_to(root)
