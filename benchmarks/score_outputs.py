"""`score` under five text checks, beside a bare loop that grades alike and writes nothing; and its memory."""

from __future__ import annotations

import sys
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
FLAT = 20  # MB more for four times as many outputs: the questions' index, and what is noted of each


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 10_000 if quick else 60_000
    write_scored_store(folder / "store", write_rows(count))
    commands = []
    for size in (count // 4, count):
        outputs = write_outputs(folder / f"{size}.jsonl", size, good=3)
        out = ("--out", str(folder / "runs"), "-q")
        commands.append(ours(folder / "store", "score", "dataset/many@1.0.0", str(outputs), *out))
    peer = measure([sys.executable, "-c", LOOP, str(outputs)])
    yield Measured(
        f"score, {count:,} outputs",
        measure(commands[1]),
        4 * peer,
        f"4 × a bare loop, {peer:.2f} s",
    )
    small, large = map(measure_peak, commands)
    yield Measured(
        f"score, {count:,} outputs, MB beside a quarter of them", large, small + FLAT, "flat memory"
    )
