"""Several outputs to one question: they count as one question, by their exact mean; what is missing is recorded."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from evalstore.errors import RefusedError
from evalstore.model import Verdict
from evalstore.places import find_resource_folder
from evalstore.runs import Run, read_rows, read_run
from evalstore.runs.question_mean import compute_question_mean
from evalstore.runs.tally import QuestionSums
from evalstore.store import ArtifactStore
from tests.shared_data import find_shared

Scored = Callable[..., Run]
Write = Callable[..., Path]
# Of the rubric `tone`: each phrase costs a third, and .5 passes.
FULL, TWO_THIRDS, THIRD, NONE = "please", "please!", "please! moreover", "no! moreover"


def sample(id_: str, number: int, output: str) -> dict[str, Any]:
    return {"id": id_, "sample": number, "output": output}


def test_a_question_scores_the_exact_mean_of_its_samples(scored: Scored, write: Write) -> None:
    rows = [sample("a", 0, FULL), sample("b", 0, NONE), sample("a", 1, THIRD), sample("a", 2, TWO_THIRDS)]
    run = scored("dataset/many@1.0.0", write(rows))
    assert (run.score, run.pass_rate) == (Fraction(1, 3), Fraction(1, 3))  # (2/3 + 0) / 2, and (2/3 + 0) / 2
    assert (run.questions, run.scored, run.outputs) == (2, 2, 4)
    again = read_run(run.path)
    assert (again.score, again.scored, again.outputs) == (run.score, 2, 4)
    assert [(row.id, row.sample) for row in read_rows(again)] == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_the_order_of_samples_does_not_matter(scored: Scored, write: Write) -> None:
    rows = [sample("a", 3, FULL), sample("a", 1, NONE), sample("b", 7, THIRD)]
    runs = [scored("dataset/many@1.0.0", write(order)) for order in itertools.permutations(rows)]
    assert {(run.score, run.pass_rate, run.without_output) for run in runs} == {
        ((Fraction(1, 2) + Fraction(1, 3)) / 2, Fraction(1, 4), 0)
    }


def test_a_run_with_samples_is_scored_again_alike(scored: Scored, write: Write) -> None:
    run = scored("dataset/many@1.0.0", write([sample("a", 0, FULL), sample("a", 1, NONE), sample("b", 0, FULL)]))
    again = scored("dataset/many@1.0.0", run.path)
    assert (again.score, again.outputs, again.questions) == (run.score, 3, 2)


@pytest.mark.parametrize(
    "rows",
    [
        [sample("a", 1, FULL), sample("a", 1, NONE)],
        [{"id": "a", "output": FULL}, {"id": "a", "output": NONE}],
        [{"id": "a", "output": FULL}, sample("a", 0, NONE)],
    ],
)
def test_two_outputs_of_one_sample_are_refused(rows: list[Any], scored: Scored, write: Write) -> None:
    with pytest.raises(RefusedError, match="'a'") as raised:
        scored("dataset/many@1.0.0", write(rows))
    assert "sample" in str(raised.value.hint)


@pytest.mark.parametrize("number", [-1, 1.0, "1", True, None, 10**9])
def test_a_sample_that_is_no_number_is_one_row_that_is_not_graded(number: Any, scored: Scored, write: Write) -> None:
    run = scored("dataset/many@1.0.0", write([sample("a", 0, FULL), sample("b", number, FULL)]))
    assert (run.scored, run.without_output) == (1, 1)
    assert "its `sample` is not a whole number" in run.missing_outputs["b"]


def test_missing_outputs_are_recorded_by_id(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write({"two": FULL}))
    assert dict(read_run(run.path).missing_outputs) == dict.fromkeys(
        ("one", "three", "four"), "the file of outputs has none"
    )
    assert "without an output: 3 of 4" in run.notes[0]


def test_the_reason_of_a_missing_output_is_the_files(scored: Scored, write: Write, tmp_path: Path) -> None:
    def log(id_: str, epoch: int, **extra: Any) -> dict[str, Any]:
        said = {"choices": [{"message": {"content": FULL}}], "completion": FULL}
        return {"id": id_, "epoch": epoch, "messages": [], "output": said, **extra}

    failed = {"error": {"message": "out of memory\nTraceback"}, "output": {}}
    document = {"version": 2, "eval": {"model": "m"}, "status": "error"}
    samples = [log("one", 1), log("one", 2), log("two", 1, **failed)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**document, "samples": samples}))
    run = scored("dataset/small@1.0.0", path)
    assert (run.questions, run.outputs) == (1, 2)  # epochs are samples
    assert run.missing_outputs["two"] == "out of memory"


def test_errors_are_recorded_by_check_and_id(
    cli: Callable[..., Any], judged: Path, write: Write, judge_server: Any
) -> None:
    judge_server.play("400", prompt="two")
    ran = cli(
        *("score", "dataset/three@1.0.0", write({"one": "please", "two": "no"}), "--judge-url", judge_server.url),
        *("--judge-retries", "0", "--format", "json"),
        cwd=judged,
    )
    document = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output/score.schema.json").read_text("utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(document)) == []
    assert document["checks"]["sound"]["error_ids"] == ["two"]
    assert document["replies"] == {"asked": 1, "kept": 0, "prompt_tokens": 7, "completion_tokens": 3, "cost": None}
    assert read_run(judged / "runs/three-1.0.0-model_a.json").checks["sound"].error_ids == ("two",)
    again = cli("score", "dataset/three@1.0.0", judged.parent / "model_a.jsonl", "--offline", cwd=judged)
    assert "replies         1   1 kept from before, 0 asked now" in again.out


OUTCOMES = st.tuples(st.integers(0, 3), st.sampled_from([None, Fraction(0), Fraction(1, 3), Fraction(1)])).map(
    lambda pair: (pair[0], (pair[1], Verdict.UNSCORED if pair[1] is None else Verdict(["fail", "pass"][pair[1] > 0.5])))
)


def mean(values: Iterable[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


@given(st.lists(OUTCOMES, max_size=12))
def test_sums_as_rows_come_are_those_over_whole_questions(outcomes: list[tuple[int, Any]]) -> None:
    counted = QuestionSums()
    for number, outcome in outcomes:
        counted.add(number, outcome)
    sums = counted.compute_totals()
    by_question = [[outcome for other, outcome in outcomes if other == number] for number in range(4)]
    means = [compute_question_mean(several) for several in by_question if several]
    assert sums.scores.compute_mean() == mean(each.score for each in means)
    assert sums.passes.compute_mean() == mean(each.pass_share for each in means)
    assert sums.unscored == sum(each.score is None for each in means)


@pytest.mark.parametrize("version", ["0.3.0", "0.2.2"])
def test_a_run_with_samples_and_missing_outputs_is_every_eval_ever(version: str, scored: Scored, write: Write) -> None:
    rows = [sample("two", 0, FULL), sample("two", 1, NONE), sample("one", 4, THIRD)]
    run = scored("dataset/small@1.0.0", write(rows), eee_version=version)
    assert run.missing_outputs.keys() == {"three", "four"}
    schemas = find_shared("samples/every_eval_ever/schemas")
    texts = [("eval", run.path.read_text("utf-8"))]
    texts += [("instance_level_eval", line) for line in run.samples.read_text("utf-8").splitlines()]
    assert len(texts) == 4
    for name, text in texts:
        published = json.loads((schemas / f"{name}.schema.{version}.json").read_text("utf-8"))
        assert list(Draft7Validator(published).iter_errors(json.loads(text))) == []


def test_missing_outputs_of_a_dataset_with_a_row_file(scored: Scored, write: Write) -> None:
    assert scored("dataset/many@1.0.0", write({"a": FULL})).missing_outputs.keys() == {"b"}
    # A question whose only sample is not numbered 0 has an output all the same.
    run = scored("dataset/many@1.0.0", write([sample("b", 3, FULL)]))
    assert (run.missing_outputs.keys(), run.without_output) == ({"a"}, 1)


def test_a_run_that_names_megabytes_of_missing_outputs_is_read(
    store: ArtifactStore, scored: Scored, write: Write
) -> None:
    rows = [json.dumps({"id": letter * (1 << 20), "input": "Which?"}) for letter in "bcdef"]
    (store.root or Path()).joinpath("datasets/many.jsonl").write_text('{"id": "a", "input": "A?"}\n' + "\n".join(rows))
    run = scored("dataset/many@worktree", write({"a": FULL}))
    assert len(read_run(run.path).missing_outputs) == len(rows)
