"""Re-scoring stored outputs: rows a second against plain `json.loads` over the same file, and the peak of memory.

    python benchmarks/bench_runs.py [ROWS]

Writes a store with ROWS questions (default 100,000) in a file of rows and as many outputs of about 1 KB, and
scores them with one must_contain_any check. Memory is the peak of a process of its own, for a tenth of the rows too.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

RUBRIC = """\
id: words
version: 1.0.0
checks: [{id: names, kind: must_contain_any, values: [cache tag, "max-age", "#cache"]}]
scoring: {combine: min}
"""
DATASET = "id: many\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/words@worktree}\nrows: many.jsonl\n"
TEXT = "The block is rendered once and then kept until somebody says that it is out of date. " * 11


def make(folder: Path, rows: int) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in ("rubrics", "datasets"):
        (folder / name).mkdir()
    (folder / "rubrics/words.yaml").write_text(RUBRIC)
    (folder / "datasets/many.yaml").write_text(DATASET)
    with (folder / "datasets/many.jsonl").open("w") as questions, (folder / "outputs.jsonl").open("w") as outputs:
        for number in range(rows):
            questions.write(json.dumps({"id": f"q{number}", "input": f"How does number {number} get fresh?"}) + "\n")
            end = "Use a cache tag." if number % 3 else "Nothing helps."
            outputs.write(json.dumps({"id": f"q{number}", "output": f"{TEXT}{end}"}) + "\n")
    return folder / "outputs.jsonl"


def plain(outputs: Path) -> float:
    start = time.perf_counter()
    with outputs.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - start


def scored(folder: Path) -> None:
    """Score in this process, and print the seconds and the peak in MB."""
    from evalstore.scoring import score
    from evalstore.store import Store

    start = time.perf_counter()
    with Store.open(folder) as store:
        score("dataset/many@worktree", folder / "outputs.jsonl", store=store, out=folder / "runs", at=datetime.now(UTC))
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        outputs = make(Path(name), rows)
        base = min(plain(outputs) for _ in range(3))
        said = subprocess.run([sys.executable, __file__, "--in", name], capture_output=True, text=True, check=True)
        seconds, peak = map(float, said.stdout.split())
        size = outputs.stat().st_size / rows
        print(f"{rows:>9,} rows of {size:,.0f} bytes  json.loads {base:6.2f} s  score {seconds:6.2f} s", end="  ")
        print(f"{rows / seconds:>8,.0f} rows/s  ratio {seconds / base:5.1f}  peak {peak:5.0f} MB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        scored(Path(sys.argv[2]))
    else:
        total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
        for count in (total // 10, total):
            measure(count)
