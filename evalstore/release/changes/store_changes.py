"""Finds what differs from the releases in a store: changed working files, and removed ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstore.errors import RefusedError
from evalstore.model import Ref
from evalstore.places import LEDGER_FOLDER
from evalstore.progress import Watch
from evalstore.release.changes.values import ArtifactState, ArtifactStatus
from evalstore.release.dependencies.working_scan import WorkingScan, scan_working_files
from evalstore.store import ArtifactStore, Release
from evalstore.store.repository.objects import find_committed_blobs
from evalstore.store.revisions import find_fork, find_head
from evalstore.store.tags import find_last_release
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.release.changes.base_policy import BasePolicies


@dataclass(frozen=True, slots=True)
class StoreChanges:
    """What differs from the releases: the working files of a store against its releases.

    `refs` are the working files; the releases are by name. `known` are the releases that the base
    of the judgement has seen, `last` the last of those; `removed` are artifacts whose file is gone
    although HEAD, or the commit by which changes are judged, has it.
    """

    refs: tuple[Ref, ...]
    releases: Mapping[str, Sequence[Release]]
    known: Mapping[str, Sequence[Release]]
    last: Mapping[str, Release]
    scan: WorkingScan
    removed: tuple[ArtifactStatus, ...]

    @property
    def total(self) -> int:
        """How many artifacts there are, including those whose file was just removed."""
        return len(self.refs) + len(self.removed)

    @property
    def gone(self) -> list[Release]:
        """The last releases of artifacts without a file.

        Those whose file was just removed come first.
        """
        present, removed = {ref.name for ref in self.refs}, {one.ref for one in self.removed}
        found = [release for release in self.last.values() if release.name not in present]
        return sorted(found, key=lambda release: release.name not in removed)

    @property
    def unchanged(self) -> list[Release]:
        """The releases that the working files still equal."""
        differ = {ref.name for ref in self.scan.changed}
        names = [ref.name for ref in self.refs if ref.name not in differ]
        return [self.last[name] for name in names if name in self.last]


def find_store_changes(
    store: ArtifactStore, bases: BasePolicies | None = None, *, watch: Watch[Any] = iter
) -> StoreChanges:
    """Compare all working files with their last releases; `RefusedError` in a bare repository.

    With `bases`, releases that they have not seen do not count. `watch` wraps the iteration over
    the files.
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to compare", hint="run it in a clone"
        )
    releases, refs = store.group_releases(), tuple(store.working())
    known = {name: bases.keep_known(all_) for name, all_ in releases.items()} if bases else releases
    last = {name: release for name, all_ in known.items() if (release := find_last_release(all_))}
    scan = scan_working_files(store, refs, last, watch=watch)
    scan = replace(scan, changed=(*scan.changed, *_find_conflicted(store, refs, scan)))
    removed = tuple(
        _find_removed(store, {ref.name for ref in refs}, last, bases.commit if bases else None)
    )
    return StoreChanges(refs, releases, known, last, scan, removed)


def _find_conflicted(store: ArtifactStore, refs: Sequence[Ref], scan: WorkingScan) -> Iterator[Ref]:
    """Yield unchanged artifacts whose ledger blocks their next release.

    A merge left its markers in the ledger.
    """
    # A sparse clone may lack the ledgers, as files and as objects.
    if store.root is not None and (store.root / LEDGER_FOLDER).is_dir():
        names = store.ledgers.list_conflicted() - {ref.name for ref in scan.changed}
        yield from (ref for ref in refs if ref.name in names)


def _find_removed(
    store: ArtifactStore, present: set[str], last: Mapping[str, Release], base: str | None
) -> Iterator[ArtifactStatus]:
    missing = {name: release for name, release in last.items() if name not in present}
    head = find_head(store.git) if missing else None
    if head is None:
        return
    # What HEAD never had belongs to another store or branch, and what it has removed is history.
    tip = (find_fork(store.git, base, head) or base) if base else head
    prefix = store.moves.find_prefix(tip)
    paths = [(tip, prefix + release.path) for release in missing.values()]
    for (name, release), blob in zip(
        missing.items(), find_committed_blobs(store.objects, paths), strict=True
    ):
        if blob is not None:
            yield _describe_removed(
                store.root, name, release, "since the base" if base else "from the working tree"
            )


def _describe_removed(
    root: Path | None, name: str, release: Release, whence: str
) -> ArtifactStatus:
    if root and os.path.lexists(root / release.path):
        message, state, required = (
            f"{release.path} is not a regular file, and evalstore follows no links",
            ArtifactState.BROKEN,
            Bump.MAJOR,
        )
    else:
        message, state, required = (
            f"removed {whence}; its releases stay",
            ArtifactState.REMOVED,
            Bump.NONE,
        )
    is_ok, released = state is ArtifactState.REMOVED, str(release.version)
    return ArtifactStatus(name, state, is_ok, message, released=released, required_bump=required)
