"""Where people wait: each command at three sizes against the tool that one would take instead, worst row on top.

    python benchmarks/bench_waits.py [--quick] [WORD ...]

A row's ratio is the processor time of the command over that of its peer, whole processes with their start, the least of
several rounds in which both took turns; only ratios travel. "of wanted" is the ratio over what it should be at most: a
row above 1 is missed. "grows" is the power of the size by which the time grows from the second size to the third, the
ideal being 1 or less. WORDs choose rows by their name. `--quick` takes two sizes and one round, and ends
in two minutes.

Peers that are not installed leave their rows out: check-jsonschema and duckdb in .venv/peers (`make bench`), php.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench_scale import sum_processor_seconds
from many_artifacts import SIGNATURE, run_git

PEERS = Path(__file__).parents[1] / ".venv/peers/bin"
SCHEMAS = Path(__file__).parents[1] / "schema"
QUICK_SECONDS, FAST_SECONDS, ROUNDS = 110, 3.0, 3
RUBRIC = """\
id: {id}
version: 1.0.0
checks:
  - {{id: names, kind: must_contain_any, values: [cache tag, max-age, "#cache"]}}
  - {{id: never, kind: must_not_contain, values: [as an AI, drupal_set_message, kill switch]}}
  - {{id: says, kind: regex, pattern: '\\bcache (tags?|contexts?)\\b', flags: i}}
  - {{id: form, kind: format, format: text, min_chars: 20, max_chars: 4000}}
  - {{id: shape, kind: markdown_structure, dialect: lines, min_paragraphs: 1}}
scoring: {{combine: weighted_avg, weights: {{names: 2}}}}
"""
DATASET = "id: many\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/five@1.0.0}\nrows: many.jsonl\n"
PHP = "id: php\nversion: 1.0.0\nchecks: [{id: lint, kind: php_lint}]\nscoring: {combine: min}\n"
TEXT = "The block is rendered once and then kept until somebody says that it is out of date. " * 23
CHANGED_SHARE = 100  # of a dataset, one row in so many

SCORE_LOOP = """
import json, re, sys
says = re.compile(r"\\bcache (tags?|contexts?)\\b", re.I)
total = 0.0
for line in open(sys.argv[1], encoding="utf-8"):
    text = json.loads(line)["output"]
    low = text.lower()
    found = [any(word in low for word in ("cache tag", "max-age", "#cache"))]
    found.append(not any(word in low for word in ("as an ai", "drupal_set_message", "kill switch")))
    found += [says.search(text) is not None, 20 <= len(text.strip()) <= 4000]
    found.append(any(line.strip() for line in text.splitlines()))
    total += (2 * found[0] + sum(found[1:])) / 6
"""
DEEPDIFF = """
import json, sys
from deepdiff import DeepDiff
old, new = ({row["id"]: row for row in map(json.loads, open(name))} for name in sys.argv[1:])
assert len(DeepDiff(old, new)["values_changed"]) > 0
"""
DUCKDB = """
import duckdb, sys
readers = {"jsonl": "read_json('%s', format='newline_delimited')", "parquet": "read_parquet('%s')"}
a, b = (readers[name.rpartition(".")[2]] % name for name in sys.argv[1:])
print(duckdb.sql(f"select avg(b.evaluation.score - a.evaluation.score), count(*) filter (where "
    f"a.evaluation.is_correct != b.evaluation.is_correct) from {a} a join {b} b using (sample_id)").fetchall())
"""


class Pair(NamedTuple):
    """The two commands that are compared, what is done before each round of ours, and what either reads as input."""

    ours: list[str]
    peers: list[list[str]]
    stdin: str = ""
    prepare: Callable[[], object] = lambda: None


class Row(NamedTuple):
    """One thing that people wait for: `limit` is the ratio to the peer that is wanted at most."""

    name: str
    peer: str
    limit: float
    sizes: tuple[int, int, int]
    build: Callable[[Path, int], Pair | None]


class Cost(NamedTuple):
    """The processor seconds of both at one size."""

    ours: float
    peer: float


def main() -> None:
    """Measure the rows, and print one table."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    is_quick, start = "--quick" in sys.argv[1:], time.monotonic()
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **SIGNATURE}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    measured: dict[Row, dict[int, Cost]] = {}
    # The small sizes of all rows come first, so that a quick run has something to say of each.
    for index in range(2 if is_quick else 3):
        for row in ROWS:
            if (words and not any(word in row.name for word in words)) or (
                is_quick and time.monotonic() - start > QUICK_SECONDS
            ):
                continue
            if cost := measure_row(row, row.sizes[index], rounds=1 if is_quick else ROUNDS):
                measured.setdefault(row, {})[row.sizes[index]] = cost
                print(f"  {row.name}, {row.sizes[index]:,}: {cost.ours:.2f} s, {cost.peer:.2f} s", file=sys.stderr)
    print_table(measured)
    left_out = [row.name for row in ROWS if row not in measured and not words]
    print(f"\nnot measured, for lack of the peer or of time: {', '.join(left_out) or 'nothing'}")


def measure_row(row: Row, size: int, *, rounds: int) -> Cost | None:
    """Return what both sides cost at one size; None without the peer."""
    with tempfile.TemporaryDirectory() as folder:
        pair = row.build(Path(folder), size)
        if pair is None:
            return None
        ours, peer = list[float](), list[float]()
        while len(ours) < rounds and sum(ours) + sum(peer) < FAST_SECONDS * rounds:
            pair.prepare()
            ours.append(measure_commands([pair.ours], pair.stdin))
            peer.append(measure_commands(pair.peers, pair.stdin))
    return Cost(min(ours), min(peer))


def measure_commands(commands: list[list[str]], stdin: str) -> float:
    """Run commands one after the other, and return the processor seconds of their processes."""
    before = sum_processor_seconds()
    for argv in commands:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
        if done.returncode not in {0, 1}:
            raise SystemExit(f"{' '.join(argv)[:200]}\n{done.stderr[-2000:]}")
    return sum_processor_seconds() - before


def print_table(measured: dict[Row, dict[int, Cost]]) -> None:
    """Print a line for each row, the worst on top."""
    lines = sorted(((describe_row(row, costs), row) for row, costs in measured.items()), reverse=True)
    print("| what | peer | sizes | seconds | ratio at each size | wanted | of wanted | grows |")
    print("|---|---|---|---|---|---|---|---|")
    for (missed, text), row in lines:
        wanted = f"≤ {row.limit:g}" if row.limit >= 1 else f"1/{1 / row.limit:g}"
        sizes, seconds, ratios, grows = text
        print(f"| {row.name} | {row.peer} | {sizes} | {seconds} | {ratios} | {wanted} | {missed:.2f} | {grows} |")


def describe_row(row: Row, costs: dict[int, Cost]) -> tuple[float, tuple[str, str, str, str]]:
    """Return the ratio of the largest size over what is wanted, and the cells of a row."""
    sizes, times = list(costs), list(costs.values())
    ratios = [cost.ours / cost.peer for cost in times]
    shown = [f"{ratio:.1f}" if ratio >= 1 else f"1/{1 / ratio:.1f}" for ratio in ratios]
    grows = "-"
    if len(sizes) > 1:
        grows = f"n^{math.log(times[-1].ours / times[-2].ours) / math.log(sizes[-1] / sizes[-2]):.2f}"
    cells = [" · ".join(f"{size:,}" for size in sizes), " · ".join(f"{cost.ours:.2f}" for cost in times)]
    return ratios[-1] / row.limit, (*cells, " · ".join(shown), grows)


def run_ours(folder: Path, *argv: str) -> list[str]:
    """Return the command line of evalstore in a folder."""
    return [sys.executable, "-m", "evalstore", "-C", str(folder), *argv]


def find_peer(name: str) -> str | None:
    """Return the path of a peer's program, or None."""
    return str(PEERS / name) if (PEERS / name).exists() else shutil.which(name)


def write_store(folder: Path, files: dict[str, str]) -> None:
    """Write a store in a repository without a commit."""
    run_git(folder, "init", "-q")
    for path, text in {"evalstore.yaml": "{}\n", "rubrics/five.yaml": RUBRIC.format(id="five"), **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def write_rows(count: int, *, changed: bool = False) -> str:
    """Return the rows of a dataset, one in a hundred changed, each with two keys that no schema knows."""
    step = max(count // CHANGED_SHARE, 1)
    return "".join(
        json.dumps(
            {
                "id": f"q{number}",
                "input": f"How does number {number} get fresh? " + "word " * 20,
                "expected": "Use a cache tag, now." if changed and number % step == 0 else "Use a cache tag.",
                "tags": ["cache", "block"],
                "difficulty": "hard",
                "source_url": f"https://example.org/{number}",
                "metadata": {"number": number},
            }
        )
        + "\n"
        for number in range(count)
    )


def write_outputs(count: int, *, good: int) -> str:
    """Return outputs of 2 kB, of which all but one in `good` name what is asked for."""
    ends = ("Use a cache tag.", "Nothing helps.")
    return "".join(
        json.dumps({"id": f"q{number}", "output": TEXT + ends[number % good == 0]}) + "\n" for number in range(count)
    )


def validate_rows(folder: Path, count: int) -> Pair | None:
    """Validate a dataset with a file of rows; the peer reads one JSON document."""
    peer, rows = find_peer("check-jsonschema"), write_rows(count)
    write_store(folder, {"datasets/many.yaml": DATASET, "datasets/many.jsonl": rows})
    whole = {"id": "many", "version": "1.0.0", "questions": [json.loads(line) for line in rows.splitlines()]}
    (folder / "many.json").write_text(json.dumps(whole), "utf-8")
    schema = str(SCHEMAS / "dataset.schema.json")
    argv = [peer or "", "--schemafile", schema, str(folder / "many.json")]
    return Pair(run_ours(folder, "validate"), [argv]) if peer else None


def validate_rubrics(folder: Path, count: int) -> Pair | None:
    """Validate rubrics."""
    peer = find_peer("check-jsonschema")
    files = {f"rubrics/r{number:05}.yaml": RUBRIC.format(id=f"r{number:05}") for number in range(count)}
    write_store(folder, files)
    argv = [peer or "", "--schemafile", str(SCHEMAS / "rubric.schema.json"), *(str(folder / name) for name in files)]
    return Pair(run_ours(folder, "validate"), [argv]) if peer else None


def write_released(folder: Path, count: int) -> None:
    """Write a store whose dataset and rubric are released."""
    write_store(folder, {"datasets/many.yaml": DATASET, "datasets/many.jsonl": write_rows(count)})
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "first")
    subprocess.run(run_ours(folder, "bump", "--all", "-q"), check=True)


def diff_rows(folder: Path, count: int) -> Pair | None:
    """Compare a dataset with its release, a row in a hundred changed; the peer has both files."""
    write_released(folder, count)
    old, new = folder / "old.jsonl", folder / "datasets/many.jsonl"
    shutil.copy(new, old)
    new.write_text(write_rows(count, changed=True), "utf-8")
    return Pair(run_ours(folder, "diff", "dataset/many"), [[sys.executable, "-c", DEEPDIFF, str(old), str(new)]])


def score_outputs(folder: Path, count: int) -> Pair | None:
    """Score outputs under five checks; the peer is a loop with the same checks that writes nothing."""
    write_released(folder, count)
    outputs = folder / "outputs.jsonl"
    outputs.write_text(write_outputs(count, good=3), "utf-8")
    argv = run_ours(folder, "score", "dataset/many@1.0.0", str(outputs), "--jobs", "1", "--out", str(folder / "runs"))
    return Pair(argv, [[sys.executable, "-c", SCORE_LOOP, str(outputs)]])


def audit_runs(folder: Path, count: int, *, suffix: str = "jsonl") -> Pair | None:
    """Audit two runs without replaying them; the peer reads both and joins them."""
    peer = PEERS / "python"
    if not peer.exists() or (suffix == "parquet" and find_spec("pyarrow") is None):
        return None
    write_released(folder, count)
    for name, good in (("a", 3), ("b", 4)):
        outputs = folder / f"{name}.jsonl"
        outputs.write_text(write_outputs(count, good=good), "utf-8")
        scored = ("score", "dataset/many@1.0.0", str(outputs), "--model", name, "--rows", suffix, "-q")
        scored += ("--out", str(folder / "runs"))
        subprocess.run(run_ours(folder, *scored), check=True, capture_output=True)
    runs = [str(folder / f"runs/many-1.0.0-{name}") for name in ("a", "b")]
    argv = [str(peer), "-c", DUCKDB, *(f"{run}_samples.{suffix}" for run in runs)]
    return Pair(run_ours(folder, "audit", "--static", *(f"{run}.json" for run in runs)), [argv])


def lint_snippets(folder: Path, count: int) -> Pair | None:
    """Score snippets of PHP; the peer is one `php -l` each."""
    peer, code = find_peer("php"), folder / "snippets"
    rows = "".join(json.dumps({"id": f"q{number}", "input": "Write it."}) + "\n" for number in range(count))
    write_store(folder, {"rubrics/php.yaml": PHP, "datasets/many.yaml": DATASET, "datasets/many.jsonl": rows})
    code.mkdir()
    snippets = [f"function f{number}($x) {{ return $x + {number}; }}" for number in range(count)]
    for number, text in enumerate(snippets):
        (code / f"{number}.php").write_text(f"<?php\n{text}\n", "utf-8")
    outputs = [json.dumps({"id": f"q{n}", "output": f"```php\n{text}\n```\n"}) for n, text in enumerate(snippets)]
    (folder / "outputs.jsonl").write_text("\n".join(outputs), "utf-8")
    ruler = ("--rubric", "rubric/php@worktree", "--jobs", "1", "--out", str(folder / "runs"))
    argv = run_ours(folder, "score", "dataset/many@worktree", str(folder / "outputs.jsonl"), *ruler)
    return Pair(argv, [[peer or "", "-l", str(code / f"{number}.php")] for number in range(count)]) if peer else None


def write_many(folder: Path, count: int) -> None:
    """Write a store of released rubrics."""
    write_store(
        folder, {f"rubrics/r{number:05}.yaml": RUBRIC.format(id=f"r{number:05}") for number in range(count - 1)}
    )
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "first")
    subprocess.run(run_ours(folder, "bump", "--all", "-q"), check=True)


def resolve_references(folder: Path, count: int) -> Pair | None:
    """Resolve as many references as a page may have; the peer is git, which prints the same files."""
    write_many(folder, count + 1)
    names = [f"rubric/r{number:05}@1.0.0" for number in range(count)]
    files = "".join(f"{name}:rubrics/{name[7:-6]}.yaml\n" for name in names)
    return Pair(run_ours(folder, "resolve", *names), [["git", "-C", str(folder), "cat-file", "--batch"]], stdin=files)


def show_status(folder: Path, count: int) -> Pair | None:
    """Ask for what changed where nothing did."""
    write_many(folder, count)
    return Pair(run_ours(folder, "status"), [["git", "-C", str(folder), "status"]])


ROWS = (
    Row("validate, rows", "check-jsonschema", 1 / 10, (1_000, 10_000, 100_000), validate_rows),
    Row("validate, rubrics", "check-jsonschema", 1 / 10, (100, 300, 1_000), validate_rubrics),
    Row("diff, rows, 1 in 100 changed", "DeepDiff by id", 1 / 20, (1_000, 10_000, 100_000), diff_rows),
    Row("score, 2 kB outputs, five checks", "bare loop", 4, (1_000, 10_000, 100_000), score_outputs),
    Row("audit --static, 2 runs", "DuckDB, read and join", 3, (1_000, 10_000, 100_000), audit_runs),
    Row(
        "audit --static, 2 runs in Parquet",
        "DuckDB, read and join",
        3,
        (1_000, 10_000, 100_000),
        partial(audit_runs, suffix="parquet"),
    ),
    Row("php_lint, snippets", "php -l each", 1 / 8, (30, 100, 300), lint_snippets),
    Row("resolve, references at once", "git cat-file", 4, (30, 100, 300), resolve_references),
    Row("status, nothing changed, again", "git status", 20, (100, 300, 1_000), show_status),
)

if __name__ == "__main__":
    main()
