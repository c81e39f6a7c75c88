"""The scorer in a real evaluation by Inspect, with a model whose replies are given."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'evalstore[inspect]'")

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, TaskState, chain, generate, solver, use_tools
from inspect_ai.tool import Tool, ToolCall, tool

from evalstore import Store
from evalstore.errors import GitError, RefError
from evalstore.integrations.inspect import dataset_samples, rubric_scorer
from evalstore.integrations.rubric_scorer import ReleasedRubric

SAID = {"Say one.": "please", "Say two.": "moreover! thanks", "And then?": "nothing"}


def metrics(log: Any) -> dict[str, float]:
    return {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}


def asked(*metadata: dict[str, Any] | None, **more: Any) -> MemoryDataset:
    return MemoryDataset([Sample("Q", id=f"q{number}", metadata=each, **more) for number, each in enumerate(metadata)])


def test_a_report_shows_the_mean_its_error_and_the_share_of_passes(
    repo: Path, mock: Any, evaluated: Any, scores: Any
) -> None:
    log = evaluated(dataset_samples("dataset/small@1.0.0", repo), rubric_scorer(store=repo), mock(SAID))
    assert {id_: score.value for id_, score in scores(log).items()} == {"one": 1.0, "two": 1 / 3, "three": 2 / 3}
    assert metrics(log) == pytest.approx({"mean": 2 / 3, "stderr": 0.19245, "pass_rate": 2 / 3}, abs=1e-5)


def test_a_score_says_what_failed_and_why_and_names_its_ruler(
    repo: Path, mock: Any, evaluated: Any, scores: Any
) -> None:
    log = evaluated(dataset_samples("dataset/small@1.0.0", repo), rubric_scorer("rubric/tone@1.0.0", repo), mock(SAID))
    two = scores(log)["two"]
    assert two.explanation == "fail (33.33)\n- calm failed (0): found '!'\n- short failed (0): found 'moreover'"
    assert two.answer == "moreover! thanks"
    with Store.open(repo) as store:
        resolved = store.resolve("rubric/tone@1.0.0")
    details = two.metadata
    assert (details["rubric"], details["rubric_digest"]) == ("rubric/tone@1.0.0", resolved.digest)
    assert details["scoring_digest"] == resolved.scoring_digest
    assert (details["score"], details["verdict"], details["judges"]) == ("1/3", "fail", {})
    assert details["checks"][1] == {
        "id": "calm",
        "kind": "must_not_contain",
        "score": "0",
        "verdict": "fail",
        "reason": "found '!'",
        "unscored": None,
        "engine": "evalstore",
        "replies": "",
        "reply_digests": [],
        "inner_errors": [],
        "inner_missing": [],
    }


def test_each_epoch_passes_for_itself(repo: Path, mock: Any, evaluated: Any) -> None:
    # The mean of both epochs, 2/3, would pass; one output of the two does.
    model = mock(["please", "moreover! thanks"])
    log = evaluated(asked(None), rubric_scorer("rubric/tone@1.0.0", repo), model, epochs=2)
    assert metrics(log) == pytest.approx({"mean": 2 / 3, "stderr": 0, "pass_rate": 0.5})


def test_what_cannot_be_scored_counts_in_no_metric(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    wanted = {"expected": {"format": "text"}}
    log = evaluated(asked(None, wanted), rubric_scorer("rubric/form@1.0.0", repo), mock("words"))
    missing, fine = scores(log)["q0"], scores(log)["q1"]
    assert isnan(missing.value)
    assert (missing.reason, missing.metadata["verdict"], missing.metadata["score"]) == ("missing", "unscored", "")
    assert missing.explanation.startswith("unscored: no check was scored\n- whole unscored (missing): ")
    assert fine.value == 1.0
    assert metrics(log)["mean"] == metrics(log)["pass_rate"] == 1.0
    assert {(score.scored_samples, score.unscored_samples) for score in log.results.scores} == {(1, 1)}


def test_nothing_scored_is_no_number(repo: Path, mock: Any, evaluated: Any) -> None:
    log = evaluated(asked(None), rubric_scorer("rubric/form@1.0.0", repo), mock("words"))
    assert all(isnan(value) for value in metrics(log).values())
    assert set(metrics(log)) == {"mean", "stderr", "pass_rate"}


def test_a_sample_that_names_no_rubric_is_unscored(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    named = {"rubric_ref": "rubric/tone@1.0.0"}
    found = scores(evaluated(asked(None, named), rubric_scorer(store=repo), mock("thanks")))
    assert (found["q0"].reason, isnan(found["q0"].value)) == ("scoring_failed", True)
    assert "names no rubric" in found["q0"].explanation
    assert found["q1"].value == 1.0


def test_a_model_that_said_nothing_has_no_output(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    @solver
    def silent() -> Any:
        async def solve(state: TaskState, _: Generate) -> TaskState:
            return state

        return solve

    scorer = rubric_scorer("rubric/tone@1.0.0", repo)
    found = scores(evaluated(asked(None), scorer, mock("never asked"), solver=silent()))
    assert (found["q0"].reason, isnan(found["q0"].value)) == ("no_response", True)


def test_an_empty_answer_is_an_answer(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    found = scores(evaluated(asked(None), rubric_scorer("rubric/tone@1.0.0", repo), mock("")))
    assert found["q0"].metadata["score"] == "2/3"


@tool
def search() -> Tool:
    async def execute(share: float) -> str:
        """Search.

        Args:
            share: How much of it.
        """
        return f"{share} found"

    return execute


def test_calls_are_graded_and_none_is_a_record_too(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    call = ModelOutput.for_tool_call("mockllm/model", "search", {"share": 0.1})
    scorer, solve = rubric_scorer("rubric/tools@1.0.0", repo), chain(use_tools(search()), generate())
    assert scores(evaluated(asked(None), scorer, mock([call, "done"]), solver=solve))["q0"].value == 1.0
    idle = scores(evaluated(asked(None), scorer, mock("done"), solver=solve))["q0"]
    assert (idle.value, idle.metadata["verdict"]) == (0.0, "fail")


def test_the_calls_of_an_example_are_not_the_models(repo: Path, mock: Any, evaluated: Any, scores: Any) -> None:
    example = ChatMessageAssistant(
        content="as here", tool_calls=[ToolCall(id="1", function="search", arguments={"share": 0.1})]
    )
    shown = MemoryDataset([Sample([ChatMessageUser(content="Do"), example, ChatMessageUser(content="Q")], id="q0")])
    found = scores(evaluated(shown, rubric_scorer("rubric/tools@1.0.0", repo), mock("done")))
    assert found["q0"].value == 0.0


def test_a_rubric_that_is_not_there_stops_the_task_with_its_versions(repo: Path) -> None:
    with pytest.raises(RefError, match=r"rubric/tone has no version 9\.0\.0") as caught:
        rubric_scorer("rubric/tone@9.0.0", repo)
    assert caught.value.__notes__ == ["released: 1.0.0"]
    with pytest.raises(GitError, match="there is no folder"):
        rubric_scorer("rubric/tone@1.0.0", repo / "nowhere")


def test_a_rubric_that_a_sample_names_and_is_not_there_is_an_error_of_the_sample(
    repo: Path, mock: Any, evaluated: Any
) -> None:
    log = evaluated(asked({"rubric_ref": "rubric/gone@1.0.0"}), rubric_scorer(store=repo), mock("thanks"))
    assert log.status == "error"
    assert "there is no rubric/gone" in log.error.message


def test_a_store_or_its_path_do_and_the_log_keeps_the_path(
    repo: Path, mock: Any, evaluated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.parent)
    with Store.open(repo) as store:
        given = [rubric_scorer("rubric/tone@1.0.0", each) for each in (store, repo, "repo")]
        assert store.artifacts.read_artifact("rubric/tone@1.0.0").id == "tone"  # it is still the caller's
    for scorer, path in zip(given, (str(repo), str(repo), "repo"), strict=True):
        log = evaluated(asked(None), scorer, mock("thanks"))
        assert log.eval.scorers[0].options == {"ref": "rubric/tone@1.0.0", "store": path, "judge": None}


def test_a_floating_reference_is_a_warning_and_the_score_says_what_it_was(
    repo: Path, mock: Any, evaluated: Any, scores: Any, caplog: pytest.LogCaptureFixture
) -> None:
    scorer = rubric_scorer("rubric/tone@^1", repo)
    assert "rubric/tone@^1 floats: today it is rubric/tone@1.0.0" in caplog.text
    assert scores(evaluated(asked(None), scorer, mock("thanks")))["q0"].metadata["rubric"] == "rubric/tone@1.0.0"


def test_grading_waits_beside_the_event_loop_and_one_at_a_time(
    repo: Path, mock: Any, evaluated: Any, scores: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade: Callable[..., Any] = ReleasedRubric.grade
    busy, threads = threading.Lock(), set()

    def spied(self: ReleasedRubric, *args: Any) -> Any:
        assert busy.acquire(blocking=False)
        threads.add(threading.current_thread())
        time.sleep(0.002)  # long enough for another to come in between, if it could
        try:
            return grade(self, *args)
        finally:
            busy.release()

    monkeypatch.setattr(ReleasedRubric, "grade", spied)
    log = evaluated(asked(*[None] * 30), rubric_scorer("rubric/tone@1.0.0", repo), mock("thanks"))
    assert len(scores(log)) == 30
    assert threads
    assert threading.main_thread() not in threads
