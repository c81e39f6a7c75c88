"""Compares working files with releases: by their bytes first, and only where those differ by what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstore.errors import EvalstoreError, LoadError, RefError
from evalstore.model import Artifact, Kind, Ref, parse_ref
from evalstore.references.mentions import Mentions, scan_working_file
from evalstore.references.reading import find_working_rows
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.revisions import find_head, is_ancestor
from evalstore.store.tags import find_last_release
from evalstore.store.working_files import is_blob, is_release, read_working_files
from evalstore.versions import Bump, Version, find_version, parse_version

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.status.acceptances import ChangePolicy

Load = Callable[[str], Artifact]
Rows = Iterable[Mapping[str, Any]]


def find_base_release(store: ArtifactStore, releases: Sequence[Release], working: Version) -> Release | None:
    """Return the release that a file was edited from: the last, or on a branch without it the last that it has."""
    last = find_last_release(releases)
    # A shallow clone cannot tell what a branch has seen; there a lower version counts as a step back.
    if last is None or working >= last.version or store.repository.shallow:
        return last
    tip = find_head(store.git)
    if tip is None:
        return last
    # The newest final release in the history of this branch.
    finals = (release for release in reversed(releases) if not release.version.prerelease)
    return next((release for release in finals if is_ancestor(store.git, release.commit, tip)), last)


@dataclass(frozen=True, slots=True)
class WorkingScan:
    """The working files that are not, byte for byte, their last release, and what every working file mentions."""

    changed: tuple[Ref, ...]
    mentions: Mapping[str, Mentions]


def scan_working_files(
    store: ArtifactStore,
    refs: Sequence[Ref],
    last: Mapping[str, Release],
    *,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> WorkingScan:
    """Read every working file once, without parsing it; `watch` wraps the iteration over the files (a progress bar)."""
    mentions: dict[str, Mentions] = {}
    rows: dict[str, str] = {}
    same: set[str] = set()
    blobs = _find_released_blobs(store, last, {ref.name: ref.path for ref in refs if ref.name in last})
    for ref, data in read_working_files(store, watch(refs)):
        mentions[str(ref)] = scan_working_file(store, ref, data)
        blob = blobs.get(ref.name)
        if data is not None and blob is not None and is_release(ref, data, blob, last[ref.name].version):
            same.add(ref.name)
            if ref.kind is Kind.DATASET and (path := _find_rows_or_file(store, ref, data)):
                rows[ref.name] = path
    # A dataset is unchanged only if its rows are, too.
    rows_blobs = _find_released_blobs(store, last, rows)
    same -= {name for name, path in rows.items() if not _has_blob(store.root, path, rows_blobs[name])}
    return WorkingScan(tuple(ref for ref in refs if ref.name not in same), mentions)


def compute_required_bump(  # noqa: PLR0913  # both sides, what they refer to, and by what they are judged
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    policy: ChangePolicy | None = None,
) -> Bump:
    """Return the bump that the change from a release to a working file needs; `rows` stand for those on disk."""
    diff = compare_with_release(store, release, new, load, rows=rows, policy=policy)
    return diff.required_bump if diff else Bump.NONE


def compare_with_release(  # noqa: PLR0913  # as above
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    policy: ChangePolicy | None = None,
) -> Diff | None:
    """Return the difference from a release to a working file, judged by `policy`; None where there is none.

    `rows` stand for those on disk, when they are about to be rewritten.
    """
    old = store.resolve(f"{new.name}@{release.version}")
    return compare_resolved(store, old, new, load, rows=rows, policy=policy)


def compare_resolved(  # noqa: PLR0913  # as above
    store: ArtifactStore,
    old: Resolved,
    new: Resolved,
    load: Load,
    *,
    rows: Rows | None = None,
    policy: ChangePolicy | None = None,
) -> Diff | None:
    """Return the difference from a release to another version, judged by `policy`; None where there is none."""
    has_rows = "rows" in {*old.artifact.value, *new.artifact.value}
    # Rows are not part of the digest, so that datasets with rows are always compared.
    if old.digest == new.digest and not has_rows:
        return None
    from evalstore.diff import compare

    rows_pair = None
    if has_rows:
        rows_pair = store.pair_rows(old, new) if rows is None else (store.rows(old), rows)
    terms = policy.restrict_to_change(new.name, parse_version(old.version)) if policy else None
    return compare(old.artifact, new.artifact, load=load, rows=rows_pair, terms=terms)


def _find_released_blobs(
    store: ArtifactStore, last: Mapping[str, Release], paths: Mapping[str, str]
) -> dict[str, str | None]:
    files = [(last[name].commit, path) for name, path in paths.items()]
    return dict(zip(paths, store.moves.find_blobs(files), strict=True))


def _has_blob(root: Path | None, path: str, blob: str | None) -> bool:
    with suppress(LoadError):
        return root is not None and blob is not None and is_blob(root, path, blob)
    return False


def _find_rows_or_file(store: ArtifactStore, ref: Ref, data: bytes) -> str | None:
    try:
        return find_working_rows(store, ref, data)
    except LoadError:
        return ref.path  # it cannot be parsed, and it could not when it was released: its bytes decide


def make_working_loader(store: ArtifactStore) -> Callable[[str], Artifact]:
    """Return a function that loads the references of working files; an unreleased version is that of a working file."""

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
