"""Audits against what they rest on: reading both runs, and scoring one; with the peak of memory.

    python benchmarks/bench_audits.py [QUESTIONS ...]

Writes a store with so many questions (default 1,000 and 10,000) in a file of rows and outputs of about 500 characters,
and scores two runs: of other outputs under one rubric, and of the same outputs under two that differ in one check. Two
last pairs have 200 questions and 40 new phrases, most of which are in most of the outputs. Seconds are those of the
processor, the least of three (above 20,000 questions of one); memory is the growth of a process of its own.

An audit wants at most twice the reading, three scorings, and flat memory. Recorded on two cores that eight others used,
on 2026-11-23:

                             questions   reading   scoring     audit / reading / scoring        MB
    outputs only                 1,000     0.08s     0.27s     0.45s      5.68      1.66         2
    outputs only                10,000     1.08s     2.99s     4.75s      4.39      1.59         3
    outputs only               100,000     7.78s    27.59s    38.26s      4.92      1.39         5
    one changed check            1,000     0.06s     0.22s     0.29s      4.52      1.31        15
    one changed check           10,000     0.65s     2.36s     3.80s      5.82      1.61        15
    40 phrases                     200     0.01s     0.06s     0.24s     16.52      3.80         3
    40 that decide                 200     0.01s     0.02s     0.26s     38.75     11.73         7

The last row was recorded later, while the machine did less. In most outputs of the 40 phrases another phrase decides
already, so that all 40 are known at once to move nothing; in those that decide, the first phrase that is banned turns
the check.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

RUBRIC = """\
id: r
version: {version}
checks:
  - {{id: names, kind: must_contain_any, values: [alpha tag, max-age]}}
  - {{id: never, kind: must_not_contain, values: [{phrases}]}}
  - {{id: form, kind: format, format: text, min_chars: 20, max_chars: {most}}}
scoring: {{combine: weighted_avg, weights: {{names: 2}}}}
"""
DATASET = "id: d\nversion: {version}\ndefaults: {{rubric_ref: rubric/r@{version}}}\nrows: d.jsonl\n"
PHRASES, FILLERS = [f"word{number:02d}x" for number in range(20)], [f"fill{number:02d}x" for number in range(40)]
CLEAN = ["alpha tag", "max-age", "is", "the", "block", "cached"] * 4 + FILLERS
WORDS = [*CLEAN, *PHRASES[:4]]
AT = datetime(2026, 11, 1, tzinfo=UTC)
ROUNDS, LARGE, DENSE = 3, 20_000, 200
# what changes -> the phrases and the limit of version 2.0.0, the words of outputs, and whether B has some of its own
PAIRS = {
    "outputs only": (PHRASES, 700, WORDS, True),
    "one changed check": (PHRASES, 500, WORDS, False),
    "40 phrases": ([*PHRASES, *FILLERS], 700, WORDS, True),
    "40 that decide": ([*PHRASES, *FILLERS], 700, CLEAN, True),
}
DENSE_PAIRS = {"40 phrases", "40 that decide"}


def run_git(store: Path, *argv: str) -> None:
    """Run git as an author."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(store)]
    subprocess.run([*git, *argv], check=True, capture_output=True)


def write_store(store: Path, size: int, pair: str) -> None:
    """Release a rubric and a dataset twice; the second rubric is the pair's."""
    phrases, most, *_ = PAIRS[pair]
    for folder in ("rubrics", "datasets"):
        (store / folder).mkdir(parents=True)
    run_git(store, "init", "-q")
    questions = (json.dumps({"id": f"q{number}", "input": f"How does number {number} go?"}) for number in range(size))
    (store / "datasets/d.jsonl").write_text("".join(f"{line}\n" for line in questions))
    for version, values, limit in (("1.0.0", PHRASES, 700), ("2.0.0", phrases, most)):
        (store / "rubrics/r.yaml").write_text(RUBRIC.format(version=version, phrases=", ".join(values), most=limit))
        (store / "datasets/d.yaml").write_text(DATASET.format(version=version))
        run_git(store, "add", "-A")
        run_git(store, "commit", "-qm", version)
        for name in (f"rubric/r@{version}", f"dataset/d@{version}"):
            run_git(store, "tag", "-a", name, "-m", "x")


def write_outputs(path: Path, size: int, seed: int, words: list[str]) -> Path:
    """Write an output of 40 to 110 words for each question."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    with path.open("w") as file:
        for number in range(size):
            text = " ".join(chance.choice(words) for _ in range(chance.randint(40, 110)))
            file.write(json.dumps({"id": f"q{number}", "output": text}) + "\n")
    return path


def build_pair(folder: Path, size: int, pair: str) -> tuple[Path, Path]:
    """Return the two runs of a new store in `folder`."""
    from evalstore.scoring import score
    from evalstore.store import ArtifactStore

    write_store(folder / "store", size, pair)
    _, _, words, has_others = PAIRS[pair]
    outputs = [write_outputs(folder / "a.jsonl", size, 1, words)]
    outputs.append(write_outputs(folder / "b.jsonl", size, 2, words) if has_others else outputs[0])
    versions = ("1.0.0", "1.0.0" if pair == "outputs only" else "2.0.0")
    runs = []
    with ArtifactStore.open(folder / "store") as store:
        for name, version, path in zip("ab", versions, outputs, strict=True):
            runs.append(score(f"dataset/d@{version}", path, store=store, out=folder / name, at=AT, model=name).path)
    return runs[0], runs[1]


def list_actions(folder: Path, runs: tuple[Path, Path]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is timed."""
    from evalstore.audits import audit
    from evalstore.audits.static_audit import audit_statically
    from evalstore.runs import read_rows, read_run
    from evalstore.scoring import score
    from evalstore.store import ArtifactStore

    def score_again() -> None:
        with ArtifactStore.open(folder / "store") as store, tempfile.TemporaryDirectory() as out:
            score("dataset/d@1.0.0", folder / "a.jsonl", store=store, out=Path(out), at=AT, model="m")

    def audit_runs() -> None:
        with ArtifactStore.open(folder / "store") as store:
            audit(*runs, store)

    def audit_records() -> None:
        with ArtifactStore.open(folder / "store") as store:
            audit_statically(*runs, store)

    yield "reading", lambda: sum(1 for run in runs for _ in read_rows(read_run(run)))
    yield "scoring", score_again
    yield "static", audit_records
    yield "audit", audit_runs


def measure_times(folder: Path, runs: tuple[Path, Path], rounds: int) -> dict[str, float]:
    """Return the least seconds of each action, which take turns so that another program slows all of them."""
    actions, least = [*list_actions(folder, runs)], dict[str, float]()
    for _ in range(rounds):
        for name, act in actions:
            start = time.process_time()
            act()
            least[name] = min(least.get(name, float("inf")), time.process_time() - start)
    return least


def measure_memory(folder: Path, runs: tuple[Path, Path]) -> float:
    """Return the MB that an audit needs in a process of its own, above its imports."""
    command = [sys.executable, __file__, "--memory", str(folder), *map(str, runs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_memory(folder: Path, runs: tuple[Path, Path]) -> None:
    """Audit two runs, and print by how many MB the peak of memory grew."""
    audit_runs = dict(list_actions(folder, runs))["audit"]
    before = read_peak()
    audit_runs()
    print((read_peak() - before) / 1024)


def read_peak() -> int:
    """Return the peak of this process in KB, which begins anew with it: that of `getrusage` is inherited."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Print a row for each pair and size."""
    sizes = [int(word) for word in sys.argv[1:]] or [1_000, 10_000]
    heads = ("questions", "reading", "static", "/ reading", "scoring", "audit", "/ reading", "/ scoring", "MB")
    print(f"{'':18}" + "".join(f"{head:>10}" for head in heads))
    for pair in PAIRS:
        for size in [DENSE] if pair in DENSE_PAIRS else sizes:
            with tempfile.TemporaryDirectory() as top:
                folder = Path(top)
                runs = build_pair(folder, size, pair)
                cost, memory = measure_times(folder, runs, 1 if size > LARGE else ROUNDS), measure_memory(folder, runs)
            ratios = (
                *(cost["static"] / cost["reading"], cost["scoring"]),
                *(cost["audit"], cost["audit"] / cost["reading"], cost["audit"] / cost["scoring"]),
            )
            figures = "".join(f"{figure:>10.2f}" for figure in (cost["reading"], cost["static"], *ratios))
            print(f"{pair:18}{size:>10,}{figures}{memory:>10.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print_memory(Path(sys.argv[2]), (Path(sys.argv[3]), Path(sys.argv[4])))
    else:
        main()
