"""Times the commands on a store of 200 suites and 900 rubrics that one bump released, against raw git in one run.

Ratios travel, absolute times do not: `python benchmarks/bench_scale.py [suites] [rubrics]`, up to 2000 and 9000. Where
other work runs on the machine, the ratios of processor time (user and system) tell more than those of the clock.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from many_artifacts import SIGNATURE, make_files, release_files, run_git, stream_tags, write_files

from evalstore.model.lock import LOCK_FILE as LOCK

# The first verification is of a store without a lock, the second of one with it.
COMMANDS = (
    *(["list"], ["status"], ["status", "--check"], ["verify"]),
    *(["lock"], ["lock", "--check"], ["verify"], ["validate"]),
)
_REPEATS = 3  # of what is fast; the fastest counts
_FAST = 5.0  # seconds


class Cost(NamedTuple):
    """The seconds of an action: by the clock, and of the processor in the processes that it starts."""

    clock: float
    processor: float

    def describe(self, peer: Cost | None = None) -> str:
        """Return both times, and their ratios to those of a peer."""
        ratios = f"   {self.clock / peer.clock:6.1f} x git {self.processor / peer.processor:6.1f} x" if peer else ""
        return f"{self.clock:8.2f} s {self.processor:8.2f} s{ratios}"


def measure(
    action: Callable[[], object], *, repeats: int = _REPEATS, prepare: Callable[[], object] = lambda: None
) -> Cost:
    """Return what an action costs after `prepare`, which does not count; a fast one is repeated."""
    costs: list[Cost] = []
    while len(costs) < repeats and sum(cost.clock for cost in costs) < _FAST:
        prepare()
        before, start = sum_processor_seconds(), time.perf_counter()
        action()
        clock = time.perf_counter() - start
        costs.append(Cost(clock, sum_processor_seconds() - before))
    return Cost(*map(min, zip(*costs, strict=True)))


def sum_processor_seconds() -> float:
    """Return the seconds of the processor that all children took which have ended and were waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def run_evalstore(folder: Path, *argv: str) -> None:
    """Run a command of evalstore to its end."""
    command = [sys.executable, "-m", "evalstore", "-C", str(folder), *argv]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read_by_git(folder: Path) -> None:
    """List the tags, and the tree with the blobs of all files: what reading cannot do without."""
    run_git(folder, "for-each-ref", "refs/tags")
    run_git(folder, "ls-tree", "-r", "HEAD")


def main() -> None:
    """Build the stores, time everything in one run, and print the ratios to raw git."""
    suites, rubrics = (int(word) for word in [*sys.argv[1:], "200", "900"][:2]) if sys.argv[2:] else (200, 900)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each run compiles the whole package
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **SIGNATURE}
    files = make_files(suites, rubrics)
    with tempfile.TemporaryDirectory() as top:
        released, bumped, raw = (Path(top, name) for name in ("released", "bumped", "raw"))
        for folder in (released, bumped, raw):
            write_files(folder, files)
        release_files(released, files)
        tags = "".join(stream_tags(files))
        print(f"{suites:,} suites + {rubrics:,} rubrics = {len(files):,} artifacts, all released by one bump")
        print(f"{'':32} {'clock':>10} {'processor':>10}")
        reading = measure(lambda: read_by_git(released), repeats=10)
        print(f"{'git for-each-ref + ls-tree -r':32} {reading.describe()}")
        for command in COMMANDS:
            run = partial(run_evalstore, released, *command)
            name = " ".join(command) + (", with a lock" if command == ["verify"] and (released / LOCK).exists() else "")
            print(f"{name:32} {measure(run).describe(reading)}", flush=True)
        print(f"{'git status':32} {measure(lambda: run_git(released, 'status'), repeats=10).describe(reading)}")

        def write_by_git() -> None:
            run_git(raw, "add", ".")
            run_git(raw, "commit", "-q", "-m", "release")
            run_git(raw, "fast-import", "--quiet", "--done", stdin=tags)

        writing = measure(write_by_git, repeats=1)
        print(f"{'git commit + fast-import of tags':32} {writing.describe()}")
        cost = measure(lambda: run_evalstore(bumped, "bump", "--all"), repeats=1)
        print(f"{'bump --all':32} {cost.describe(writing)}")
        same = run_git(bumped, "for-each-ref", "refs/tags") == run_git(released, "for-each-ref", "refs/tags")
        print(f"its tags are those of fast-import, byte for byte: {same}")


if __name__ == "__main__":
    main()
