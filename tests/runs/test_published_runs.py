from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError
from evalstore.model import Output, Verdict
from evalstore.model.measures import read_measures
from evalstore.runs import MissingOutput, Run, StoredOutput, find_samples, read_outputs, read_rows, read_run
from evalstore.runs.records import read_record
from tests.shared_data import find_shared


@pytest.fixture
def samples() -> Path:
    return find_shared("samples/every_eval_ever")


def test_every_published_aggregate_is_read_as_far_as_it_goes(samples: Path) -> None:
    for path in sorted((samples / "aggregate").iterdir()):
        record, run = json.loads(path.read_text("utf-8")), read_run(path)
        assert (run.id, run.model) == (record["evaluation_id"], record["model_info"]["id"])
        assert run.score == Fraction(str(record["evaluation_results"][0]["score_details"]["score"]))
        assert (run.dataset, run.rubrics, run.questions, run.checks, run.pass_rate) == (None, (), 0, {}, None)
        assert run.samples == path.with_name(f"{path.stem}_samples.jsonl")


def test_every_published_row_is_read(samples: Path) -> None:
    for path in sorted((samples / "instance").iterdir()):
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert list(read_outputs(path)) == [
            StoredOutput(
                record["sample_id"],
                Output(
                    record["output"]["raw"][0],
                    measures=read_measures({**(record.get("token_usage") or {}), **(record.get("performance") or {})}),
                ),
                line,
                record["model_id"],
                from_eee_row=True,
                asked=(record["input"]["raw"],),
            )
            for line, record in enumerate(records, 1)
        ]


def test_rows_that_no_aggregate_names_have_a_mean(samples: Path, tmp_path: Path) -> None:
    path = next((samples / "instance").iterdir())
    record = json.loads(path.read_text("utf-8").splitlines()[0])
    rows = [record, {**record, "sample_id": "other", "evaluation": {**record["evaluation"], "score": 0.5}}]
    lone = tmp_path / "rows.jsonl"
    lone.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = read_record(lone)
    assert (run.score, run.scored) == ((Fraction(str(record["evaluation"]["score"])) + Fraction(1, 2)) / 2, 2)


def test_a_foreign_run_gives_its_rows(samples: Path, tmp_path: Path) -> None:
    stem = "f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40"
    for folder, name in (("aggregate", f"{stem}.json"), ("instance", f"{stem}_samples.jsonl")):
        (tmp_path / name).write_bytes((samples / folder / name).read_bytes())
    run = read_run(tmp_path / f"{stem}.json")
    (row,) = read_rows(run)
    assert (run.score, row.score, row.verdict) == (Fraction(3, 4), Fraction(1), Verdict.PASS)
    assert (row.input, row.reference, row.rubric, row.checks) == ("What is 2 + 2?", ("4",), "", ())
    assert find_samples(run.path) == run.samples


TURNS = [
    {"turn_idx": 0, "role": "user", "content": "Q?"},
    {
        "turn_idx": 1,
        "role": "assistant",
        "content": "first",
        "tool_calls": [{"id": "1", "name": "f", "arguments": {"x": "1"}}],
    },
    {"turn_idx": 2, "role": "tool", "content": "42", "tool_call_id": "1"},
    {"turn_idx": 3, "role": "assistant", "content": "last", "tool_calls": [{"id": "2", "name": "g"}]},
    {"turn_idx": 4, "role": "assistant", "content": None},
]
CALLS = ({"name": "f", "args": {"x": "1"}}, {"name": "g", "args": {}})


@pytest.mark.parametrize(
    ("row", "output"),
    [
        ({"output": {"raw": "text"}}, Output("text")),
        ({"output": {"raw": ["text"], "reasoning_trace": ["hm"]}}, Output("text")),
        ({"output": "text"}, Output("text")),
        ({"output": {"raw": ["text"]}, "messages": None, "interactions": None}, Output("text")),
        ({"output": None, "interactions": TURNS}, Output("last", CALLS)),
        ({"messages": TURNS}, Output("last", CALLS)),
        ({"messages": [*TURNS[:1], {"role": "assistant", "content": "x"}]}, Output("x")),
        ({"messages": [{"role": "assistant", "content": "x", "tool_calls": []}]}, Output("x", ())),
        ({"messages": TURNS, "answer_attribution": [{"turn_idx": 1, "is_terminal": True}]}, Output("first", CALLS)),
        ({"messages": TURNS, "answer_attribution": [{"turn_idx": 1, "is_terminal": False}]}, Output("last", CALLS)),
        ({"messages": TURNS, "answer_attribution": [{"turn_idx": 0, "is_terminal": True}]}, Output("last", CALLS)),
        ({"messages": TURNS, "answer_attribution": [7, {}]}, Output("last", CALLS)),
        ({"response": "x", "input": "Q?", "ground_truth": "y"}, Output("x")),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": "x",
                        "tool_calls": [{"function": {"name": "f", "arguments": '{"n": 1}'}}],
                    }
                ]
            },
            Output("x", ({"name": "f", "args": {"n": 1}},)),
        ),
    ],
)
def test_outputs_of_older_versions_are_found(row: dict[str, Any], output: Output, lines: Callable[..., Path]) -> None:
    (recorded,) = read_outputs(lines({"sample_id": "1", **row}))
    asked = (row["input"],) if "input" in row else ()
    assert recorded == StoredOutput("1", output, 1, from_eee_row=True, asked=asked)


@pytest.mark.parametrize(
    "row", [{"output": {"raw": []}}, {"output": None}, {}, {"messages": TURNS[:1]}, {"messages": []}]
)
def test_a_row_whose_model_gave_no_output_is_left_out(row: dict[str, Any], lines: Callable[..., Path]) -> None:
    assert list(read_outputs(lines({"sample_id": "1", **row}, {"id": "2", "output": ""}))) == [
        MissingOutput("1", 1, "the model gave no output"),
        StoredOutput("2", Output(""), 2),
    ]


def test_a_numbered_sample_of_an_older_version_gets_its_number_as_text(lines: Callable[..., Path]) -> None:
    assert next(read_outputs(lines({"sample_id": 7, "output": {"raw": "x"}}))).id == "7"


@pytest.mark.parametrize(
    ("evaluation", "score", "verdict"),
    [
        ({"score": 0.1, "is_correct": True}, Fraction(1, 10), Verdict.PASS),
        ({"score": True, "is_correct": True}, Fraction(1), Verdict.PASS),
        ({"score": 0, "is_correct": False}, Fraction(0), Verdict.FAIL),
        ({"score": -1, "is_correct": False}, None, Verdict.UNSCORED),
        ({"score": -1.0, "is_correct": False}, None, Verdict.UNSCORED),
        ({"score": None, "is_correct": None}, None, Verdict.UNSCORED),
        ({"score": 37.5, "is_correct": False}, Fraction(75, 2), Verdict.FAIL),
        ({"score": -2, "is_correct": False}, Fraction(-2), Verdict.FAIL),
    ],
)
def test_scores_of_others_are_exact_decimals(
    evaluation: dict[str, Any], score: Fraction | None, verdict: Verdict, written: Callable[..., Run]
) -> None:
    run = written()
    row = {"sample_id": "1", "input": {"raw": "Q?", "reference": "R"}, "output": {"raw": "x"}, "evaluation": evaluation}
    run.samples.write_text(json.dumps(row), encoding="utf-8")
    (found,) = read_rows(run)
    assert (found.score, found.verdict, found.reference) == (score, verdict, ("R",))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"evaluation": None}, "a value in it has another shape"),
        ({"input": "Q?"}, "a value in it has another shape"),
        ({"input": {}}, "'raw'"),
        ({"evaluation": {"score": "x", "is_correct": True}}, "its score 'x' is not a number"),
        ({"evaluation": {"score": "1e999999999", "is_correct": True}}, "its score '1e999999999' is not a number"),
        ({"evaluation": {"score": "Infinity", "is_correct": True}}, "its score 'Infinity' is not a number"),
        ({"evaluation": {"score": 1}}, "it has no 'is_correct'"),
        ({"evaluation": {"score": 1, "is_correct": 1}}, "its `is_correct` is not true or false"),
        ({"evaluation": {"score": 1, "is_correct": "yes"}}, "its `is_correct` is not true or false"),
        ({"input": {"raw": 7}}, "its `raw` is not text"),
        ({"input": {"raw": "Q?", "reference": [4]}}, "its reference is not text"),
        ({"metadata": {"evalstore_score": "1e999999999", "evalstore_verdict": "pass"}}, "is not an exact score"),
        ({"metadata": {"evalstore_score": "1/0", "evalstore_verdict": "pass"}}, "is not an exact score"),
        ({"metadata": {"evalstore_score": "1", "evalstore_verdict": "maybe"}}, "maybe"),
        ({"metadata": {"evalstore_checks": "[" * 10_000}}, "not JSON|nested"),
        ({"metadata": {"evalstore_checks": "[{}]"}}, "it has no "),
        ({"metadata": {"evalstore_checks": 7}}, "its `evalstore_checks` is not text"),
        ({"metadata": {"evalstore_tool_calls": "[1]"}}, "is not a list of calls"),
        ({"metadata": []}, "another shape"),
    ],
)
def test_a_broken_row_is_one_sentence_at_its_line(
    change: dict[str, Any], sentence: str, written: Callable[..., Run]
) -> None:
    run = written()
    good = json.loads(run.samples.read_bytes().split(b"\n")[0])
    bad = {**good, "metadata": None, **change}
    run.samples.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n", encoding="utf-8")
    if change == {"metadata": []}:
        bad["metadata"] = [1]
        run.samples.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n", encoding="utf-8")
    with pytest.raises(LoadError, match=sentence) as raised:
        list(read_rows(run))
    assert (raised.value.place.file, raised.value.place.line) == (str(run.samples), 2)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "broken",
    [
        "[]",
        "{}",
        "7",
        '{"evaluation_results": []}',
        '{"evaluation_results": [1]}',
        '{"evaluation_results": {"a": 1}}',
        "",
    ],
)
def test_a_file_that_is_no_run_is_one_sentence(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(LoadError, match=r"not a run|not JSON"):
        read_run(path)


def test_a_run_cannot_name_rows_outside_its_folder(written: Callable[..., Run]) -> None:
    path = written().path
    for name in ("../small_samples.jsonl", "/etc/hostname", "..", "", "a\0.jsonl", "small.json"):
        record = json.loads(path.read_text("utf-8"))
        record["eval_library"]["additional_details"]["evalstore_samples"] = name
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(LoadError, match="not a file next to it"):
            read_run(path)
