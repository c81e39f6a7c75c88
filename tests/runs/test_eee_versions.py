"""One run in the format of every published version, written by hand: read the same, and told apart by its shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from evalstore.model import Output, Verdict
from evalstore.runs import find_samples, read_outputs, read_rows, read_run
from evalstore.runs.eee_versions import (
    AGGREGATE_TRAITS,
    PUBLISHED_VERSIONS,
    ROW_TRAITS,
    find_aggregate_doubt,
    find_row_doubt,
    parse_label,
)
from tests.shared_data import find_shared

FOLDERS = sorted(path for path in (Path(__file__).parent / "versions").iterdir())
WITH_ROWS = [folder for folder in FOLDERS if any(folder.glob("*.jsonl"))]
HELD = [folder for folder in FOLDERS if folder.name in {"0.0.1", "0.1.0"}]
# Under one label several contents were published; 0.0.1 differs from 0.2.0 in that it requires a hash.
ROW_SCHEMAS = {"0.0.1": ("0.2.0",), "0.2.0": ("0.2.0", "0.2.0_variant_2026-02-14")}
CALLS = {
    True: ({"name": "weather", "args": {"city": "Oslo", "days": 2}},),
    False: ({"name": "weather", "args": {"city": "Oslo", "days": "2"}},),
}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def aggregate_of(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))
    return record


def named(folder: Path) -> str:
    return folder.name


def refusals(schemas: Path, name: str, record: dict[str, Any]) -> list[str]:
    """What a published schema says against a record, nulls left out, which the format's own converters write."""
    schema = json.loads((schemas / name).read_text("utf-8"))
    present = {key: value for key, value in record.items() if value is not None}
    return [error.message for error in Draft7Validator(schema).iter_errors(present)]


@pytest.fixture
def schemas() -> Path:
    return find_shared("samples/every_eval_ever/schemas")


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_the_fixtures_are_of_the_version_that_they_say(folder: Path, schemas: Path) -> None:
    version = folder.name.partition("-")[0]
    assert refusals(schemas, f"eval.schema.{version}.json", aggregate_of(folder)) == []
    names = [f"instance_level_eval.schema.{name}.json" for name in ROW_SCHEMAS.get(version, (version,))]
    for row in rows_of(folder) if folder in WITH_ROWS else ():
        assert [] in [refusals(schemas, name, row) for name in names]


@pytest.mark.parametrize("folder", WITH_ROWS, ids=named)
def test_rows_of_every_version_give_the_same_outputs(folder: Path) -> None:
    (path,) = folder.glob("*.jsonl")
    found = list(read_outputs(path))
    assert [(recorded.id, recorded.output.text) for recorded in found] == [
        ("capital", "Oslo, I think."),
        ("7", "32"),
        ("warm", "About 13 degrees."),
        ("snow", "Who knows?"),
    ]
    typed = folder.name in {"0.0.1", "0.2.0", "0.2.0-lists"}
    assert [recorded.output.tool_calls for recorded in found] == [None, None, CALLS[typed], None]
    assert {(recorded.model, recorded.doubt, recorded.from_eee_row) for recorded in found} == {
        ("north/pine-2", "", True)
    }


@pytest.mark.parametrize("folder", [folder for folder in WITH_ROWS if folder.name != "0.0.1"], ids=named)
def test_runs_of_every_version_give_the_same_grades(folder: Path) -> None:
    run = read_run(folder / "run.json")
    assert find_samples(run.path) == run.samples == next(folder.glob("*.jsonl"))
    assert (run.id, run.name, run.model, run.at) == (
        "weather/north_pine-2/1770000000",
        "weather",
        "north/pine-2",
        "1769999999",
    )
    assert (run.score, run.eee_version, run.notes) == (Fraction(1, 2), folder.name.partition("-")[0], ())
    assert [(row.score, row.verdict, row.reference) for row in read_rows(run)] == [
        (Fraction(1), Verdict.PASS, ("Oslo",)),
        (Fraction(0), Verdict.FAIL, ("0",)),
        (Fraction(3, 4), Verdict.PASS, ("13",)),
        (None, Verdict.UNSCORED, ("no",)),
    ]


@pytest.mark.parametrize("folder", HELD, ids=named)
def test_the_samples_that_the_first_aggregates_hold_are_their_rows(folder: Path) -> None:
    path = folder / "run.json"
    run = read_run(path)
    assert (run.samples, find_samples(path), run.score, run.at) == (path, path, Fraction(1, 2), "1770000000")
    outputs = list(read_outputs(path))
    assert [(it.id, it.output, it.model) for it in outputs] == [
        ("capital", Output("Oslo, I think."), "north/pine-2"),
        ("7", Output("32"), "north/pine-2"),
    ]
    lines = path.read_text("utf-8").splitlines()
    assert [lines[it.line - 1] for it in outputs] == ["    {", "    {"]
    assert [f'"sample_id": "{it.id}"' in lines[it.line] for it in outputs] == [True, True]
    assert [(row.input, row.reference, row.score, row.verdict) for row in read_rows(run)] == [
        ("Which city is the capital of Norway?", ("Oslo",), None, Verdict.UNSCORED),
        ("How many degrees does water freeze at?", ("0", "zero"), None, Verdict.UNSCORED),
    ]


def relabelled() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every fixture under every label: (version of the label, `row` or `aggregate`, record)."""
    for folder in FOLDERS:
        for version in PUBLISHED_VERSIONS:
            yield version, "aggregate", {**aggregate_of(folder), "schema_version": version}
            for row in rows_of(folder) if folder in WITH_ROWS else ():
                yield version, "row", {**row, "schema_version": f"instance_level_eval_{version}"}


@pytest.mark.heavy
def test_no_label_is_doubted_that_a_published_schema_bears_out(schemas: Path) -> None:
    for version, what, record in relabelled():
        names = [f"instance_level_eval.schema.{name}.json" for name in ROW_SCHEMAS.get(version, (version,))]
        doubt = (find_row_doubt if what == "row" else find_aggregate_doubt)(record)
        for name in [f"eval.schema.{version}.json"] if what == "aggregate" else names:
            # No schema of rows was published as 0.1.0.
            assert not doubt or version == "0.1.0" or refusals(schemas, name, record), (doubt, name)


def test_a_record_is_doubted_under_every_label_of_another_shape() -> None:
    doubts = {(version, row["sample_id"]): find_row_doubt(row) for version, what, row in relabelled() if what == "row"}
    assert doubts["0.2.1", "warm"] == ""
    assert doubts["0.0.1", "capital"] == (
        "labelled instance_level_eval_0.0.1, but its `output.raw` is a list, as since 0.2.0"
    )
    assert doubts["0.2.0", "warm"] == (
        "labelled instance_level_eval_0.2.0, but its transcript is `messages`, as since 0.2.1"
    )
    old = {**rows_of(FOLDERS[0])[0], "schema_version": "0.3.0"}
    assert find_row_doubt(old) == "labelled 0.3.0, but its `output.raw` is one text, as up to 0.2.0"


ROW: dict[str, Any] = {"schema_version": "0.3.0", "sample_id": "1", "evaluation": {"score": 1, "is_correct": True}}
ODD_ROWS = (
    ({"evaluation": {"score": None}}, "it has no score, as in no version"),
    ({"evaluation": None}, ""),
    ({"metrics": {"score": 1, "is_correct": True}}, "it has extra keys"),
    ({"schema_version": "0.2.0", "evaluation": ..., "metrics": {"score": 1}}, "it has `metrics` for `evaluation`"),
    ({"interactions": []}, "its transcript is `interactions`, as up to 0.2.1"),
    ({"schema_version": "0.2.0", "messages": []}, "its transcript is `messages`"),
    ({"schema_version": "0.2.0", "messages": [], "output": {"raw": "x"}}, ""),
    ({"output": {"raw": "x"}}, "its `output.raw` is one text"),
    ({"schema_version": "0.0.1", "output": {"raw": ["x"]}}, "its `output.raw` is a list"),
    ({"input": {"reference": "x"}}, "its `input.reference` is one text"),
    ({"schema_version": "0.0.1", "input": {"reference": ["x"]}}, "its `input.reference` is a list"),
    ({"sample_id": 7}, "its `sample_id` is a number, as only in 0.2.0"),
    ({"sample_id": 7, "schema_version": "v0.2"}, ""),
    ({"evaluation": {"score": True}}, "its `evaluation.score` is true or false"),
    ({"metadata": {"a": "x", "b": 1}}, "its `metadata` holds more than texts"),
    ({"messages": [{"tool_calls": [{"arguments": {"n": 1}}]}]}, "the arguments of a tool call are more than texts"),
    ({"messages": [7, {"tool_calls": [7]}]}, ""),
    ({"k": 1}, "it has extra keys, as up to 0.2.0"),
    ({"evaluation_result_id": None, "metadata": None, "output": None}, ""),
    ({"schema_version": None, "k": 1}, ""),
    ({"schema_version": "0.4.0"}, "labelled 0.4.0, which was never published"),
    ({"schema_version": 3}, "labelled 3, which was never published"),
    ({"schema_version": "0.3.0\n\x1b[31m"}, r"labelled 0.3.0\n\x1b[31m, which was never published"),
)


@pytest.mark.parametrize(("change", "doubt"), ODD_ROWS)
def test_a_label_is_doubted_where_the_shape_contradicts_it(change: dict[str, Any], doubt: str) -> None:
    row = {key: value for key, value in {**ROW, **change}.items() if value is not ...}
    assert doubt in find_row_doubt(row)
    assert bool(doubt) == bool(find_row_doubt(row))


HELD_KEY = "detailed_evaluation_results_per_samples"
AGGREGATE: dict[str, Any] = {"model_info": {"additional_details": {"deployment_type": "unknown"}}, "eval_library": {}}
ODD_AGGREGATES = (
    ({"evaluation_results": [{"score_details": "0.5"}]}, "a score of it is a text, as up to 0.0.1"),
    ({"evaluation_source": {}}, "it has an `evaluation_source`, as up to 0.0.1"),
    ({"source_data": []}, "its `source_data` is at the root, as up to 0.1.0"),
    ({HELD_KEY: []}, "it holds its samples itself, as up to 0.1.0"),
    (
        {"schema_version": "0.1.0", "detailed_evaluation_results": {}},
        "it has `detailed_evaluation_results`, as since 0.2.0",
    ),
    ({"eval_library": None}, "it has no `eval_library`, as up to 0.2.0"),
    ({"schema_version": "0.2.0"}, "it has an `eval_library`, as since 0.2.1"),
    ({"model_info": {}}, "its model has no `deployment_type`, as up to 0.2.2"),
    (
        {"schema_version": "0.2.2", "evaluation_results": [{"metric_config": {"max_score": "Infinity"}}]},
        "a bound of its scores is a text, as since 0.2.3",
    ),
    ({"evaluation_results": [7, {"metric_config": 7, "score_details": {"score": 1}}]}, ""),
    ({"evaluation_results": 7}, ""),
    ({"schema_version": None, "model_info": 7}, ""),
    ({"schema_version": ["0.3.0"]}, "labelled ['0.3.0'], which was never published"),
)


@pytest.mark.parametrize(("change", "doubt"), ODD_AGGREGATES)
def test_a_label_of_an_aggregate_is_doubted_likewise(change: dict[str, Any], doubt: str) -> None:
    assert find_aggregate_doubt({"schema_version": "0.3.0", **AGGREGATE, **change}).endswith(doubt)
    assert bool(find_aggregate_doubt({"schema_version": "0.3.0", **AGGREGATE, **change})) == bool(doubt)


def test_every_trait_tells_versions_apart_somewhere() -> None:
    said = " ".join(doubt for _, doubt in (*ODD_ROWS, *ODD_AGGREGATES))
    for trait in (*ROW_TRAITS, *AGGREGATE_TRAITS):
        assert trait.words in said


@pytest.mark.parametrize(
    ("label", "version"),
    [
        ("0.2.2", "0.2.2"),
        ("instance_level_eval_0.2.2", "0.2.2"),
        ("v0.2", "0.2.0"),
        ("0.1", "0.1.0"),
        ("0.3.1", None),
        ("0.2.2 ", None),
        ("instance_level_eval_", None),
        ("٠.٢.٢", None),
        ("", None),
    ],
)
def test_a_label_is_read_however_it_is_spelled(label: str, version: str | None) -> None:
    assert parse_label(label) == version
