"""Times a migration of many suites into a new store, the second run that changes nothing, and the way back.

`python benchmarks/bench_migrate.py [files]`: 13 cases in two files, nearly every case with checks of its own, which is
the most that there can be to write. The peer is ruamel.yaml alone: to dump the same artifacts as it dumps by itself.
Memory is measured of separate processes, real and dry, for the whole tree and for a quarter of it: the report has a
line for each case and each file, and is all that may grow.
"""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

from evalstore.documents import read_yaml
from evalstore.migration import export, migrate

WORDS = ["entity", "field", "cache", "tag", "config", "hook", "route", "service", "plugin", "block", "view", "node"]
ALONE = r"""
import re, sys
from pathlib import Path
from evalstore.migration import migrate
migrate([sys.argv[2]], into=sys.argv[3], dry_run=sys.argv[1] == "dry")
print(re.search("VmHWM:\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
"""


def suite(number: int, dice: random.Random) -> dict[str, object]:
    """Return one legacy suite."""

    def words(count: int) -> str:
        return " ".join(dice.choices(WORDS, k=count))

    cases = [
        {
            "id": index,
            "prompt": words(40),
            "expected_output": words(60),
            "expectations": [words(8), words(8)],
            "must_contain_any": [f"{words(1)}{dice.randrange(10**6)}" for _ in range(4)],
            "must_not_contain": [],
            "check_php_lint": dice.choice([True, False, False]),
        }
        for index in range(1, 7 + number % 2)
    ]
    return {"skill_name": f"module_{number}", "skill_file": "SKILL.md", "evals": cases}


def measured(what: str, files: int, start: float, note: str) -> float:
    """Print and return the processor time of a run, which a busy machine hardly changes."""
    seconds = time.process_time() - start
    print(f"{what:22} {seconds:6.1f} s  {files / seconds:5.0f} suites/s  {note}")
    return seconds


def by_ruamel(store: Path) -> float:
    """Return how long ruamel.yaml takes to dump every artifact of a store."""
    values = [read_yaml(path.read_bytes(), path.name).value for path in store.rglob("*.yaml")]
    start = time.process_time()
    for value in values:
        YAML(typ="rt", pure=True).dump(value, io.StringIO())
    return time.process_time() - start


def peak(run: str, legacy: Path, into: Path) -> float:
    """Return the peak memory in MB of a separate process for a migration, real or dry."""
    command = [sys.executable, "-c", ALONE, run, str(legacy), str(into)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout) / 1024


def main(files: int) -> None:
    """Make the suites, migrate them twice, give them back."""
    dice = random.Random(1)  # noqa: S311  # a benchmark wants the same dice every time
    with tempfile.TemporaryDirectory() as folder:
        legacy, store = Path(folder) / "legacy", Path(folder) / "store"
        for number in range(files):
            path = legacy / f"{number % 4}/module_{number}" / "evals.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(suite(number, dice), indent=2), encoding="utf-8")
        size = sum(path.stat().st_size for path in legacy.rglob("*.json")) / (1 << 20)
        start = time.process_time()
        report = migrate([legacy], into=store)
        first = measured(
            "into a new store", files, start, f"{len(report.entries):,} cases, {len(report.files):,} files"
        )
        start = time.process_time()
        again = measured("again", files, start, f"{len(migrate([legacy], into=store).written):,} written")
        start = time.process_time()
        measured("back", files, start, f"{len(export(to='ai_best_practices', store=store).files):,} suites")
        peer = by_ruamel(store)
        peaks = {
            run: (peak(run, legacy / "0", Path(folder) / run), peak(run, legacy, Path(folder) / f"{run}-all"))
            for run in ("real", "dry")
        }
    print(f"ruamel.yaml alone      {peer:6.1f} s  migrate takes {first / peer:.2f} of that, again {again / peer:.2f}")
    for run, (quarter, whole) in peaks.items():
        grown = (whole - quarter) * 1024 / (len(report.entries) * 3 / 4)
        print(f"memory, {run:4}           {whole:6.0f} MB for {size:.0f} MB of suites; {grown:.1f} kB a case more")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
