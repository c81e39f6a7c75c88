from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from evalstore.errors import RefusedError
from evalstore.model import Output
from evalstore.model.measures import Measures
from evalstore.runs import GradedRow, Run, read_outputs, read_rows, read_run
from evalstore.runs.eee_versions import find_aggregate_doubt, find_row_doubt, parse_label
from evalstore.runs.eee_write import LABELS
from tests.shared_data import find_shared

Written = Callable[..., Run]
VERSIONS = pytest.mark.parametrize("version", tuple(LABELS))


@pytest.fixture
def published() -> Callable[[str, Any], list[str]]:
    """What a published schema of Every Eval Ever says against a record."""

    def check(name: str, record: Any) -> list[str]:
        schema = json.loads(find_shared(f"samples/every_eval_ever/schemas/{name}").read_text("utf-8"))
        return [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(record)]

    return check


@VERSIONS
def test_a_run_reads_back_equal(version: str, written: Written, run: Run) -> None:
    asked = replace(run, eee_version=version)
    done = written(asked)
    assert read_run(done.path) == done
    assert replace(done, path=Path(), samples=Path()) == asked


def test_a_run_is_written_in_no_version_that_nobody_published(written: Written, run: Run, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"no run is written as Every Eval Ever 0\.9") as raised:
        written(replace(run, eee_version="0.9"))
    assert raised.value.hint == "known: 0.3.0, 0.2.2"
    assert not (tmp_path / "runs").exists()


def test_rows_read_back_equal(written: Written, rows: tuple[GradedRow, ...]) -> None:
    assert tuple(read_rows(written())) == rows


def test_the_outputs_of_a_run_read_back_equal(written: Written, rows: tuple[GradedRow, ...], run: Run) -> None:
    found = list(read_outputs(written().samples))
    assert [(recorded.id, recorded.output) for recorded in found] == [(row.id, row.output) for row in rows]
    assert {recorded.model for recorded in found} == {run.model}


def test_an_unscored_run_reads_back_without_numbers(written: Written, run: Run) -> None:
    done = written(replace(run, score=None, pass_rate=None, scored=0))
    assert (read_run(done.path).score, read_run(done.path).pass_rate) == (None, None)


@VERSIONS
def test_the_aggregate_meets_the_published_schema(
    version: str, written: Written, published: Callable[..., list[str]], run: Run
) -> None:
    for sample in (run, replace(run, score=None, pass_rate=None)):
        record = json.loads(written(replace(sample, eee_version=version)).path.read_text("utf-8"))
        assert published(f"eval.schema.{version}.json", record) == []
        assert (record["schema_version"], find_aggregate_doubt(record)) == (version, "")


@VERSIONS
def test_every_row_meets_the_published_schema(
    version: str, written: Written, published: Callable[..., list[str]], run: Run
) -> None:
    lines = written(replace(run, eee_version=version)).samples.read_bytes().split(b"\n")[:-1]
    records = [json.loads(line) for line in lines]
    assert {record["interaction_type"] for record in records} == {"single_turn", "agentic"}
    for record in records:
        assert published(f"instance_level_eval.schema.{version}.json", record) == [], record["sample_id"]
        assert (parse_label(record["schema_version"]), find_row_doubt(record)) == (version, "")


def test_the_labels_are_those_of_the_published_schemas() -> None:
    for version, label in LABELS.items():
        path = find_shared(f"samples/every_eval_ever/schemas/instance_level_eval.schema.{version}.json")
        assert json.loads(path.read_text("utf-8"))["version"] == label


def test_a_check_without_replies_says_nothing_of_them(written: Written) -> None:
    first = json.loads(written().samples.read_bytes().split(b"\n")[0])
    checks = json.loads(first["metadata"]["evalstore_checks"])
    assert [check.get("replies") for check in checks] == [None, None, "ab" * 32, None]


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


def test_a_row_is_one_line_for_every_reader(written: Written, rows: tuple[GradedRow, ...]) -> None:
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


def test_the_digest_of_an_output_sees_text_and_calls(rows: tuple[GradedRow, ...]) -> None:
    row = rows[0]
    plain = (Output("A."), Output("A"), Output("A.", ()), Output("A.", ({"name": "f"},)))
    outputs = (*plain, *(output._replace(measures=Measures(Decimal(1))) for output in plain))
    assert len({row._replace(output=output).output_digest for output in outputs}) == len(outputs)
    assert row.output_digest == row._replace(id="other").output_digest
    alike = (*outputs, Output("A.", ({"name": "f"},)), Output("A.", ({"name": True},)), Output("A.", ({"name": 1},)))
    held = [row._replace(output=output) for output in alike]
    held += [row._replace(samples=(held[0], other)) for other in held[:2]]
    for old in held:
        assert [old.has_output_of(new) for new in held] == [old.output_digest == new.output_digest for new in held]
