"""Stored runs of Every Eval Ever scored again by the one command, whatever their version and whoever wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from evalstore.errors import LoadError, RefusedError
from evalstore.runs import Run, read_rows, read_run
from evalstore.runs.eee_write import LABELS
from tests.shared_data import find_shared

Scored = Callable[..., Run]
Write = Callable[..., Path]


def row(id_: Any, text: str, **more: Any) -> dict[str, Any]:
    """A row of 0.3.0, with changes."""
    return {
        "schema_version": "0.3.0",
        "model_id": "north/pine-2",
        "evaluation_name": "small",
        "sample_id": id_,
        "interaction_type": "single_turn",
        "input": {"raw": "?", "reference": []},
        "output": {"raw": [text]},
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
        **more,
    }


def one_text(id_: str, text: str) -> dict[str, Any]:
    """A row with the label of 0.3.0 and an output as up to 0.2.0."""
    return row(id_, text, output={"raw": text})


@pytest.mark.parametrize("version", LABELS)
def test_a_run_of_each_version_is_scored_again_by_the_same_command(
    version: str, cli: Callable[..., Any], store: Any, write: Write, tmp_path: Path
) -> None:
    outputs, repo = write({"one": "please!", "two": "thanks", "three": "\u2028```php\n1;\n```\n"}), store.root
    first = cli("score", "dataset/small@1.0.0", outputs, "--eee-version", version, "--out", tmp_path / "a", cwd=repo)
    assert first.code == 0, first.err
    (path,) = (tmp_path / "a").glob("*.json")
    assert read_run(path).eee_version == version
    again = cli("score", "dataset/small@1.0.0", path, "--format", "json", "--out", tmp_path / "b", cwd=repo)
    assert again.code == 0, again.err
    done = read_run(tmp_path / "b" / Path(json.loads(again.out)["run"]).name)
    assert (done.eee_version, done.score, done.notes) == ("0.3.0", read_run(path).score, read_run(path).notes)
    assert list(read_rows(done)) == list(read_rows(read_run(path)))
    schemas = find_shared("samples/every_eval_ever/schemas")
    for name, text in (("eval", path.read_text("utf-8")), ("instance_level_eval", _first_line(read_run(path)))):
        schema = json.loads((schemas / f"{name}.schema.{version}.json").read_text("utf-8"))
        assert list(Draft7Validator(schema).iter_errors(json.loads(text))) == []


def _first_line(run: Run) -> str:
    return run.samples.read_text("utf-8").split("\n", 1)[0]


def test_a_version_that_is_not_written_is_a_wrong_command_line(
    cli: Callable[..., Any], store: Any, write: Write
) -> None:
    ran = cli("score", "dataset/small@1.0.0", write(), "--eee-version", "0.2.3", cwd=store.root)
    assert (ran.code, "'0.3.0', '0.2.2'" in ran.err) == (2, True)


def test_the_choices_of_the_command_are_the_versions_that_are_written() -> None:
    from evalstore.cli.score import command

    (option,) = (option for option in command.params if option.name == "eee_version")
    assert tuple(option.type.choices) == tuple(LABELS)  # type: ignore[attr-defined]


def test_an_aggregate_of_others_is_scored_by_the_rows_that_lie_beside_it(
    scored: Scored, write: Write, tmp_path: Path
) -> None:
    write([row("one", "please"), row("two", "no!")], "0f_samples.jsonl")
    theirs = {
        "schema_version": "0.2.2",
        "evaluation_id": "e",
        "retrieved_timestamp": "1",
        "eval_library": {"name": "other", "version": "1"},
        "model_info": {"id": "north/pine-2"},
        "evaluation_results": [{"evaluation_name": "b", "metric_config": {}, "score_details": {"score": 0.5}}],
        "detailed_evaluation_results": {"format": "jsonl", "file_path": "data/b/north/pine-2/0f_samples.jsonl"},
    }
    (tmp_path / "theirs.json").write_text(json.dumps(theirs), encoding="utf-8")
    run = scored("dataset/small@1.0.0", tmp_path / "theirs.json")
    assert (run.model, [(it.id, it.score) for it in read_rows(run)]) == (
        "north/pine-2",
        [("one", Fraction(1)), ("two", Fraction(1, 3))],
    )
    (tmp_path / "theirs.json").write_text(json.dumps({**theirs, "eval_library": None}), encoding="utf-8")
    assert scored("dataset/small@1.0.0", tmp_path / "theirs.json").notes[0] == (
        "theirs.json: labelled 0.2.2, but it has no `eval_library`, as up to 0.2.0"
    )
    (tmp_path / "0f_samples.jsonl").unlink()
    with pytest.raises(LoadError, match="are not next to it"):
        scored("dataset/small@1.0.0", tmp_path / "theirs.json")


def test_samples_that_the_first_aggregates_hold_are_scored(scored: Scored, tmp_path: Path) -> None:
    samples = [{"sample_id": id_, "input": "?", "ground_truth": "!", "response": "please"} for id_ in ("one", "two")]
    first = {
        "schema_version": "0.0.1",
        "evaluation_id": "e",
        "evaluation_source": {},
        "retrieved_timestamp": "1",
        "model_info": {"id": "north/pine-2"},
        "evaluation_results": [],
        "detailed_evaluation_results_per_samples": samples,
    }
    path = tmp_path / "first.json"
    path.write_text(json.dumps(first, indent=2), encoding="utf-8")
    run = scored("dataset/small@1.0.0", path)
    assert (run.model, run.questions, run.score, run.path.name) == (
        "north/pine-2",
        2,
        Fraction(1),
        "small-1.0.0-north-pine-2.json",
    )


def test_rows_of_one_output_for_several_metrics_are_one_output(scored: Scored, write: Write) -> None:
    metrics = [row("one", "please"), row("two", "no"), row("one", "please", evaluation_result_id="f1")]
    run = scored("dataset/small@1.0.0", write([*metrics, row("one", "please")]))
    assert [it.id for it in read_rows(run)] == ["one", "two"]
    assert "rows that repeat an output for another metric: 2" in run.notes


@pytest.mark.parametrize(
    "again",
    [
        row("one", "thanks"),
        row("one", "please", output=None, messages=[{"role": "assistant", "content": "please", "tool_calls": []}]),
        {"id": "one", "output": "please"},
    ],
)
def test_rows_of_two_outputs_for_one_sample_are_refused(again: Any, scored: Scored, write: Write) -> None:
    with pytest.raises(RefusedError, match=r"duplicate id 'one' \(first on line 1\)"):
        scored("dataset/small@1.0.0", write([row("one", "please"), again]))


def test_labels_that_lie_are_said_once_with_their_place_and_number(scored: Scored, write: Write) -> None:
    rows = [row("two", "x"), one_text("one", "please"), row("three", "x", k=1), one_text("stray", "x")]
    run = scored("dataset/small@1.0.0", write(rows, "rows.jsonl"))
    assert run.notes[-1] == (
        "rows.jsonl:2: labelled 0.3.0, but its `output.raw` is one text, as up to 0.2.0; "
        "rows with a label that their shape contradicts: 3"
    )
    assert [it.id for it in read_rows(run)] == ["two", "one", "three"]
    notes = scored("dataset/small@1.0.0", write([row("one", "x")])).notes
    assert notes == (
        "questions of dataset/small without an output: 3 of 4",
        "outputs that were asked something else: 1 (the first is 'one': asked '?', and the question is 'Say one.')",
    )
