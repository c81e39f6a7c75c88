"""Times the start of commands in a small store against a bare interpreter plus git, and a page of references.

`python benchmarks/bench_start.py [rounds]`: processor time, the least of the rounds, in which all took turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench_scale import measure, sum_processor_seconds
from bench_waits import RUBRIC
from many_artifacts import SIGNATURE, File, make_files, release_files, write_files

from evalstore.store import ArtifactStore

SUITES, RUBRICS, PAGE = 20, 90, 300


def resolve_page(folder: Path, refs: list[str]) -> float:
    """Return the seconds in which one process opens a store and digests what references mean."""
    start = time.process_time() + sum_processor_seconds()
    with ArtifactStore.open(folder) as store:
        digests = [(found.digest, found.scoring_digest) for found in store.resolve_all(refs)]
    seconds = time.process_time() + sum_processor_seconds() - start
    if len(digests) != len(refs):
        raise SystemExit("not every reference was resolved")
    return seconds


def main() -> None:
    """Build the stores, time everything in turns, and print the ratios."""
    rounds = int([*sys.argv[1:], "9"][0])
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **SIGNATURE}
    with tempfile.TemporaryDirectory() as top:
        small, large = Path(top, "small"), Path(top, "large")
        names = [f"r{number:05}" for number in range(PAGE)]
        page_files = [File(f"rubric/{name}", f"rubrics/{name}.yaml", RUBRIC.format(id=name)) for name in names]
        files = make_files(SUITES, RUBRICS)
        for folder, made in ((small, files), (large, page_files)):
            write_files(folder, made)
            release_files(folder, made)
        first, refs = files[0].ref, [file.ref for file in page_files]
        listings = {name: ("-C", str(small), name) for name in ("list", "status")}
        argvs = {"--version": ("--version",), **listings, "resolve": ("-C", str(small), "resolve", first)}
        file = f"{first}:rubrics/{first.partition('/')[2].partition('@')[0]}.yaml"
        actions = {
            "interpreter": [sys.executable, "-c", "pass"],
            "git": ["git", "-C", str(small), "cat-file", "blob", file],
            **{name: [sys.executable, "-m", "evalstore", *argv] for name, argv in argvs.items()},
        }
        best = dict.fromkeys(actions, 1e9)
        page = 1e9
        for _ in range(rounds):
            for name, argv in actions.items():
                cost = measure(partial(subprocess.run, argv, check=True, capture_output=True), repeats=1)
                best[name] = min(best[name], cost.processor)
            page = min(page, resolve_page(large, refs))
    peer = best["interpreter"] + best["git"]
    for name, seconds in best.items():
        print(f"{name:12} {seconds * 1e3:7.1f} ms  {seconds / peer:5.1f} x the interpreter and git")
    print(f"{PAGE} references in one process: {page / PAGE * 1e3:.2f} ms each")


if __name__ == "__main__":
    main()
