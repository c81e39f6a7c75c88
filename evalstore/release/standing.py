"""Where working files stand against the last releases: the same bytes first, and only then what the change needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstore.errors import LoadError, RefError
from evalstore.files import read_below
from evalstore.model import Artifact, Kind, Ref, is_id
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.store.blobs import find_committed_blobs, is_blob
from evalstore.store.git import Git
from evalstore.store.revisions import head
from evalstore.versions import Bump, Version

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.release.acceptances import StoreTerms

Load = Callable[[str], Artifact]
Rows = Iterable[Mapping[str, Any]]

_ROWS = ".jsonl"


def releases_by_name(store: ArtifactStore) -> dict[str, tuple[Release, ...]]:
    """Return all releases by `<kind>/<id>`, each ascending, from one listing."""
    grouped = groupby(store.list_releases(), key=attrgetter("name"))
    return {name: tuple(group) for name, group in grouped}


def last_release(releases: Sequence[Release]) -> Release | None:
    """Return the highest release that is no pre-release."""
    return next((release for release in reversed(releases) if not release.version.prerelease), None)


def base_release(store: ArtifactStore, releases: Sequence[Release], working: Version) -> Release | None:
    """Return the release that a file began from: the last one, or on a branch that has not seen it the last it has."""
    last = last_release(releases)
    # A shallow clone cannot tell what a branch has seen; there a lower version counts as a step back.
    if last is None or working >= last.version or store.repository.shallow:
        return last
    tip = find_head(store.git)
    if tip is None:
        return last
    finals = (release for release in reversed(releases) if not release.version.prerelease)
    return next((release for release in finals if is_within(store, release.commit, tip)), last)


def find_head(git: Git) -> str | None:
    """Return the commit that is checked out, or None before the first one."""
    try:
        return head(git)
    except RefError:
        return None


def differing(store: ArtifactStore, refs: Sequence[Ref], last: Mapping[str, Release]) -> list[Ref]:
    """Return the working files that are not, byte for byte, their last release; most never need to be parsed."""
    known = {ref.name: ref for ref in refs if ref.name in last}
    same = _same(store, last, {name: ref.path for name, ref in known.items()})
    rows = {name: path for name in same if known[name].kind is Kind.DATASET and (path := _rows(store, known[name]))}
    same = (same - set(rows)) | _same(store, last, rows)
    return [ref for ref in refs if ref.name not in same]


def required_bump(  # noqa: PLR0913  # both sides, what they refer to, and by what they are judged
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    ruling: StoreTerms | None = None,
) -> Bump:
    """Return the bump that the change from a release to a working file needs; `rows` stand for those on disk."""
    diff = difference(store, release, new, load, rows=rows, ruling=ruling)
    return diff.required_bump if diff else Bump.NONE


def difference(  # noqa: PLR0913  # as above
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    ruling: StoreTerms | None = None,
) -> Diff | None:
    """Return what changed from a release to a working file as the store rules on it; None where nothing did."""
    old = store.resolve(f"{new.name}@{release.version}")
    beside = "rows" in {*old.artifact.value, *new.artifact.value}
    if old.digest == new.digest and not beside:
        return None
    from evalstore.diff import compare

    both = (store.read_rows(old), store.read_rows(new) if rows is None else rows) if beside else None
    terms = ruling.for_change(new.name, release.version) if ruling else None
    return compare(old.artifact, new.artifact, load=load, rows=both, terms=terms)


def rows_path(artifact: Artifact) -> str | None:
    """Return where a dataset keeps its rows, relative to the store; None when they stand in its YAML."""
    name = artifact.value.get("rows")
    named = isinstance(name, str) and name.endswith(_ROWS) and is_id(name.removesuffix(_ROWS))
    return f"{artifact.kind.folder}/{name}" if named else None


def working_rows(store: ArtifactStore, ref: Ref) -> str | None:
    """Return where a working dataset keeps its rows, as `rows_path`; one that cannot have any is not parsed."""
    data = read_below(store.root, ref.path, ARTIFACT_LIMIT) if store.root else b""
    # The key stands in the file as it is, unless an escape hides it.
    return rows_path(store.load(ref)) if b"rows" in data or b"\\" in data else None


def is_within(store: ArtifactStore, commit: str, tip: str) -> bool:
    """Whether a commit is in the history of another, or that one itself."""
    return store.git.ask("merge-base", "--is-ancestor", commit, tip) is not None


def _same(store: ArtifactStore, last: Mapping[str, Release], paths: Mapping[str, str]) -> set[str]:
    root = store.root
    if root is None:
        return set()
    asked = [(last[name].commit, store.prefix + path) for name, path in paths.items()]
    blobs = find_committed_blobs(store.git, asked)
    pairs = zip(paths.items(), blobs, strict=True)
    return {name for (name, path), blob in pairs if blob is not None and _holds(root, path, blob)}


def _holds(root: Path, path: str, blob: str) -> bool:
    with suppress(LoadError):
        return is_blob(root, path, blob, limit=None if path.endswith(_ROWS) else ARTIFACT_LIMIT)
    return False


def _rows(store: ArtifactStore, ref: Ref) -> str | None:
    try:
        return working_rows(store, ref)
    except LoadError:
        return ref.path  # as broken now as it was when it was released
