"""How seconds grow while the work doubles five times: the exponent, 1 where they double, too."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path
from statistics import linear_regression

from edited import EDITED_ROWS, edit_rows, release_rubrics, write_rubrics
from measuring import (
    Measured,
    ours,
    run,
    write_released_rubrics,
    write_rows,
    write_scored_store,
)

DOUBLINGS, EXPONENT, RUNS = 5, 1.05, 2
# What makes a store of a size, its smallest size, and what is measured in it.
_Make = Callable[[Path, int], None]
_Growth = tuple[_Make, int, dict[str, str]]


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    growths: tuple[_Growth, ...] = (
        (_make_released, 50, {"verify, artifacts × 10": "verify"}),
        (_make_low, 25, {"verify, all numbers too low": "verify"}),
        (_make_edited, 32, {"status, rubrics edited": "status", "diff, rubrics edited": "diff"}),
        (_make_rows, 6_250, {"status, rows of which 50 are edited": "status"}),
    )
    for make, smallest, commands in growths:
        sizes = [smallest << number for number in range((3 if quick else DOUBLINGS) + 1)]
        seconds = _measure_sizes(folder, make, sizes, commands)
        for what, found in seconds.items():
            yield Measured(
                f"{what}: {smallest:,} to {sizes[-1]:,}",
                linear_regression([*map(log2, sizes)], [*map(log2, found)]).slope,
                EXPONENT,
                f"exponent {EXPONENT:g}",
            )


def _measure_sizes(
    folder: Path, make: _Make, sizes: list[int], commands: dict[str, str]
) -> dict[str, list[float]]:
    """Return what commands take of a store of each size, without their start."""
    idle, seconds = dict[str, float](), {what: list[float]() for what in commands}
    for size in (1, *sizes):
        store = folder / "store"
        make(store, size)
        for what, command in commands.items():
            # As often for each size: the least of more runs would make the small ones look faster.
            used = min(run(ours(store, command)) for _ in range(RUNS))
            start = idle.setdefault(what, used)
            seconds[what] += [max(used - start, 0.001)] if size > 1 else []
        shutil.rmtree(store)
    return seconds


def _make_released(folder: Path, count: int) -> None:
    write_released_rubrics(folder, count, 10)


def _make_low(folder: Path, count: int) -> None:
    write_released_rubrics(folder, count, 10, low=True)


def _make_edited(folder: Path, count: int) -> None:
    release_rubrics(folder, count)
    write_rubrics(folder, count, "out of date")


def _make_rows(folder: Path, count: int) -> None:
    folder.mkdir()
    rows = write_rows(max(count, EDITED_ROWS)).splitlines()
    write_scored_store(folder, "\n".join(rows) + "\n")
    edit_rows(folder, rows, "old")
