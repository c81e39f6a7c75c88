"""Compares every artifact that changed with its last release, for `evalstore diff` without a side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.cli.diff_sides import DiffSide, compare_sides
from evalstore.errors import EvalstoreError

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.status.store_diff import StoreDiff
    from evalstore.store import ArtifactStore

FileWatch = Callable[[Sequence[Any]], Iterable[Any]]
RowWatch = Callable[[Iterable[Any]], Iterable[Any]]


def compare_all(
    store: ArtifactStore, read_side: Callable[[str], DiffSide], profile: str | None, watches: tuple[FileWatch, RowWatch]
) -> StoreDiff:
    """Return what changed in the working tree of a store; a file that cannot be compared hides no other.

    `watches` wrap the iteration over the artifacts, and, where only one changed, over its rows.
    """
    from evalstore.status.comparison import find_base_release
    from evalstore.status.store_changes import find_store_changes
    from evalstore.status.store_diff import BrokenComparison, StoreDiff
    from evalstore.status.validity import check_ledger_complete, read_working_ledger
    from evalstore.status.values import ArtifactState
    from evalstore.versions import find_version

    watch, watch_rows = watches
    changes = find_store_changes(store, watch=watch)
    changed = changes.scan.changed
    watch_rows = watch_rows if len(changed) == 1 else iter  # one bar at a time
    diffs: list[Diff] = []
    new: list[str] = []
    broken = [BrokenComparison(gone.ref, gone.message) for gone in changes.removed if not gone.ok]
    for ref in watch(changed):
        name, releases = ref.name, changes.releases.get(ref.name, ())
        try:
            # In a clone without tags everything would be new.
            check_ledger_complete(name, read_working_ledger(store, ref), changes.list_tagged(name))
            if (last := changes.last.get(name)) is None:
                new.append(name)
                continue
            working = read_side(f"{name}@worktree")
            version = find_version(working.artifact.version)
            base = (find_base_release(store, releases, version) if version else None) or last
            diff = compare_sides((read_side(f"{name}@{base.version}"), working), store, profile, watch_rows)
            # On a branch that has not seen the last release, the file may well be the one that it began from.
            if base == last or diff.findings:
                diffs.append(diff)
        except EvalstoreError as error:
            broken.append(BrokenComparison(name, error.message, error.place))
    removed = tuple(gone.ref for gone in changes.removed if gone.state is ArtifactState.REMOVED)
    return StoreDiff(changes.total, tuple(diffs), tuple(new), removed, tuple(broken))
