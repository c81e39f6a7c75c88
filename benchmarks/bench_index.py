"""What `index` costs for many small stores: processor time, beside `git for-each-ref` and `git ls-tree` in each.

    python benchmarks/bench_index.py [STORES ...]

By default 10 and 100 stores, each with 2 suites, 6 rubrics and a judge, which one bump released.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench_scale import measure
from many_artifacts import make_files, release_files, write_files

SUITES, RUBRICS = 2, 6
PEER = (["for-each-ref", "refs/tags"], ["ls-tree", "-r", "HEAD"])


def make_stores(top: Path, count: int) -> None:
    """Make equal stores."""
    files = make_files(SUITES, RUBRICS)
    for number in range(count):
        write_files(top / f"s{number}", files)
        release_files(top / f"s{number}", files)


def run_commands(*commands: list[str]) -> None:
    """Run commands one after the other."""
    for argv in commands:
        subprocess.run(argv, check=True, capture_output=True)


def main(counts: list[int]) -> None:
    """Print a line for each number of stores."""
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            top = Path(name)
            make_stores(top, count)
            index = [sys.executable, "-m", "evalstore", "index", name, "--out", f"{name}/index.parquet", "--quiet"]
            git = [["git", "-C", str(top / f"s{n}"), *argv] for n in range(count) for argv in PEER]
            ours = measure(partial(run_commands, index), repeats=2).processor
            peer = measure(partial(run_commands, *git), repeats=2).processor
            each = ours / count * 1000
            print(f"{count:5} stores {ours:6.2f} s, {each:6.1f} ms a store; git {peer:5.2f} s; {ours / peer:5.1f} x")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 100])
