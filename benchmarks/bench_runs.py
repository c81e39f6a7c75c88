"""Scoring and reading stored outputs: rows a second against `json.loads` over the same file, and the peak of memory.

    python benchmarks/bench_runs.py [ROWS]

Writes a store with ROWS questions (default 100,000) in a file of rows and as many outputs of about 1 KB, and
scores them with one must_contain_any check, and with five text checks. Then the rows of that run are read in three
ways: their outputs, as scoring them again does; whole, as an audit does; and written once more. Seconds are those of
the processor, so that a busy machine changes little; memory is the peak of a separate process, for a tenth of the
rows too.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

WORDS = """\
id: words
version: 1.0.0
checks: [{id: names, kind: must_contain_any, values: [cache tag, "max-age", "#cache"]}]
scoring: {combine: min}
"""
FIVE = """\
id: five
version: 1.0.0
checks:
  - {id: names, kind: must_contain_any, values: [cache tag, "max-age", "#cache"]}
  - {id: never, kind: must_not_contain, values: [as an AI, drupal_set_message, kill switch]}
  - {id: says, kind: regex, pattern: '\\bcache (tags?|contexts?)\\b', flags: i}
  - {id: form, kind: format, format: text, min_chars: 20, max_chars: 4000}
  - {id: shape, kind: markdown_structure, dialect: lines, min_paragraphs: 1}
scoring: {combine: weighted_avg, weights: {names: 2}}
"""
DATASET = "id: many\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/words@worktree}\nrows: many.jsonl\n"
TEXT = "The block is rendered once and then kept until somebody says that it is out of date. " * 11


def make(folder: Path, rows: int) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in ("rubrics", "datasets"):
        (folder / name).mkdir()
    (folder / "rubrics/words.yaml").write_text(WORDS)
    (folder / "rubrics/five.yaml").write_text(FIVE)
    (folder / "datasets/many.yaml").write_text(DATASET)
    with (folder / "datasets/many.jsonl").open("w") as questions, (folder / "outputs.jsonl").open("w") as outputs:
        for number in range(rows):
            questions.write(json.dumps({"id": f"q{number}", "input": f"How does number {number} get fresh?"}) + "\n")
            end = "Use a cache tag." if number % 3 else "Nothing helps."
            outputs.write(json.dumps({"id": f"q{number}", "output": f"{TEXT}{end}"}) + "\n")
    return folder / "outputs.jsonl"


def plain(outputs: Path) -> float:
    start = time.process_time()
    with outputs.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - start


def scored(folder: Path, rubric: str) -> None:
    """Score in this process, and print the seconds and the peak in MB."""
    from evalstore.scoring import score
    from evalstore.store import ArtifactStore

    start, outputs = time.process_time(), folder / "outputs.jsonl"
    with ArtifactStore.open(folder) as store:
        score("dataset/many@worktree", outputs, store=store, out=folder / rubric, at=datetime.now(UTC), rubric=rubric)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def read(path: Path, how: str) -> None:
    """Read the rows of a stored run in this process, and print the seconds and the peak in MB."""
    from evalstore.runs import read_outputs, read_rows, read_run, write_run

    run = read_run(path)
    start = time.process_time()
    if how == "outputs":
        deque(read_outputs(run.samples), maxlen=0)
    elif how == "rows":
        deque(read_rows(run), maxlen=0)
    else:
        rows = list(islice(read_rows(run), 10_000))
        start = time.process_time()
        with write_run(path.parent / "again", "again") as draft:
            for row in islice(cycle(rows), run.questions):
                draft.write_row(row, run)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def alone(*argv: str) -> tuple[float, float]:
    said = subprocess.run([sys.executable, __file__, *argv], capture_output=True, text=True, check=True)
    seconds, peak = map(float, said.stdout.split())
    return seconds, peak


def show(what: str, base: float, rows: int, *, measured: tuple[float, float]) -> None:
    seconds, peak = measured
    print(f"  {what:<22} {seconds:6.2f} s  {rows / seconds:>8,.0f} rows/s", end="  ")
    print(f"{seconds / base:5.1f} x json.loads ({base:.2f} s)  peak {peak:4.0f} MB", flush=True)


def measure(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        outputs = make(Path(name), rows)
        print(f"{rows:,} rows, {outputs.stat().st_size / rows:,.0f} bytes an output")
        base = min(plain(outputs) for _ in range(3))
        for rubric, what in (("rubric/words@worktree", "score, one check"), ("rubric/five@worktree", "score, five")):
            show(what, base, rows, measured=alone("--in", name, rubric))
        (path,) = (Path(name) / "rubric/words@worktree").glob("*.json")
        base = min(plain(path.with_name(f"{path.stem}_samples.jsonl")) for _ in range(3))
        for how, what in (("outputs", "outputs of the run"), ("rows", "rows of the run"), ("write", "rows written")):
            show(what, base, rows, measured=alone("--read", str(path), how))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        scored(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]), sys.argv[3])
    else:
        total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
        for count in (total // 10, total):
            measure(count)
