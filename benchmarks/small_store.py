"""The everyday commands in a small store with one edit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_released_rubrics

COMMANDS = (
    *(
        ["list"],
        ["status"],
        ["diff"],
        ["validate", "rubrics/r00000.yaml"],
        ["resolve", "rubric/r00001@1.0.0"],
    ),
)


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:  # noqa: ARG001  # the signature of all
    """Yield the lines of this budget."""
    write_released_rubrics(folder, 10, 2)
    for argv in COMMANDS:
        yield Measured(
            f"{argv[0]}, a small store", measure(ours(folder, *argv), cwd=folder), 0.25, "0.25 s"
        )
