"""Measures the budgets of the contract and prints one table, the missed ones on top.

    python benchmarks/run.py [--quick] [WORD ...]

A file here is one budget. Seconds are those of the processor, of the whole command with its start
and its children, the least of up to three runs. WORDs choose files by name; `--quick` takes smaller
inputs, and ends in two minutes. Budgets whose peer is not installed (`make bench` does) are named
at the end.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from measuring import Measured, seal_environment

BUDGETS = (
    *("start", "small_store", "many_artifacts", "list_versions", "verify", "validate_rows"),
    *("edited", "score_outputs", "show_page", "ask_judges", "audit_again", "migrate_suites"),
    "growth",
)


def main() -> None:
    """Measure what was asked for."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    seal_environment()
    found, lacking = list[Measured](), list[str]()
    for name in BUDGETS:
        if words and not any(word in name for word in words):
            continue
        before = len(found)
        with tempfile.TemporaryDirectory() as folder:
            for one in import_module(name).measure_budgets(
                Path(folder), quick="--quick" in sys.argv[1:]
            ):
                found.append(one)
                print(
                    f"  {one.what}: {one.seconds:.2f} of {one.allowed:.2f}",
                    file=sys.stderr,
                    flush=True,
                )
        lacking += [name] if len(found) == before else []
    print("| what | measured | at most | budget | |\n|---|---|---|---|---|")
    for one in sorted(
        found, key=lambda one: (not one.lacks, one.seconds / one.allowed), reverse=True
    ):
        print(
            f"| {one.what} | {one.seconds:.2f} | {one.allowed:.2f} | {one.budget} | {one.state} |"
        )
    if lacking:
        print(f"\nwithout a peer, and not measured: {', '.join(lacking)}")


if __name__ == "__main__":
    main()
