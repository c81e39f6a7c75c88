"""An audit that grades everything again, of two rubrics and other outputs, beside the scorings of its two runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import (
    Measured,
    measure,
    measure_peak,
    ours,
    write_outputs,
    write_rows,
    write_scored_store,
)

MORE = 100  # MB of an audit beside those of one scoring


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 2_000 if quick else 20_000
    versions = ("1.0.0", "2.0.0")
    write_scored_store(folder / "store", write_rows(count), versions)
    scorings, peaks = [], []
    for version, good in zip(versions, (3, 4), strict=True):
        outputs = write_outputs(folder / f"{version}.jsonl", count, good=good, size=6)
        out = ("--model", version, "--out", str(folder / "runs"), "-q")
        argv = ours(folder / "store", "score", f"dataset/many@{version}", str(outputs), *out)
        scorings.append(measure(argv))
        peaks.append(measure_peak(argv))
    runs = [str(folder / f"runs/many-{version}-{version}.json") for version in versions]
    argv, beside = ours(folder / "store", "audit", *runs), sum(scorings)
    what = f"audit, 2 × {count:,} rows"
    yield Measured(what, measure(argv), 1.5 * beside, f"1.5 × two scorings, {beside:.2f} s")
    budget = f"{MORE} MB more than one scoring"
    yield Measured(f"{what}, MB", measure_peak(argv), max(peaks) + MORE, budget)
