"""What `--jobs 2` brings `replay`, `history`, `validate` and `migrate`: the clock beside one process, and equal hashes.

    python benchmarks/bench_jobs.py [ROWS] [SUITES]

ROWS outputs of 1 KB (default 20,000; five text checks, a question each in a file of rows), and SUITES legacy suites
(default 60). One and two processes take turns, three times each, and the best of each counts.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_migrate import suite
from bench_parts import release

TURNS = 3


def measure(folder: Path, argv: tuple[str, ...], jobs: int) -> tuple[float, str]:
    """Run a command, and return its clock and the hash of what it prints."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "evalstore", *argv, "--jobs", str(jobs), "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode not in {0, 1} or done.stderr:
        sys.exit(done.stderr.decode())
    return time.perf_counter() - start, hashlib.sha256(done.stdout).hexdigest()[:12]


def main(rows: int, suites: int) -> None:
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
            best: dict[int, float] = {}
            hashes = set()
            for _ in range(TURNS):
                for jobs in (1, 2):
                    seconds, found = measure(folder, argv, jobs)
                    best[jobs] = min(seconds, best.get(jobs, seconds))
                    hashes.add(found)
            same = hashes.pop() if len(hashes) == 1 else "DIFFERENT"
            print(f"{argv[0]:9} {best[1]:6.1f} s {best[2]:6.1f} s  {best[1] / best[2]:4.2f} x  {same}", flush=True)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]]
    main(*(sizes + [20_000, 60][len(sizes) :]))
