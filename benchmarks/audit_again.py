"""An audit that grades everything again, of two rubrics and other outputs, beside two scorings of one of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measure, ours, write_outputs, write_rows, write_scored_store


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 2_000 if quick else 20_000
    versions = ("1.0.0", "2.0.0")
    write_scored_store(folder / "store", write_rows(count), versions)
    scorings = []
    for version, good in zip(versions, (3, 4), strict=True):
        outputs = write_outputs(folder / f"{version}.jsonl", count, good=good, size=6)
        out = ("--model", version, "--out", str(folder / "runs"), "-q")
        scorings.append(
            measure(ours(folder / "store", "score", f"dataset/many@{version}", str(outputs), *out))
        )
    runs = [str(folder / f"runs/many-{version}-{version}.json") for version in versions]
    seconds, beside = measure(ours(folder / "store", "audit", *runs)), sum(scorings)
    yield Measured(
        f"audit, 2 × {count:,} rows", seconds, 3 * beside, f"3 × two scorings, {beside:.2f} s"
    )
