"""What looks at all artifacts: 1,000 with ten releases each, and 9,000."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_released_rubrics

COMMANDS = (["list"], ["status"], ["validate"], ["gate", "--base", "HEAD~1"])
# artifacts, releases of each, seconds of most commands, and of `gate`
STORES = ((1_000, 10, 1.0, 5.0), (9_000, 1, 3.0, 10.0))
# What jsonschema alone takes, which checks every file of ours without the predicates before it.
_ALONE = """
import sys
from evalstore.__main__ import run
from evalstore.lint import wording
wording._compile_named_predicate = lambda name: None
sys.argv[0] = "evalstore"
run()
"""


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    for artifacts, releases, most, gate in STORES[: 1 if quick else 2]:
        store = folder / str(artifacts)
        write_released_rubrics(store, artifacts, releases)
        for argv in COMMANDS:
            allowed = gate if argv[0] == "gate" else most
            what = f"{argv[0]}, {artifacts:,} artifacts × {releases}"
            yield Measured(what, measure(ours(store, *argv)), allowed, f"{allowed:g} s")
    if not quick:
        seconds = measure([sys.executable, "-c", _ALONE, "-C", str(store), "validate"])
        yield Measured(
            f"validate, {artifacts:,} artifacts, by jsonschema alone",
            seconds,
            most,
            f"{most:g} s",
            "schemas/predicates",
        )
