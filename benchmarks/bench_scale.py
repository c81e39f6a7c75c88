"""Times the commands on a store of 200 suites and 900 rubrics that one bump released, against raw git in one run.

Ratios travel, absolute times do not: `python benchmarks/bench_scale.py [suites] [rubrics]`, up to 2000 and 9000.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from many_artifacts import SIGNATURE, make_files, release_files, run_git, stream_tags, write_files

COMMANDS = (["list"], ["status"], ["status", "--check"], ["verify"], ["lock"], ["lock", "--check"], ["validate"])
_KEPT_REPEATS = 3  # of raw git, which is fast; the fastest counts


def measure(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


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
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **SIGNATURE}
    files = make_files(suites, rubrics)
    with tempfile.TemporaryDirectory() as top:
        released, bumped, raw = (Path(top, name) for name in ("released", "bumped", "raw"))
        for folder in (released, bumped, raw):
            write_files(folder, files)
        release_files(released, files)
        tags = "".join(stream_tags(files))
        print(f"{suites:,} suites + {rubrics:,} rubrics = {len(files):,} artifacts, all released by one bump")
        reading = min(measure(lambda: read_by_git(released)) for _ in range(_KEPT_REPEATS))
        print(f"{'git for-each-ref + ls-tree -r':32} {reading:9.2f} s")
        for command in COMMANDS:
            seconds = measure(lambda command=command: run_evalstore(released, *command))
            print(f"{' '.join(command):32} {seconds:9.2f} s   {seconds / reading:7.1f} x git", flush=True)

        def write_by_git() -> None:
            run_git(raw, "add", ".")
            run_git(raw, "commit", "-q", "-m", "release")
            run_git(raw, "fast-import", "--quiet", "--done", stdin=tags)

        writing = measure(write_by_git)
        print(f"{'git commit + fast-import of tags':32} {writing:9.2f} s")
        seconds = measure(lambda: run_evalstore(bumped, "bump", "--all"))
        print(f"{'bump --all':32} {seconds:9.2f} s   {seconds / writing:7.1f} x git")
        same = run_git(bumped, "for-each-ref", "refs/tags") == run_git(released, "for-each-ref", "refs/tags")
        print(f"its tags are those of fast-import, byte for byte: {same}")


if __name__ == "__main__":
    main()
