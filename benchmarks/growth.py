"""How seconds grow while the work doubles five times: the exponent, 1 where they double, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path
from statistics import linear_regression

from edited import EDITED_ROWS, edit_rows, release_rubrics, write_rubrics
from measuring import (
    Measured,
    measure,
    ours,
    write_released_rubrics,
    write_rows,
    write_scored_store,
)

DOUBLINGS, EXPONENT = 5, 1.05
ROWS, RUBRICS, RELEASED = 3_125, 12, 50  # the smallest inputs


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    doublings = 3 if quick else DOUBLINGS
    sizes = [2**number for number in range(doublings + 1)]
    for name, command, make, smallest in (
        ("verify, artifacts × 10", "verify", _make_released, RELEASED),
        ("verify, all numbers too low", "verify", _make_low, RELEASED),
        ("status, rubrics edited", "status", _make_edited, RUBRICS),
        ("diff, rubrics edited", "diff", _make_edited, RUBRICS),
        ("status, rows of which 50 are edited", "status", _make_rows, ROWS),
    ):
        seconds = _list_seconds(folder / name, command, make, [smallest * one for one in sizes])
        yield Measured(
            f"{name}: {smallest:,} to {smallest * sizes[-1]:,}",
            linear_regression([*map(log2, sizes)], [*map(log2, seconds)]).slope,
            EXPONENT,
            f"exponent {EXPONENT:g}",
        )


def _list_seconds(
    folder: Path, command: str, make: Callable[[Path, int], None], sizes: list[int]
) -> list[float]:
    """Return what a command takes of stores of these sizes, without its start."""
    folder.mkdir()
    make(folder / "one", 1)
    idle = measure(ours(folder / "one", command))
    found = []
    for size in sizes:
        make(folder / str(size), size)
        found.append(max(measure(ours(folder / str(size), command)) - idle, 0.001))
    return found


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
