"""An audit that grades nothing again, of 10^6 rows a side, beside DuckDB joining the same columns of both files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, find_peer, measure, ours, run, write_outputs, write_rows, write_scored_store

SCORED = 1_000  # rows that are scored; the others are theirs under other names
PEER = r"""
import duckdb, sys
texts = ("verdict", "rubric", "checks", "input_digest", "reference_digest", "tool_calls", "score", "sample")
inner = ", ".join(f"evalstore_{one} VARCHAR" for one in texts)
columns = ("{sample_id: 'VARCHAR', output: 'STRUCT(raw VARCHAR[])', messages: 'JSON', interactions: 'JSON', "
    f"metadata: 'STRUCT({inner})'" + "}")
tables = [f"(SELECT sample_id, output.raw[1] AS text, messages, interactions, unnest(metadata) FROM "
    f"read_json('{name}', format = 'newline_delimited', columns = {columns}))" for name in sys.argv[1:]]
same = [f"a.{one} IS NOT DISTINCT FROM b.{one}" for one in ("text", "messages", "interactions", *(
    f"evalstore_{one}" for one in ("checks", "input_digest", "reference_digest", "tool_calls", "sample")))]
kind = [f"{side}.evalstore_{one}" for side in "ab" for one in ("score", "verdict", "rubric")]
print(len(duckdb.sql(f"SELECT {', '.join(kind + same)}, count(*) FROM {tables[0]} a JOIN {tables[1]} b "
    "USING (sample_id) GROUP BY ALL").fetchall()))
"""


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count, peer = 100_000 if quick else 1_000_000, find_peer("python")
    if peer is None:
        return
    write_scored_store(folder / "store", write_rows(count))
    for name, good in (("a", 3), ("b", 4)):
        outputs = write_outputs(folder / f"{name}.jsonl", SCORED, good=good, size=3)
        scored = ("score", "dataset/many@1.0.0", str(outputs), "--model", name, "--out", str(folder / "runs"), "-q")
        run(ours(folder / "store", *scored))
        _multiply(folder / f"runs/many-1.0.0-{name}.json", count)
    runs = [str(folder / f"runs/many-1.0.0-{name}") for name in "ab"]
    beside = measure([peer, "-c", PEER, *(f"{one}_samples.jsonl" for one in runs)])
    seconds = measure(ours(folder / "store", "audit", "--static", *(f"{one}.json" for one in runs)))
    yield Measured(f"audit --static, 2 × {count:,} rows", seconds, 2 * beside, f"2 × DuckDB's join, {beside:.2f} s")


def _multiply(path: Path, count: int) -> None:
    """Write the rows of a run again and again under the names of other questions, and say so in its aggregate."""
    rows = path.with_name(f"{path.stem}_samples.jsonl")
    parts = [re.fullmatch(rb'(.*?"sample_id": ")q[0-9]+(".*\n)', line) for line in rows.open("rb")]
    halves = [(part[1], part[2]) for part in parts if part]
    with rows.open("wb") as file:
        for number in range(count):
            head, tail = halves[number % len(halves)]
            file.write(head + b"q%d" % number + tail)
    record = json.loads(path.read_text("utf-8"))
    for result in record["evaluation_results"]:
        details = result["score_details"]["details"]
        for key in details.keys() & {"evalstore_scored", "evalstore_outputs"}:
            details[key] = str(count)
        details.pop("evalstore_missing_outputs", None)
    path.write_text(json.dumps(record), "utf-8")
