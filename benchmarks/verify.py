"""`verify` beside `git fsck` of the same store: few releases of each artifact, many, and many with a commit each.

Where every number is too low, each release is compared with the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_released_rubrics

# artifacts, releases of each, whether each has a commit, and whether each number is too low
STORES = (
    *((200, 2, False, False), (200, 10, True, False), (100, 10, False, True)),
    (1_000, 10, False, False),
)
TIMES, LEAST = 10, 0.25  # times git fsck, and seconds that are never too many


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    for artifacts, releases, alone, low in STORES[: 3 if quick else 4]:
        store = folder / f"{artifacts}-{releases}"
        write_released_rubrics(store, artifacts, releases, alone=alone, low=low)
        peer = measure(["git", "-C", str(store), "fsck", "--no-progress"])
        how = ", a commit each" * alone + ", all numbers too low" * low
        yield Measured(
            f"verify, {artifacts:,} artifacts × {releases}{how}",
            measure(ours(store, "verify")),
            max(TIMES * peer, LEAST),
            f"{TIMES} × git fsck, {peer:.2f} s",
        )
