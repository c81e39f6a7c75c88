"""A run in parts: equal hashes whoever does them, with a worker killed in the middle, and what more workers bring.

    python benchmarks/bench_parts.py [ROWS]

Scores ROWS outputs of 1 KB (default 200,000; five text checks, a question each in a file of rows) by one process, by
2 and 8 processes, by 2 with one killed, and on a Dask cluster of two worker processes, whole and with one killed. Each
line has the hash of the rows and of the aggregate, which must be those of the first, the clock, and processor seconds.
The last lines are a plan by hand: what planning, the parts and joining them cost.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_runs import make

SCORE = ("score", "dataset/many@1.0.0", "outputs.jsonl")
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")


def release(folder: Path, rows: int) -> None:
    """Make the store, and release its rubric and its dataset by hand, so that a pin says what both are."""
    make(folder, rows)
    dataset = folder / "datasets/many.yaml"
    dataset.write_text(dataset.read_text().replace("words@worktree", "five@1.0.0"))
    for argv in (
        ("add", "rubrics", "datasets"),
        ("commit", "-qm", "Release"),
        *(("tag", "-am", "Release", name) for name in ("rubric/five@1.0.0", "dataset/many@1.0.0")),
    ):
        subprocess.run([*GIT, *argv], cwd=folder, check=True)


def run(folder: Path, *argv: str, watch: Callable[[int], None] | None = None) -> tuple[float, float, int]:
    """Run a command, and return its clock, the processor seconds of all its processes, and the peak of one, in kB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "evalstore", *argv, "--quiet"]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1789401600"})
    if watch:
        threading.Thread(target=watch, args=(process.pid,), daemon=True).start()
    if process.wait():
        sys.exit(f"{' '.join(argv)}: exit code {process.returncode}")
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, spent, after.ru_maxrss


def list_children(pid: int) -> list[int]:
    """Return the children of a process, by number."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def kill_worker(out: Path) -> Callable[[int], None]:
    """Return a watch that kills one worker of a process, once the first part of its plan is being joined."""

    def watch(pid: int) -> None:
        while not list(out.glob(".*.parts/plan.json.parts/*.json")):
            time.sleep(0.05)
        workers = [grandchild for child in list_children(pid) for grandchild in list_children(child)]
        os.kill(workers[0], signal.SIGKILL)

    return watch


def hash_run(out: Path) -> str:
    """Return the beginnings of the hashes of a run's rows and of its aggregate."""
    # In pieces: a process that this one starts counts its memory as its own peak.
    return " ".join(_hash_file(path)[:12] for path in sorted(out.glob("*.json*")))


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def open_cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """Start two worker processes of Dask; yield the scheduler's address, and how to kill a worker."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster.scheduler_address, lambda: os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def main() -> None:
    """Print a line for each way."""
    rows = int(sys.argv[1]) if sys.argv[1:] else 200_000
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "store")
        release(folder, rows)
        print(f"{rows:,} outputs, {(folder / 'outputs.jsonl').stat().st_size / 1e6:,.0f} MB")

        def score(what: str, *argv: str, watch: Callable[[int], None] | None = None) -> None:
            out = folder / "out"
            clock, spent, peak = run(folder, *argv, "--out", "out", watch=watch)
            print(f"{what:34} {hash_run(out)} {clock:8.1f} s {spent:8.1f} s {peak / 1000:7,.0f} MB", flush=True)
            shutil.rmtree(out)

        score("one process", *SCORE, "--jobs", "1")
        score("2 processes", *SCORE, "--jobs", "2")
        score("8 processes", *SCORE, "--jobs", "8")
        score("2 processes, one killed", *SCORE, "--jobs", "2", watch=kill_worker(folder / "out"))
        try:
            with open_cluster() as (address, kill):
                score("Dask, 2 workers", *SCORE, "--engine", "dask", "--scheduler", address)
                timer = threading.Timer(rows / 30_000, kill)
                timer.start()
                score("Dask, 2 workers, one killed", *SCORE, "--engine", "dask", "--scheduler", address)
        except ImportError:
            print("Dask is left out: distributed is not installed")
        plan = [run(folder, *SCORE, "--plan", "plan.json", "--parts", "4")[:2]]
        parts = [run(folder, "score", "--part", str(number), "plan.json")[:2] for number in (4, 2, 3, 1)]
        score("4 parts by hand: joining", "score", "--merge", "plan.json")
        print(f"{'planning':34} {plan[0][0]:35.1f} s {plan[0][1]:8.1f} s")
        print(f"{'each part':34} {max(part[0] for part in parts):35.1f} s {max(part[1] for part in parts):8.1f} s")


if __name__ == "__main__":
    main()
