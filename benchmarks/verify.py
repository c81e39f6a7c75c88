"""`verify` beside `git fsck` of the same store, with few releases of each artifact and with many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_released_rubrics

STORES = ((200, 2), (1_000, 10))


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    for artifacts, releases in STORES[: 1 if quick else 2]:
        store = folder / str(artifacts)
        write_released_rubrics(store, artifacts, releases)
        peer = measure(["git", "-C", str(store), "fsck", "--no-progress"])
        what = f"verify, {artifacts:,} artifacts × {releases}"
        yield Measured(what, measure(ours(store, "verify")), 10 * peer, f"10 × git fsck, {peer:.2f} s")
