"""What `--jobs 2` brings `replay`, `history`, `validate` and `migrate`: clock and processor beside one process, hashes.

    python benchmarks/bench_jobs.py [ROWS] [SUITES]

ROWS outputs of 1 KB (default 20,000; five text checks, a question each in a file of rows), and SUITES legacy suites
(default 60). One and two processes take turns, three times each, and the best of each counts: seconds of the clock, of
the processor in brackets, how many times as fast two are, and the hash of what all of them printed.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench_migrate import suite
from bench_parts import release
from bench_scale import Cost, sum_processor_seconds

TURNS = 3
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux: what workers took is known to who waits for them last


def measure(folder: Path, argv: tuple[str, ...], jobs: int) -> tuple[Cost, str]:
    """Run a command, and return its cost and the hash of what it prints."""
    before, start = sum_processor_seconds(), time.perf_counter()
    command = [sys.executable, "-m", "evalstore", *argv, "--jobs", str(jobs), "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    clock = time.perf_counter() - start
    if done.returncode not in {0, 1} or done.stderr:
        sys.exit(done.stderr.decode())
    with suppress(ChildProcessError):
        while True:
            os.wait()
    cost = Cost(clock, sum_processor_seconds() - before)
    return cost, hashlib.sha256(done.stdout).hexdigest()[:12]


def main(rows: int, suites: int) -> None:
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    with tempfile.TemporaryDirectory() as name:
        folder, legacy = Path(name) / "store", Path(name) / "legacy"
        folder.mkdir()
        release(folder, rows)
        score = ("score", "dataset/many@1.0.0", "outputs.jsonl", "--quiet")
        subprocess.run([sys.executable, "-m", "evalstore", *score], cwd=folder, check=True)
        run = str(next((folder / "runs").glob("*.json")))
        dice = random.Random(1)  # noqa: S311  # the same suites again
        for number in range(suites):
            path = legacy / f"suite-{number}" / "evals.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(suite(number, dice)))
        commands = (
            ("replay", run, "--rubric", "rubric/five@worktree"),
            ("history", "rubric/five", "--run", run),
            ("validate",),
            ("migrate", str(legacy), "--dry-run"),
        )
        for argv in commands:
            best: dict[int, Cost] = {}
            hashes = set()
            for _ in range(TURNS):
                for jobs in (1, 2):
                    cost, found = measure(folder, argv, jobs)
                    best[jobs] = min(cost, best.get(jobs, cost))
                    hashes.add(found)
            same = hashes.pop() if len(hashes) == 1 else "DIFFERENT"
            shown = " ".join(f"{cost.clock:6.1f} s ({cost.processor:5.1f})" for cost in best.values())
            print(f"{argv[0]:9} {shown} {best[1].clock / best[2].clock:5.2f} x  {same}", flush=True)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]]
    main(*(sizes + [20_000, 60][len(sizes) :]))
