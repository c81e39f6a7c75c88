"""An audit of a run and of outputs that nothing graded: read as `evalstore score` reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import json as json_tables
from pyarrow import parquet

from evalstore.api import audit
from evalstore.store import ArtifactStore
from tests.audits.conftest import SAMPLE, Sample

OUTPUTS = [json.loads(line) for line in (SAMPLE / "outputs" / "model_b.jsonl").read_text().splitlines()]
UNSAID = OUTPUTS[0]["id"]


def write_promptfoo(path: Path, *providers: str) -> Path:
    """Write the outputs of model B as results of promptfoo; the first of them is null."""
    results = [
        {
            "testIdx": number,
            "provider": {"id": "openai:x", "label": providers[number % len(providers)]},
            "prompt": {"raw": "", "label": "p"},
            "vars": {"id": row["id"]},
            "testCase": {"vars": {"id": row["id"]}},
            "response": {"output": row["output"] if row["id"] != UNSAID else None},
            "success": True,
        }
        for number, row in enumerate(OUTPUTS)
    ]
    path.write_text(json.dumps({"evalId": "e", "config": {}, "results": {"version": 3, "results": results}}))
    return path


def write_lines(path: Path) -> Path:
    """Write them as lines."""
    rows = [{"id": row["id"], "output": row["output"] if row["id"] != UNSAID else None} for row in OUTPUTS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.process
def test_results_of_promptfoo_are_graded_as_the_other_run_was(
    sample: Sample, cli: Callable[..., Any], tmp_path: Path
) -> None:
    files = write_promptfoo(tmp_path / "results.json", "gpt"), write_lines(tmp_path / "lines.jsonl")
    parquet.write_table(json_tables.read_json(files[1]), tmp_path / "lines.parquet")
    files = *files, tmp_path / "lines.parquet"
    scored = cli("score", "dataset/web_answers@1.0.0", files[0], "--out", tmp_path / "runs", cwd=sample.root)
    assert scored.code == 0, scored.err
    a, b = sample.a.path, next((tmp_path / "runs").glob("*gpt.json"))
    with ArtifactStore.open(sample.root) as store:
        expected, *found = (audit(a, one, store) for one in (b, *files))
    shares = [(part.share, part.passes, part.ci) for part in expected.factors]
    for one, file in zip(found, files, strict=True):
        assert [(part.share, part.passes, part.ci) for part in one.factors] == shares
        assert (one.lines, one.common) == (expected.lines, expected.common)
        assert UNSAID in one.lines.silent_b
        assert (one.b.run, one.b.model) == (str(file), "gpt" if file.suffix == ".json" else "lines")
        assert one.notes[0] == f"{file.name} holds outputs alone; they were graded now, by dataset/web_answers@1.0.0"
    ran = cli("audit", files[0], a, "--format", "json", cwd=sample.root)
    assert (ran.code, json.loads(ran.out)["delta"]) == (0, -float(round(expected.delta, 12)))
    shown = cli("audit", files[0], a, "--question", OUTPUTS[1]["id"], cwd=sample.root)
    assert (shown.code, "rubric/" in shown.out) == (0, True)


def test_what_nothing_graded_alike_is_scored_first(sample: Sample, cli: Callable[..., Any], tmp_path: Path) -> None:
    two = write_promptfoo(tmp_path / "two.json", "gpt", "claude")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "a", "output": "x"}\n')
    for a, b, problem, hint in (
        (lines, lines, "names a dataset to grade it with", "evalstore score DATASET "),
        (sample.a.path, two, "contains outputs of 2 models", "evalstore score dataset/web_answers@1.0.0 "),
    ):
        ran = cli("audit", a, b, cwd=sample.root)
        assert (ran.code, problem in ran.err, hint in ran.err) == (3, True, True), ran.err
