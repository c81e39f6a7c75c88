"""Start: `--version` and `--help` beside the bare interpreter, and what an import of the API takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, measure_interpreter

IMPORT = "from evalstore import Store"


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:  # noqa: ARG001  # the signature of all
    """Yield the lines of this budget."""
    bare = measure_interpreter()
    for option, times in (("--version", 2), ("--help", 5)):
        yield Measured(
            option,
            measure([sys.executable, "-m", "evalstore", option]),
            times * bare,
            f"{times} × the interpreter",
        )
    yield Measured(IMPORT, measure([sys.executable, "-c", IMPORT]), 0.15, "0.15 s")
