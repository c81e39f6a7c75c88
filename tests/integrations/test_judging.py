"""Judges asked through Inspect, in a real evaluation: which model is asked what, and what becomes of its replies."""

from __future__ import annotations

import asyncio
import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.conftest import of_inspect
from tests.rows import mark_slow

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'evalstore[inspect]'")

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.util import LimitExceededError

from evalstore import Store
from evalstore.checks.reply_schema import build_reply_schema
from evalstore.documents import compute_digest
from evalstore.integrations.inspect import ask_inspect_model, rubric_scorer
from evalstore.model import JudgeCall, read_judge

JUDGED, HOUSE = "rubric/judged@1.0.0", "rubric/house@1.0.0"
TWO = '{"score": 2, "rationale": "Nearly."}'


def asked(*inputs: str) -> MemoryDataset:
    return MemoryDataset([Sample(each, id=each, target="wanted") for each in inputs])


def only(scores: dict[Any, Any]) -> Any:
    (score,) = scores.values()
    return score


def test_a_model_that_is_named_judges(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    judge = mock([TWO, '{"score": 1}'], "judge")
    score = only(scores(evaluated(asked("Q"), rubric_scorer(JUDGED, repo, judge=judge), mock("an answer"))))
    assert (score.value, score.metadata["score"], score.metadata["verdict"]) == (0.5, "1/2", "pass")
    assert [prompt for prompt, _ in judge.asked] == ["Q: Q A: an answer Wanted: wanted"] * 2
    assert {(config.temperature, config.max_tokens) for _, config in judge.asked} == {(0.25, 100)}
    assert {config.cache for _, config in judge.asked} == {None, False}  # a second answer comes from no cache
    (check,) = score.metadata["checks"]
    assert (check["engine"], check["replies"]) == ("mockllm/judge", compute_digest([TWO, '{"score": 1}']))
    assert "Nearly." in check["reason"]
    with Store.open(repo) as store:
        assert score.metadata["judges"] == {
            "judge/accuracy@1.0.0": store.artifacts.read_artifact("judge/accuracy@1.0.0").digest
        }


def test_the_whole_request_of_a_judge_reaches_the_model() -> None:
    sent: list[Any] = []

    def answer(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        sent.append((messages, config))
        return ModelOutput(
            model="mockllm/judge", choices=ModelOutput.from_content("m", TWO).choices, usage=ModelUsage()
        )

    judge = read_judge({"template": "{{ output }}", "scale": {"max": 3}})
    model = {"system": "Be strict.", "response_format": build_reply_schema(judge), "extra": {"verbosity": "low"}}
    call = JudgeCall("judge/accuracy@1.0.0", "Is it good?", model)
    with of_inspect():
        reply = asyncio.run(ask_inspect_model(call, get_model("mockllm/judge", custom_outputs=answer)))
    assert (reply.problem, reply.text) == ("", TWO)
    [(messages, config)] = sent
    assert [(one.role, one.text) for one in messages] == [("system", "Be strict."), ("user", "Is it good?")]
    assert config.extra_body == {"verbosity": "low"}
    assert config.response_schema.json_schema.properties["score"].maximum == 3


def test_the_role_grader_judges_where_no_model_is_named(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    grader = mock(TWO, "grader")
    log = evaluated(asked("Q"), rubric_scorer(JUDGED, repo), mock("an answer"), model_roles={"grader": grader})
    assert only(scores(log)).value == 2 / 3
    assert len(grader.asked) == 2


def test_the_model_under_test_never_judges_itself(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    model = mock(TWO)
    score = only(scores(evaluated(asked("Q"), rubric_scorer(JUDGED, repo), model)))
    assert isnan(score.value)
    assert score.reason == "grader_failed"
    assert "--model-role grader=" in score.explanation
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        mark_slow(("I say two.", "is not JSON")),
        mark_slow(("", "the reply is empty")),
        (RuntimeError("on fire"), "RuntimeError: on fire"),
        ([ModelOutput.from_content("m", TWO, "max_tokens")] * 2, "cut off"),
        mark_slow(([ModelOutput.from_content("m", TWO, "content_filter")] * 2, "content filter")),
        mark_slow(([ModelOutput.from_content("m", TWO, error="overloaded")] * 2, "overloaded")),
    ],
)
def test_a_judge_that_fails_leaves_no_score(
    said: Any, why: str, repo: Path, mock: Any, evaluated: Any, scores: Any
) -> None:
    score = only(
        scores(evaluated(asked("Q"), rubric_scorer(JUDGED, repo, judge=mock(said, "judge")), mock("an answer")))
    )
    assert isnan(score.value)
    assert score.reason == "grader_failed"
    assert why in score.metadata["checks"][0]["reason"]


def test_a_limit_of_inspect_is_no_failed_judge(repo: Path, mock: Any, evaluated: Any) -> None:
    judge = mock(LimitExceededError("token", value=2, limit=1), "judge")
    log = evaluated(asked("Q"), rubric_scorer(JUDGED, repo, judge=judge), mock("an answer"))
    assert not log.samples[0].scores
    assert log.samples[0].error or log.samples[0].limit


def test_a_store_that_names_a_model_is_asked_by_that_model_only(
    repo: Path, mock: Any, evaluated: Any, scores: Any
) -> None:
    other = mock(TWO, "other")
    score = only(scores(evaluated(asked("Q"), rubric_scorer(HOUSE, repo, judge=other), mock("an answer"))))
    assert isnan(score.value)
    assert "judge={'house-model': …}" in score.metadata["checks"][0]["reason"]
    assert other.asked == []
    for judge in (mock(TWO, "house-model"), {"house-model": other}):
        found = scores(evaluated(asked("Q"), rubric_scorer(HOUSE, repo, judge=judge), mock("an answer")))
        assert only(found).value == 2 / 3


def test_a_mapping_leaves_the_other_names_to_the_role(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    scorer = rubric_scorer(JUDGED, repo, judge={"house-model": mock(TWO, "house")})
    log = evaluated(asked("Q"), scorer, mock("an answer"), model_roles={"grader": mock('{"score": 3}', "grader")})
    assert only(scores(log)).value == 1.0


def test_a_rubric_within_a_rubric_and_a_jury_are_asked_once_for_each_question(
    repo: Path, mock: Any, evaluated: Any, scores: Any
) -> None:
    judge = mock({"Q: Q A: an answer Wanted: wanted": TWO, "Is this short? an answer": '{"verdict": "pass"}'}, "judge")
    score = only(
        scores(evaluated(asked("Q"), rubric_scorer("rubric/whole@1.0.0", repo, judge=judge), mock("an answer")))
    )
    assert score.metadata["score"] == "3/4"  # (2/3 + (2/3 + 1)/2) / 2
    assert set(score.metadata["judges"]) == {"judge/accuracy@1.0.0", "judge/terse@1.0.0"}
    assert len(judge.asked) == 3  # the jury's first question is the inner rubric's, too


def test_many_samples_keep_their_own_replies(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    names = [f"Q{number}" for number in range(20)]
    prompts = {
        f"Q: {name} A: an answer Wanted: wanted": json.dumps({"score": number % 4}) for number, name in enumerate(names)
    }
    judge = mock(prompts, "judge")
    log = evaluated(asked(*names), rubric_scorer(JUDGED, repo, judge=judge), mock("an answer"))
    assert {id_: score.value for id_, score in scores(log).items()} == {
        name: pytest.approx(number % 4 / 3) for number, name in enumerate(names)
    }
    assert len(judge.asked) == 40


def test_the_log_shows_what_the_judge_was_asked(repo: Path, mock: Any, evaluated: Any) -> None:
    log = evaluated(asked("Q"), rubric_scorer(JUDGED, repo, judge=mock(TWO, "judge")), mock("an answer"))
    told = [event for event in log.samples[0].events if event.event == "model" and event.model == "mockllm/judge"]
    assert [event.output.completion for event in told] == [TWO, TWO]
