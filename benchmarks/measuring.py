"""What the files of budgets share: a result, the processor time of commands, and stores to run them in."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from math import log2
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

from evalstore.model import Kind, Ref
from evalstore.store.artifacts import read_artifact

PEERS = Path(__file__).parents[1] / ".venv/peers/bin"
PERSON, STAMP = "Bench <bench@example.org>", "1760000000 +0000"
ROUNDS, FAST = 3, 3.0  # a command is repeated until it has taken so many seconds
DOUBLINGS, STEEPEST = 5, 1.05  # of the work, and by which power of it the time may grow
RUBRIC = """\
id: five
version: {version}
checks:
  - {{id: names, kind: must_contain_any, values: [cache tag, max-age, "#cache"]}}
  - {{id: never, kind: must_not_contain, values: [as an AI, drupal_set_message, {never}]}}
  - {{id: says, kind: regex, pattern: '\\bcache (tags?|contexts?)\\b', flags: i}}
  - {{id: form, kind: format, format: text, min_chars: 20, max_chars: 4000}}
  - {{id: shape, kind: markdown_structure, dialect: lines, min_paragraphs: 1}}
scoring: {{combine: weighted_avg, weights: {{names: 2}}}}
"""
DATASET = (
    "id: many\nversion: {version}\ndefaults: {{rubric_ref: rubric/five@{version}}}\nrows: "
    "many.jsonl\n"
)
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], capture_output=True, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
_STEP = 769  # a prime, by which neighbours differ in length
TEXT = "The block is rendered once and then kept until somebody says that it is out of date. "


class Measured(NamedTuple):
    """One line of the table: what was measured, its seconds, and the most that the budget allows, with its reason.

    `lacks` names a second machine for a job that was taken out: if the budget is met without, it is
    to go.
    """

    what: str
    seconds: float
    allowed: float
    budget: str
    lacks: str = ""

    @property
    def state(self) -> str:
        """What it means."""
        if self.lacks:
            return (
                f"so {self.lacks} stays"
                if self.seconds > self.allowed
                else f"MET: delete {self.lacks}"
            )
        return "MISSED" if self.seconds > self.allowed else "met"


def run(argv: Sequence[str], *, cwd: Path | None = None) -> float:
    """Run a command and return the processor seconds of its process and those that it started."""
    before = _sum_seconds()
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(argv)[:300]}\n{done.stderr[-2000:]}")
    return _sum_seconds() - before


def measure(argv: Sequence[str], *, cwd: Path | None = None) -> float:
    """Return the least processor seconds of some runs of a command."""
    seconds = [run(argv, cwd=cwd)]
    while len(seconds) < ROUNDS and sum(seconds) < FAST:
        seconds.append(run(argv, cwd=cwd))
    return min(seconds)


def measure_peak(argv: Sequence[str]) -> float:
    """Return the most megabytes that a command held at one time."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *argv], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _sum_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ours(folder: Path, *argv: str) -> list[str]:
    """Return the command line of evalstore in a folder."""
    return [sys.executable, "-m", "evalstore", "-C", str(folder), *argv]


def measure_exponent(argvs: Sequence[Sequence[str]], idle: float) -> float:
    """Return by which power of the work the seconds grow that go beyond those of a start.

    Each command has twice the work of the one before. The slope is that of the best line.
    """
    points = [(number, log2(measure(argv) - idle)) for number, argv in enumerate(argvs)]
    return linear_regression(*zip(*points, strict=True)).slope


@cache
def measure_interpreter() -> float:
    """Return the processor seconds of an interpreter that does nothing."""
    return measure([sys.executable, "-c", "pass"])


def find_peer(name: str) -> str | None:
    """Return the path of a peer's program; None where `make bench` has not installed it."""
    return str(PEERS / name) if (PEERS / name).exists() else None


def git(folder: Path, *argv: str, stdin: str = "") -> None:
    """Run git in a folder, as one author at one time."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["git", "-C", str(folder), *argv], input=stdin.encode(), check=True, capture_output=True
    )


def seal_environment() -> None:
    """Keep the user's settings of git out, and give commits a person and a time."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "EVALSTORE_"))]:
        del os.environ[name]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        name, _, address = PERSON.partition(" <")
        os.environ |= {
            f"GIT_{role}_NAME": name,
            f"GIT_{role}_EMAIL": address[:-1],
            f"GIT_{role}_DATE": STAMP,
        }


def write_released_rubrics(
    folder: Path, artifacts: int, releases: int, *, alone: bool = False, low: bool = False
) -> None:
    """Make a store of rubrics with so many releases of each, whose titles alone differ, and an edit of one on top.

    All rubrics are released by one commit, or each by its own: `alone`. `low`: every release looks
    for another phrase, which its number does not say.
    """
    git(folder, "init", "-q", "-b", "main")
    git(
        folder,
        "fast-import",
        "--quiet",
        "--done",
        stdin="".join(_stream_releases(artifacts, releases, alone=alone, low=low)),
    )
    git(folder, "pack-refs", "--all")
    git(folder, "reset", "-q", "--hard")
    edited = folder / "rubrics/r00000.yaml"
    edited.write_text(edited.read_text().replace("title: ", "title: another "))
    git(folder, "commit", "-q", "-a", "-m", "an edit")


def _stream_releases(artifacts: int, releases: int, *, alone: bool, low: bool) -> Iterator[str]:
    ledgers = dict.fromkeys((f"r{number:05}" for number in range(artifacts)), "")
    for patch in range(releases):
        version, tags, phrase = f"1.0.{patch}", list[str](), f"cache {patch}" if low else "cache"
        for id_ in ledgers:
            if alone or not tags:
                yield from tags
                tags.clear()
                yield f"commit refs/heads/main\ncommitter {PERSON} {STAMP}\ndata 7\nrelease\n"
            text = (
                f"id: {id_}\nversion: {version}\ntitle: in the words of {version}\nchecks:\n"
                f"  - {{kind: must_contain_any, values: [{id_}_tag, {phrase}]}}\nscoring: {{combine: all_pass}}\n"
            )
            ledgers[id_] += f"{version} {hashlib.sha256(text.encode()).hexdigest()}\n"
            yield f"M 100644 inline rubrics/{id_}.yaml\ndata {len(text)}\n{text}\n"
            yield (
                f"M 100644 inline .evalstore/sums/rubric/{id_}\ndata "
                f"{len(ledgers[id_])}\n{ledgers[id_]}\n"
            )
            digest = read_artifact(Ref(Kind.RUBRIC, id_), text.encode(), "").digest
            message = (
                f"rubric/{id_}@{version}\n\nEvalstore-Digest: {digest}\nEvalstore-Bump: patch\n"
            )
            tags.append(
                f"tag rubric/{id_}@{version}\nfrom refs/heads/main\ntagger {PERSON} {STAMP}\n"
                f"data {len(message)}\n{message}\n"
            )
        yield from tags
    yield "done\n"


def write_scored_store(folder: Path, rows: str, versions: Sequence[str] = ("1.0.0",)) -> None:
    """Make a store of a rubric with five checks and a dataset of rows, released in some versions."""
    git(folder, "init", "-q", "-b", "main")
    for name in ("rubrics", "datasets"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "datasets/many.jsonl").write_text(rows, "utf-8")
    for version in versions:
        never = "kill switch" if version == versions[0] else "out of date"
        (folder / "rubrics/five.yaml").write_text(RUBRIC.format(version=version, never=never))
        (folder / "datasets/many.yaml").write_text(DATASET.format(version=version))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", version)
        run(ours(folder, "bump", "--all", "-q"))


def write_rows(count: int, *, extra: bool = False) -> str:
    """Return the rows of a dataset, `extra`: each with two keys that are nearly known ones."""
    near = {"expectd": "x", "tag": "y"} if extra else {}
    return "".join(
        json.dumps(
            {
                "id": f"q{number}",
                "input": f"How does {number} get fresh? " + "word " * 20,
                "expected": "A tag.",
                **near,
            }
        )
        + "\n"
        for number in range(count)
    )


def write_outputs(path: Path, count: int, *, good: int, size: int = 23, spread: int = 0) -> Path:
    """Write outputs of so many sentences, of which all but one in `good` name what is asked for.

    They differ in length by up to `spread` characters.
    """
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            end = "Nothing helps." if number % good == 0 else "Use a cache tag."
            text = (TEXT * size)[number * _STEP % (spread + 1) :]
            file.write(json.dumps({"id": f"q{number}", "output": f"{text}{number} {end}"}) + "\n")
    return path
