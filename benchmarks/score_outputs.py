"""`score` under five text checks, beside a bare loop that grades alike and writes nothing; and its memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import (
    DOUBLINGS,
    STEEPEST,
    Measured,
    measure,
    measure_exponent,
    measure_peak,
    ours,
    write_outputs,
    write_rows,
    write_scored_store,
)

LOOP = r"""
import json, re, sys
says = re.compile(r"\bcache (tags?|contexts?)\b", re.I)
total = 0.0
for line in open(sys.argv[1], encoding="utf-8"):
    text = json.loads(line)["output"]
    low = text.lower()
    found = [any(word in low for word in ("cache tag", "max-age", "#cache"))]
    found.append(not any(word in low for word in ("as an ai", "drupal_set_message", "kill switch")))
    found += [says.search(text) is not None, 20 <= len(text.strip()) <= 4000]
    found.append(any(line.strip() for line in text.splitlines()))
    total += (2 * found[0] + sum(found[1:])) / 6
"""
SPREAD = 1500  # characters by which outputs differ, as the reasons of `format` then do
FLAT = 20  # MB more for four times as many outputs: the questions' index, and what is noted of each


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 10_000 if quick else 60_000
    write_scored_store(folder / "store", write_rows(count))

    def score(outputs: Path) -> list[str]:
        out = ("--out", str(folder / "runs"), "-q")
        return ours(folder / "store", "score", "dataset/many@1.0.0", str(outputs), *out)

    what = f"score, {count:,} outputs"
    names = (what, 23, 0), (f"{what} of different lengths", 32, SPREAD)
    for name, size, spread in names:
        outputs = write_outputs(folder / f"{spread}.jsonl", count, good=3, size=size, spread=spread)
        peer = measure([sys.executable, "-c", LOOP, str(outputs)])
        yield Measured(name, measure(score(outputs)), 4 * peer, f"4 × a bare loop, {peer:.2f} s")
    sizes = [count >> number for number in reversed(range(DOUBLINGS + 1))]
    commands = [
        score(write_outputs(folder / f"n{size}.jsonl", size, good=3)) for size in (1, *sizes)
    ]
    # An index of all questions is made of any outputs, so it belongs to the start.
    steepness = measure_exponent(commands[1:], measure(commands[0]))
    yield Measured(f"{what}, exponent over {DOUBLINGS} doublings", steepness, STEEPEST, "linear")
    small, large = measure_peak(commands[-3]), measure_peak(commands[-1])
    yield Measured(f"{what}, MB beside a quarter of them", large, small + FLAT, "flat memory")
