"""Compares every artifact that changed with its last release, for `evalstore diff` without a side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evalstore.cli.diff_sides import DiffSide, compare_sides
from evalstore.errors import EvalstoreError

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.status.store_diff import BrokenComparison, StoreDiff
    from evalstore.store import ArtifactStore


def compare_all(store: ArtifactStore, read_side: Callable[[str], DiffSide], profile: str | None) -> StoreDiff:
    """Return what changed in the working tree of a store; a file that cannot be compared hides no other."""
    from evalstore.errors import RefusedError
    from evalstore.status.comparison import scan_working_files
    from evalstore.status.store_diff import BrokenComparison, StoreDiff
    from evalstore.status.validity import check_ledger_complete, read_working_ledger
    from evalstore.store.listing import group_releases
    from evalstore.store.tags import find_last_release

    if store.root is None:
        raise RefusedError("a bare repository has no working files to compare", hint="run it in a clone")
    refs, releases = store.working(), group_releases(store)
    last = {name: release for name, all_ in releases.items() if (release := find_last_release(all_))}
    changed = scan_working_files(store, refs, last).changed
    diffs: list[Diff] = []
    broken: list[BrokenComparison] = []
    for ref in changed:
        name, tagged = ref.name, [release.version for release in releases.get(ref.name, ())]
        try:
            # In a clone without tags everything would be new.
            check_ledger_complete(name, read_working_ledger(store, ref), tagged)
            if name not in last:
                continue
            diffs.append(compare_sides((read_side(name), read_side(f"{name}@worktree")), store, profile))
        except EvalstoreError as error:
            broken.append(BrokenComparison(name, error.message, error.place))
    there = {ref.name for ref in refs}
    return StoreDiff(
        len(refs),
        tuple(diffs),
        tuple(ref.name for ref in changed if ref.name not in {*last, *(one.ref for one in broken)}),
        tuple(name for name in last if name not in there),
        tuple(broken),
    )
