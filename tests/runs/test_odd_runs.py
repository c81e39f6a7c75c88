"""Runs and rows of others that are odd: read where the format says how, else refused with what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError, Place
from evalstore.runs import Run, find_label_doubts, find_samples, read_outputs, read_rows, read_run
from evalstore.runs.records import open_record
from evalstore.runs.row_index import RowIndex
from tests.runs.conftest import find_unread

LIE = "labelled instance_level_eval_0.2.1, cannot be read"


@pytest.mark.parametrize(
    ("row", "sentence", "hint"),
    [
        (
            {"schema_version": "instance_level_eval_0.2.1", "sample_idx": 1, "output": {"raw_runs": ["x"]}},
            f"this row of Every Eval Ever, {LIE}: it has no `sample_id`",
            "it has `sample_idx`, which no version has",
        ),
        ({"schema_version": "0.3.0", "id": "1", "output": "x"}, "it has no `sample_id`", None),
        ({"sample_id": 1.5, "output": {"raw": "x"}}, "its `sample_id` is not text", None),
        ({"sample_id": "1", "output": {"raw_runs": ["x", "y"]}}, "its `output` has no `raw`", "it has raw_runs"),
        ({"sample_id": "1", "output": {}}, "its `output` has no `raw`", None),
        (
            {"sample_id": "1", "messages": [{"role": "assistant", "content": [{"text": "x"}]}]},
            "the `content` of a message is not text",
            None,
        ),
        ({"sample_id": "1", "messages": {"role": "assistant"}}, "not a list of messages", None),
        ({"sample_id": "1", "response": ["x", "y"]}, "2 outputs in one row", "write one output per row"),
    ],
)
def test_a_row_of_no_published_shape_is_refused_with_what_is_wrong(
    row: dict[str, Any], sentence: str, hint: str | None, lines: Callable[..., Path]
) -> None:
    path = lines({"sample_id": "0", "output": {"raw": "x"}}, row)
    found = find_unread(path)
    assert sentence in found.reason
    assert found.line == 2
    assert hint is None or found.reason.endswith(f"({hint})")


@pytest.mark.parametrize(
    "metadata",
    [
        {"evalstore_score": "", "evalstore_verdict": "pass"},
        {"evalstore_score": "1", "evalstore_verdict": "unscored"},
        {"evalstore_checks": '[{"id": "a", "kind": "regex", "score": "", "verdict": "fail", "unscored": null}]'},
    ],
)
def test_a_verdict_that_contradicts_its_score_is_refused(metadata: dict[str, str], written: Callable[..., Run]) -> None:
    run = written()
    first = json.loads(run.samples.read_bytes().split(b"\n")[0])
    run.samples.write_text(json.dumps({**first, "metadata": {**first["metadata"], **metadata}}), encoding="utf-8")
    with pytest.raises(LoadError, match="contradicts the score"):
        list(read_rows(run))


@pytest.mark.parametrize(("score", "plain"), [("2/3", "0.9"), ("", "0.5"), ("1", "-1"), ("1/3", "null"), ("0", "1e99")])
def test_a_score_that_contradicts_its_exact_one_is_refused(score: str, plain: str, written: Callable[..., Run]) -> None:
    run = written()
    value = json.loads(run.path.read_text(encoding="utf-8"))
    value["evaluation_results"][0]["score_details"] = {"score": "PLAIN", "details": {"evalstore_score": score}}
    run.path.write_text(json.dumps(value).replace('"PLAIN"', plain), encoding="utf-8")
    with pytest.raises(LoadError, match="contradicts its exact score"):
        read_run(run.path)


FOREIGN: dict[str, Any] = {
    "schema_version": "0.2.0",
    "evaluation_id": "e",
    "retrieved_timestamp": "1.0",
    "model_info": {"id": "m"},
    "evaluation_results": [{"evaluation_name": "b", "metric_config": {}, "score_details": {"score": 0.25}}],
}


@pytest.fixture
def foreign(tmp_path: Path) -> Callable[..., Path]:
    """Write an aggregate of somebody else, with changes, and return its path."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "theirs.json"
        path.write_text(json.dumps({**FOREIGN, **changes}, indent=1), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("metric", "details", "score"),
    [
        ({}, {"score": -1}, None),
        ({"min_score": 0}, {"score": -1.0}, None),
        ({"min_score": -1}, {"score": -1}, Fraction(-1)),
        ({"min_score": "-Infinity", "max_score": "Infinity"}, {"score": -1}, Fraction(-1)),
        ({"min_score": -1, "has_unknown_level": True}, {"score": -1}, None),
        ({"min_score": None}, {"score": -0.5}, Fraction(-1, 2)),
        ({}, {"score": 1e3}, Fraction(1000)),
        ({}, "0.75", Fraction(3, 4)),
        ({}, "see the paper", None),
        ({}, "1e999999999", None),
    ],
)
def test_a_sentinel_below_the_bounds_is_no_score(
    metric: dict[str, Any], details: Any, score: Fraction | None, foreign: Callable[..., Path]
) -> None:
    results = [{"evaluation_name": "b", "metric_config": metric, "score_details": details}]
    assert read_run(foreign(evaluation_results=results)).score == score


def test_an_aggregate_without_results_is_read_as_far_as_it_goes(foreign: Callable[..., Path]) -> None:
    run = read_run(foreign(evaluation_results=[]))
    assert (run.name, run.score, run.pass_rate, run.at) == ("e", None, None, "1.0")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"evaluation_id": 7}, "its `evaluation_id` is not text"),
        ({"model_info": {"id": None}}, "its `id` is not text"),
        ({"model_info": []}, "another shape"),
        ({"retrieved_timestamp": 1}, "its `retrieved_timestamp` is not text"),
        (
            {"evaluation_results": [{"evaluation_name": "b", "score_details": {"score": "x"}}]},
            "its score 'x' is not a number",
        ),
        (
            {"evaluation_results": [{"evaluation_name": 7, "score_details": {"score": 1}}]},
            "its `evaluation_name` is not text",
        ),
        ({"evaluation_results": 7}, "another shape"),
    ],
)
def test_a_part_that_does_not_fit_is_named(
    changes: dict[str, Any], sentence: str, foreign: Callable[..., Path]
) -> None:
    with pytest.raises(LoadError, match=sentence):
        read_run(foreign(**changes))


def test_a_key_that_stands_twice_in_an_aggregate_is_refused(foreign: Callable[..., Path]) -> None:
    path = foreign()
    path.write_text(path.read_text("utf-8").replace('"evaluation_id"', '"schema_version"'), encoding="utf-8")
    with pytest.raises(LoadError, match="duplicate key 'schema_version'") as raised:
        read_run(path)
    assert str(raised.value.place) == f"{path}:3"


@pytest.mark.parametrize(
    ("file_path", "name"),
    [
        ("data/x/m/0/rows_samples.jsonl", "rows_samples.jsonl"),
        ("instance_level_data/a_b:0.5b.jsonl", "a_b:0.5b.jsonl"),
        ("rows.jsonl", "rows.jsonl"),
        ("../../rows.jsonl", "rows.jsonl"),
        ("data/rows.json", "theirs_samples.jsonl"),
        ("data/" + "x" * 5000 + ".jsonl", "theirs_samples.jsonl"),
        ("a\0.jsonl", "theirs_samples.jsonl"),
        (7, "theirs_samples.jsonl"),
    ],
)
def test_the_rows_of_others_are_looked_for_beside_their_aggregate(
    file_path: Any, name: str, foreign: Callable[..., Path]
) -> None:
    path = foreign(detailed_evaluation_results={"file_path": file_path})
    assert read_run(path).samples == path.with_name("theirs_samples.jsonl")
    path.with_name(name).write_text('{"sample_id": "1", "output": {"raw": "x"}}\n', encoding="utf-8")
    assert find_samples(path) == read_run(path).samples == path.with_name(name)


@pytest.mark.parametrize(
    "read",
    [
        find_samples,
        lambda path: list(open_record(path, None)[1]),
        lambda path: list(read_rows(read_run(path))),
        lambda path: RowIndex(read_run(path)),
    ],
)
def test_rows_that_are_not_there_are_said_to_be_missing(
    read: Callable[[Path], Any], foreign: Callable[..., Path]
) -> None:
    path = foreign()
    with pytest.raises(LoadError, match="the rows of this run are not next to it") as raised:
        read(path)
    assert raised.value.place == Place(str(path))
    assert raised.value.hint == "put theirs_samples.jsonl there"


def test_a_label_of_an_aggregate_that_lies_is_noted(foreign: Callable[..., Path]) -> None:
    assert read_run(foreign()).notes == ()
    lying = foreign(schema_version="0.3.0")
    assert (read_run(lying).notes, read_run(lying).eee_version) == (
        ("theirs.json: labelled 0.3.0, but it has no `eval_library`, as up to 0.2.0",),
        "0.3.0",
    )
    assert find_label_doubts(lying) == read_run(lying).notes
    assert read_run(foreign(schema_version=None)).eee_version == ""


def test_a_row_may_hold_whatever_an_aggregate_holds(lines: Callable[..., Path]) -> None:
    row = {"sample_id": "1", "output": {"raw": "x"}, "metadata": {"evaluation_results": "7"}}
    path = lines(row)
    assert (find_samples(path), find_label_doubts(path), len(list(read_outputs(path)))) == (path, (), 1)


def test_held_samples_are_streamed_and_strict(foreign: Callable[..., Path]) -> None:
    key = "detailed_evaluation_results_per_samples"
    good = {"sample_id": "1", "input": "Q?", "ground_truth": "A", "response": "B"}
    path = foreign(schema_version="0.1.0", **{key: [good, 7]})
    assert read_run(path).samples == path
    with pytest.raises(LoadError, match="a sample is one JSON object") as raised:
        list(read_outputs(path))
    assert path.read_text("utf-8").splitlines()[(raised.value.place.line or 0) - 1] == "  7"  # type: ignore[union-attr]
    linked = foreign(**{key: "https://example.org/samples"})
    assert read_run(linked).samples == linked.with_name("theirs_samples.jsonl")


def test_an_aggregate_may_be_laid_out_in_any_way(foreign: Callable[..., Path]) -> None:
    key = "detailed_evaluation_results_per_samples"
    path = foreign(schema_version="0.1.0", **{key: [{"sample_id": "1", "input": "Q?", "response": "B"}]})
    record = json.loads(path.read_text("utf-8"))
    last_first = {key: record.pop(key), **record}
    for value, indent in ((record, None), (last_first, None), (last_first, 3)):
        text = json.dumps({**value, key: last_first[key]}, indent=indent)
        for written in (text, "\ufeff\n" + text, text.replace(", ", ",\n")):
            path.write_text(written, encoding="utf-8")
            assert [(it.id, it.model) for it in read_outputs(find_samples(path))] == [("1", "m")]
