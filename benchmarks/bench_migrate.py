"""Times a migration of many suites into a new store, and the second run that changes nothing.

`python benchmarks/bench_migrate.py [files]`: seven cases a file, nearly every case with checks of its own.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from evalstore.migration import MigrationReport, export, migrate

WORDS = ["entity", "field", "cache", "tag", "config", "hook", "route", "service", "plugin", "block", "view", "node"]


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
        for index in range(1, 8)
    ]
    return {"skill_name": f"module_{number}", "skill_file": "SKILL.md", "evals": cases}


def timed(what: str, files: int, report: MigrationReport, start: float) -> None:
    """Print how long a run took."""
    seconds = time.perf_counter() - start
    print(f"{what:22} {seconds:6.1f} s  {files / seconds:5.0f} suites/s  {len(report.written):,} files written")


def main(files: int) -> None:
    """Make the suites, migrate them twice, give them back."""
    dice = random.Random(1)  # noqa: S311  # a benchmark wants the same dice every time
    with tempfile.TemporaryDirectory() as folder:
        legacy, store = Path(folder) / "legacy", Path(folder) / "store"
        for number in range(files):
            path = legacy / f"module_{number}" / "evals.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(suite(number, dice), indent=2), encoding="utf-8")
        for what in ("into a new store", "again"):
            start = time.perf_counter()
            timed(what, files, migrate([legacy], into=store), start)
        start = time.perf_counter()
        given = export(to="ai_best_practices", store=store)
        print(f"{'back':22} {time.perf_counter() - start:6.1f} s  {len(given.files):,} suites")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_800)
