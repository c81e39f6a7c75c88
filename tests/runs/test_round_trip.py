from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from evalstore.model import Output
from evalstore.runs import Row, Run, read_outputs, read_rows, read_run

Written = Callable[..., Run]
SCHEMAS = ("eval.schema.0.3.0.json", "instance_level_eval.schema.0.3.0.json")


@pytest.fixture
def published(shared: Path) -> Callable[[str, Any], list[str]]:
    """What a published schema of Every Eval Ever says against a record."""

    def check(name: str, record: Any) -> list[str]:
        schema = json.loads((shared / "samples/every_eval_ever/schemas" / name).read_text("utf-8"))
        return [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(record)]

    return check


def test_a_run_reads_back_equal(written: Written, run: Run) -> None:
    done = written()
    assert read_run(done.path) == done
    assert replace(done, path=Path(), samples=Path()) == run


def test_rows_read_back_equal(written: Written, rows: tuple[Row, ...]) -> None:
    assert tuple(read_rows(written())) == rows


def test_the_outputs_of_a_run_read_back_equal(written: Written, rows: tuple[Row, ...], run: Run) -> None:
    found = list(read_outputs(written().samples))
    assert [(recorded.id, recorded.output) for recorded in found] == [(row.id, row.output) for row in rows]
    assert {recorded.model for recorded in found} == {run.model}


def test_an_unscored_run_reads_back_without_numbers(written: Written, run: Run) -> None:
    done = written(replace(run, score=None, pass_rate=None, scored=0))
    assert (read_run(done.path).score, read_run(done.path).pass_rate) == (None, None)


def test_the_aggregate_meets_the_published_schema(
    written: Written, published: Callable[..., list[str]], run: Run
) -> None:
    for sample in (run, replace(run, score=None, pass_rate=None)):
        assert published(SCHEMAS[0], json.loads(written(sample).path.read_text("utf-8"))) == []


def test_every_row_meets_the_published_schema(written: Written, published: Callable[..., list[str]]) -> None:
    records = [json.loads(line) for line in written().samples.read_bytes().split(b"\n")[:-1]]
    assert {record["interaction_type"] for record in records} == {"single_turn", "agentic"}
    for record in records:
        assert published(SCHEMAS[1], record) == [], record["sample_id"]


def test_records_agree_on_the_evaluation(written: Written, run: Run) -> None:
    done = written()
    whole = json.loads(done.path.read_text("utf-8"))
    results = {result["evaluation_result_id"] for result in whole["evaluation_results"]}
    for line in done.samples.read_bytes().split(b"\n")[:-1]:
        record = json.loads(line)
        assert (record["evaluation_id"], record["model_id"]) == (whole["evaluation_id"], whole["model_info"]["id"])
        assert record["evaluation_result_id"] in results


def test_what_has_no_score_says_minus_one_and_an_error(written: Written) -> None:
    records = [json.loads(line) for line in written().samples.read_bytes().split(b"\n")[:-1]]
    unscored = [record for record in records if record["metadata"]["evalstore_verdict"] == "unscored"]
    assert [record["evaluation"]["score"] for record in unscored] == [-1, -1]
    assert unscored[0]["error"] == "the question names no rubric"
    assert all("error" not in record for record in records if record not in unscored)


def test_a_row_is_one_line_for_every_reader(written: Written, rows: tuple[Row, ...]) -> None:
    data = written().samples.read_bytes()
    assert len(data.decode().splitlines()) == data.count(b"\n") == len(rows)
    assert "🦊".encode() in data


def test_numbers_of_the_record_are_the_nearest_of_the_exact_ones(written: Written) -> None:
    done = written()
    whole = json.loads(done.path.read_text("utf-8"))
    assert [result["score_details"]["score"] for result in whole["evaluation_results"]] == [2 / 3, 1 / 3]
    scores = [json.loads(line)["evaluation"]["score"] for line in done.samples.read_bytes().split(b"\n")[:-1]]
    assert scores[2:4] == [2 / 3, float(Fraction(10**30, 3 * 10**30 + 1))]


def test_tool_calls_stand_in_messages_as_text(written: Written) -> None:
    records = {record["sample_id"]: record for record in map(json.loads, written().samples.read_bytes().splitlines())}
    calls = records["tools"]["messages"][1]["tool_calls"]
    assert calls == [{"id": "call_1", "name": "f", "arguments": {"n": "1.5", "deep": '{"x":[null,true]}', "s": "t"}}]
    assert records["chat"]["messages"][1]["tool_calls"][0]["arguments"] == {"arguments": '{"n": 1}'}
    assert records["no tools"]["messages"][1]["tool_calls"] == []


def test_the_digest_of_an_output_sees_text_and_calls(rows: tuple[Row, ...]) -> None:
    row = rows[0]
    outputs = (Output("A."), Output("A"), Output("A.", ()), Output("A.", ({"name": "f"},)))
    assert len({replace(row, output=output).output_digest for output in outputs}) == len(outputs)
    assert row.output_digest == replace(row, id="other").output_digest
