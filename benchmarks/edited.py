"""What compares where much was edited: rows of a dataset, every artifact, every check of a rubric."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import (
    RUBRIC,
    Measured,
    git,
    measure,
    measure_interpreter,
    ours,
    run,
    write_rows,
    write_scored_store,
)

EDITED_ROWS, RELEASES = 50, 4
PER_ARTIFACT, PER_RELEASE, EDITED_CHECKS = 0.003, 0.1, 0.4  # seconds
# What anybody does who compares two files of rows: every line of both is parsed.
_READING = """
import json, subprocess, sys
folder = sys.argv[1]
released = subprocess.run(["git", "-C", folder, "show", "HEAD:datasets/many.jsonl"], capture_output=True).stdout
for lines in (released.splitlines(), open(f"{folder}/datasets/many.jsonl", "rb")):
    for line in lines:
        json.loads(line)
"""
_CHECK = (
    "  - {{id: c{number}, kind: must_contain_any, values: [{word} {number}, cache tag {number}]}}\n"
)


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    yield from _measure_rows(folder / "rows", 10_000 if quick else 100_000)
    yield from _measure_artifacts(folder / "artifacts", 100 if quick else 800)
    yield from _measure_checks(folder / "checks")


def _measure_rows(folder: Path, count: int) -> Iterator[Measured]:
    rows = write_rows(count).splitlines()
    write_scored_store(folder, "\n".join(rows) + "\n")
    start = {command: measure(ours(folder, command)) for command in ("status", "diff")}
    for version in range(2, RELEASES + 1):
        edit_rows(folder, rows, str(version))
        run(ours(folder, "bump", "--all", "-q"))
    seconds = measure(ours(folder, "log", "dataset/many")) - measure_interpreter()
    what = f"log, {count:,} rows × {RELEASES} releases"
    allowed = PER_RELEASE * RELEASES * count / 100_000 + start["status"]
    yield Measured(what, seconds, allowed, f"{PER_RELEASE:g} s a release of 100,000 rows")
    edit_rows(folder, rows, "last")
    reading = measure([sys.executable, "-c", _READING, str(folder)]) - measure_interpreter()
    for command, idle in start.items():
        seconds = measure(ours(folder, command)) - idle
        what = f"{command}, {count:,} rows, {EDITED_ROWS} edited"
        yield Measured(what, seconds, 3 * reading, f"3 × parsing both files, {reading:.2f} s")


def edit_rows(folder: Path, rows: list[str], word: str) -> None:
    """Write rows of which a few ask with another word than before."""
    for at in range(0, len(rows), len(rows) // EDITED_ROWS):
        rows[at] = json.dumps({**json.loads(rows[at]), "input": f"How does {at} get {word}?"})
    (folder / "datasets/many.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


def _measure_artifacts(folder: Path, count: int) -> Iterator[Measured]:
    """Yield what it takes where a phrase of every rubric was edited."""
    release_rubrics(folder, count)
    start = {command: measure(ours(folder, command)) for command in ("status", "diff")}
    write_rubrics(folder, count, "out of date")
    for command, idle in start.items():
        seconds = measure(ours(folder, command)) - idle
        what, budget = f"{command}, each of {count} rubrics edited", f"{PER_ARTIFACT * 1000:g} ms"
        yield Measured(what, seconds, PER_ARTIFACT * count, f"{budget} a rubric")
    for argv in (["gate", "--base", "HEAD"], ["bump", "--all", "-q"]):
        # A release is made once, and what both do without an edit is what `status` does.
        seconds = run(ours(folder, *argv)) - start["status"]
        what = f"{argv[0]}, each of {count} rubrics edited"
        yield Measured(what, seconds, PER_ARTIFACT * count, f"{budget} a rubric")


def release_rubrics(folder: Path, count: int) -> None:
    """Make a store of so many rubrics of five checks, and release each."""
    git(folder, "init", "-q", "-b", "main")
    (folder / "rubrics").mkdir()
    write_rubrics(folder, count, "kill switch")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "rubrics")
    run(ours(folder, "bump", "--all", "-q"))


def write_rubrics(folder: Path, count: int, never: str) -> None:
    """Write rubrics that each look for another phrase that begins alike."""
    for number in range(count):
        text = RUBRIC.format(version="1.0.0", never=f"{never} {number}")
        path = folder / f"rubrics/r{number:05}.yaml"
        path.write_text(text.replace("id: five", f"id: r{number:05}", 1))


def _measure_checks(folder: Path) -> Iterator[Measured]:
    """Yield what `diff` takes where every check of a rubric was edited; of more checks it is no less."""
    folder.mkdir()
    for count in (5, 10, 20):
        paths = []
        for word in ("old", "new"):
            checks = "".join(_CHECK.format(number=number, word=word) for number in range(count))
            text = f"id: all\nversion: 1.0.0\nchecks:\n{checks}scoring: {{combine: weighted_avg}}\n"
            paths.append(folder / f"{word}-{count}.yaml")
            paths[-1].write_text(text)
        seconds = measure(ours(folder, "diff", *(path.name for path in paths)), cwd=folder)
        yield Measured(
            f"diff, each of {count} checks edited", seconds, EDITED_CHECKS, f"{EDITED_CHECKS:g} s"
        )
