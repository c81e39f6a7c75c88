"""`verify` beside `git fsck` of the same store: few releases of each artifact, many, and many with a commit each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_released_rubrics

STORES = ((200, 2, False), (200, 10, True), (1_000, 10, False))


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    for artifacts, releases, alone in STORES[: 2 if quick else 3]:
        store = folder / f"{artifacts}-{releases}"
        write_released_rubrics(store, artifacts, releases, alone=alone)
        peer = measure(["git", "-C", str(store), "fsck", "--no-progress"])
        what = f"verify, {artifacts:,} artifacts × {releases}{', a commit each' if alone else ''}"
        yield Measured(
            what, measure(ours(store, "verify")), 10 * peer, f"10 × git fsck, {peer:.2f} s"
        )
