"""Where working files stand against the last releases: the same bytes first, and only then what the change needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstore.errors import EvalstoreError, LoadError, RefError
from evalstore.model import Artifact, Kind, Ref, parse_ref
from evalstore.references.reading import _ROWS, find_working_rows
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.store.object_reader import find_committed_blobs
from evalstore.store.revisions import find_head, is_ancestor
from evalstore.store.tags import find_last_release
from evalstore.store.working_files import is_blob
from evalstore.versions import Bump, Version, find_version

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.status.acceptances import ChangePolicy

Load = Callable[[str], Artifact]
Rows = Iterable[Mapping[str, Any]]


def find_base_release(store: ArtifactStore, releases: Sequence[Release], working: Version) -> Release | None:
    """Return the release that a file began from: the last one, or on a branch that has not seen it the last it has."""
    last = find_last_release(releases)
    # A shallow clone cannot tell what a branch has seen; there a lower version counts as a step back.
    if last is None or working >= last.version or store.repository.shallow:
        return last
    tip = find_head(store.git)
    if tip is None:
        return last
    finals = (release for release in reversed(releases) if not release.version.prerelease)
    return next((release for release in finals if is_ancestor(store.git, release.commit, tip)), last)


def find_changed_files(store: ArtifactStore, refs: Sequence[Ref], last: Mapping[str, Release]) -> list[Ref]:
    """Return the working files that are not, byte for byte, their last release; most never need to be parsed."""
    known = {ref.name: ref for ref in refs if ref.name in last}
    same = _find_unchanged(store, last, {name: ref.path for name, ref in known.items()})
    rows = {
        name: path
        for name in same
        if known[name].kind is Kind.DATASET and (path := _find_rows_or_file(store, known[name]))
    }
    same = (same - set(rows)) | _find_unchanged(store, last, rows)
    return [ref for ref in refs if ref.name not in same]


def compute_required_bump(  # noqa: PLR0913  # both sides, what they refer to, and by what they are judged
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    store_terms: ChangePolicy | None = None,
) -> Bump:
    """Return the bump that the change from a release to a working file needs; `rows` stand for those on disk."""
    diff = compare_with_release(store, release, new, load, rows=rows, store_terms=store_terms)
    return diff.required_bump if diff else Bump.NONE


def compare_with_release(  # noqa: PLR0913  # as above
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    store_terms: ChangePolicy | None = None,
) -> Diff | None:
    """Return what changed from a release to a working file as the store rules on it; None where nothing did."""
    old = store.resolve(f"{new.name}@{release.version}")
    beside = "rows" in {*old.artifact.value, *new.artifact.value}
    if old.digest == new.digest and not beside:
        return None
    from evalstore.diff import compare

    both = (store.read_rows(old), store.read_rows(new) if rows is None else rows) if beside else None
    terms = store_terms.for_change(new.name, release.version) if store_terms else None
    return compare(old.artifact, new.artifact, load=load, rows=both, settings=terms)


def _find_unchanged(store: ArtifactStore, last: Mapping[str, Release], paths: Mapping[str, str]) -> set[str]:
    root = store.root
    if root is None:
        return set()
    asked = [(last[name].commit, store.prefix + path) for name, path in paths.items()]
    blobs = find_committed_blobs(store.git, asked)
    pairs = zip(paths.items(), blobs, strict=True)
    return {name for (name, path), blob in pairs if blob is not None and _has_blob(root, path, blob)}


def _has_blob(root: Path, path: str, blob: str) -> bool:
    with suppress(LoadError):
        return is_blob(root, path, blob, limit=None if path.endswith(_ROWS) else ARTIFACT_LIMIT)
    return False


def _find_rows_or_file(store: ArtifactStore, ref: Ref) -> str | None:
    try:
        return find_working_rows(store, ref)
    except LoadError:
        return ref.path  # as broken now as it was when it was released


def make_working_loader(store: ArtifactStore) -> Callable[[str], Artifact]:
    """Return how the references of working files are loaded: the next version of an artifact is its working file."""

    def load(text: str) -> Artifact:
        ref = parse_ref(text)
        try:
            return store.load(ref)
        except RefError:
            with suppress(EvalstoreError):
                draft = store.load(f"{ref.name}@worktree")
                if ref.version is not None and find_version(draft.version) == ref.version:
                    return draft
            raise

    return load
