"""What the benchmarks of stores share: a store made by one fast-import, and the median time of an action."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from evalstore.store import ArtifactStore

ROUNDS = 5


def build(folder: Path, stream: Iterable[str]) -> None:
    """Make the store of a stream for fast-import, its tags packed as a clone has them, and its working tree."""
    git = ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    subprocess.run([*git, "fast-import", "--quiet", "--done"], input="".join(stream).encode(), check=True)
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    subprocess.run([*git, "checkout", "-q", "main"], check=True)


def median(action: Callable[[], object]) -> float:
    """Return the median time of an action in milliseconds, after one round to warm up."""
    action()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def within(folder: Path, question: Callable[[ArtifactStore], object]) -> Callable[[], object]:
    """Return an action that opens the store, asks and closes."""

    def action() -> None:
        with ArtifactStore.open(folder) as store:
            question(store)

    return action
