"""Processor time and memory of reading and writing a run's rows as Parquet, beside JSON Lines, at two sizes."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from evalstore.model import Output, Verdict
from evalstore.runs import GradedRow, Run, UsedArtifact, read_rows, read_run, write_run
from evalstore.runs.row_formats import ROW_FORMATS

_TEXT = "An answer of some words, as models give them. " * 40
_RUN = Run(
    Path(), Path(), "bench/m/1.0", "bench", "1.0", "m", UsedArtifact("dataset/bench@worktree", "", "0" * 64, "0" * 64),
    (), "0" * 64, Fraction(1), Fraction(1), 1, 0, {}, {"evalstore": "0.1.0"},
)  # fmt: skip


def run_one(action: str, folder: Path, suffix: str, count: int) -> None:
    start = time.process_time()
    if action == "write":
        with write_run(folder, f"{count}-{suffix[1:]}") as draft:
            for number in range(count):
                text = f"{number} {_TEXT}"
                draft.write_row(GradedRow(f"q{number}", "?", (), Output(text), Fraction(1), Verdict.PASS, "", ""), _RUN)
            draft.publish(replace(_RUN, samples=Path(f"samples{suffix}")))
    else:
        for _ in read_rows(read_run(folder / f"{count}-{suffix[1:]}.json")):
            pass
    spent = (time.process_time() - start) / count * 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{action:5} {suffix:8} {count:8,} rows {spent:7.1f} us a row, {peak:4} MB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (20_000, 80_000):
            for action in ("write", "read"):
                for suffix in ROW_FORMATS:
                    subprocess.run([sys.executable, __file__, action, folder, suffix, str(count)], check=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        run_one(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
