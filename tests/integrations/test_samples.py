"""Questions of a store as samples of Inspect, and back: what is graded is the same question."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'evalstore[inspect]'")

from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState

from evalstore import Store
from evalstore.errors import RefError, RefusedError
from evalstore.integrations.inspect import dataset_samples
from evalstore.integrations.inspect.samples import read_output, read_question
from evalstore.model import Output, Question

SMALL = "dataset/small@1.0.0"


def state(sample: Sample, **more: Any) -> TaskState:
    # What a log holds has been JSON, and Inspect's graders see that.
    kept = Sample.model_validate_json(sample.model_dump_json())
    return TaskState(ModelName("mockllm/model"), kept.id or "q", 1, kept.input, [], metadata=kept.metadata, **more)


def asked(sample: Sample) -> Question:
    return read_question(state(sample), Target(sample.target))


def test_a_question_comes_back_as_it_was(repo: Path) -> None:
    with Store.open(repo) as store:
        questions = list(store.read_questions(SMALL))
    back = [asked(sample) for sample in dataset_samples(SMALL, repo)]
    assert [question.row for question in back] == [question.row for question in questions]
    for before, after in zip(questions, back, strict=True):
        assert (after.id, after.input, after.rubric_ref) == (before.id, before.input, before.rubric_ref)
        assert (after.input_digest, after.reference_digest) == (before.input_digest, before.reference_digest)


def test_samples_show_what_inspect_knows_of(repo: Path) -> None:
    found = dataset_samples(SMALL, repo)
    assert (found.name, found.location) == ("small", SMALL)
    one, two, three = found
    assert (one.id, one.input, one.target) == ("one", "Say one.", "one")
    assert two.target == ["two", "zwei"]
    assert three.target == '{"also":[null,true],"share":1.5}'
    assert three.input == [
        ChatMessageSystem(content="Be brief.", id=three.input[0].id),
        ChatMessageUser(content="And then?", id=three.input[1].id),
    ]


def test_the_samples_of_others_are_questions_too() -> None:
    facts = ["it rains"]
    given = Sample("Why?", target=["so", "thus"], id=7, metadata={"expected_facts": facts, "share": 0.1, "id": "mine"})
    question = asked(given)
    assert (question.id, question.input) == ("7", "Why?")
    assert question.row == {
        "id": "7", "input": "Why?", "expected": ["so", "thus"], "expected_facts": facts, "share": Decimal("0.1"),
    }  # fmt: skip
    assert asked(Sample("Why?", target="so", id=1)).row["expected"] == "so"
    assert "expected" not in asked(Sample("Why?", id=1)).row
    assert asked(Sample("Why?", target="so", id=1, metadata={"expected": "thus"})).row["expected"] == "thus"
    assert asked(Sample("Why?", id=1, metadata={"input": 3})).input == "Why?"
    assert asked(Sample([ChatMessageUser(content="A"), ChatMessageAssistant(content="B")], id=1)).input == "A"
    assert asked(Sample([ChatMessageSystem(content="A")], id=1)).input == ""


def test_an_output_is_what_inspect_grades_else_what_was_said_last() -> None:
    sample = Sample("Why?", id=1)
    assert read_output(state(sample)) is None
    assert read_output(state(sample, output=ModelOutput(completion="x"))) == Output("x")
    said = state(sample)
    said.messages = [ChatMessageAssistant(content="given", source="input"), ChatMessageAssistant(content="last")]
    assert read_output(said) == Output("last", ())
    said.output = ModelOutput.from_content("m", "set")
    assert read_output(said) == Output("set", ())


def test_what_is_no_dataset_is_refused(repo: Path) -> None:
    with pytest.raises(RefusedError, match="holds no questions: it is a rubric"):
        dataset_samples("rubric/tone@1.0.0", repo)
    with pytest.raises(RefError, match="no version"):
        dataset_samples("dataset/small@2.0.0", repo)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("{id: a, input: A, expected: 3.14159265358979323846}", r"3\.14159265358979323846 is not a float"),
        ("{id: a, input: A, messages: [{role: critic, content: no}]}", "cannot be samples: ValidationError"),
        ("{id: a}", r"cannot be samples: the question has no input \(line 4\)"),
    ],
)
def test_a_question_that_inspect_cannot_hold_is_refused(
    question: str, why: str, repo: Path, git: Callable[..., str]
) -> None:
    (repo / "datasets/odd.yaml").write_text(f"id: odd\nversion: 1.0.0\nquestions:\n  - {question}\n", encoding="utf-8")
    with pytest.raises(RefusedError, match=why):
        dataset_samples("dataset/odd@worktree", repo)
