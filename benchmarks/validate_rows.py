"""`validate` of a dataset's rows beside check-jsonschema, which reads one document: clean, and with near misses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, find_peer, measure, ours, write_rows, write_scored_store

SCHEMA = Path(__file__).parents[1] / "schema/dataset.schema.json"


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count, peer = 10_000 if quick else 100_000, find_peer("check-jsonschema")
    if peer is None:
        return
    for words, extra, share in (("clean", False, 8), ("two near misses each", True, 1)):
        store, rows = folder / words.replace(" ", "-"), write_rows(count, extra=extra)
        write_scored_store(store, rows)
        whole = {
            "id": "many",
            "version": "1.0.0",
            "questions": [json.loads(line) for line in rows.splitlines()],
        }
        (folder / "many.json").write_text(json.dumps(whole), "utf-8")
        beside = measure([peer, "--schemafile", str(SCHEMA), str(folder / "many.json")])
        budget = (
            f"1/{share} of check-jsonschema, {beside:.2f} s"
            if share > 1
            else f"check-jsonschema, {beside:.2f} s"
        )
        yield Measured(
            f"validate, {count:,} rows, {words}",
            measure(ours(store, "validate")),
            beside / share,
            budget,
        )
