"""A file of a tool that evalstore does not migrate is named as that tool's, with the next step, and never as another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import migrate
from evalstore.migration.detect import detect_format
from evalstore.migration.table import load_tables

CASE = {"id": "a", "input": "?"}
SHAPES: dict[str, tuple[Any, str]] = {
    "a suite": ({"name": "s", "skill": "x", "config": {}, "metrics": [], "tasks": ["tasks/*.yaml"]}, "waza"),
    "a task": ({"id": "t", "name": "T", "inputs": {"prompt": "Go."}, "expected": {"outcomes": []}}, "waza"),
    "HealthBench": ([{"prompt_id": "p", "prompt": [], "rubrics": [{"criterion": "x", "points": -2}]}], "HealthBench"),
    "a row": ({"prompt_id": "p", "prompt": [], "rubrics": [{"criterion": "x", "points": -2}]}, "HealthBench"),
    "a variant": ({"include": "t.yaml", "task": "u", "dataset_name": "U"}, "lm-evaluation-harness"),
    "PRBench": ([{"task": "t", "prompt_0": "?", "prompt_1": None, "rubric": [], "field": "law"}], "PRBench"),
    "a judge": ({"name": "j", "mlflow_version": "3.17.2", "instructions_judge_pydantic_data": {}}, "MLflow"),
    "a dataset": ([{"_xact_id": "1", "id": "a", "input": "?", "expected": "x", "metadata": {}}], "Braintrust"),
    "an experiment": ([{"root_span_id": "r", "input": "?", "output": "x", "scores": {"f": 1}}], "Braintrust"),
    "a list": ([{"prompt": "?", "expected_response": "x"}], "Microsoft 365"),
    "items": ({"schemaVersion": "1.0.0", "items": [{"prompt": "?", "expected_response": "x"}]}, "Microsoft 365"),
    "conversations": (
        {"schemaVersion": "1.2.0", "items": [{"name": "n", "turns": [{"prompt": "?"}]}]},
        "Microsoft 365",
    ),
    "queries": ({"skills": ["s"], "resources": {}, "expects": [{"query": "?", "checks": ["`x`"]}]}, "NVIDIA"),
    "goldens of conversations": ([{"scenario": "s", "expected_outcome": "x", "turns": []}], "DeepEval"),
    "EvalPort": ({"version": "0.2", "graders": [{"id": "g", "type": "exact"}], "test_cases": [CASE]}, "EvalPort"),
    "goldens": ([{"input": "?", "expected_output": "x", "context": [], "source_file": "a.md"}], "DeepEval"),
    "named goldens": ({"goldens": [{"input": "?", "expected_output": "x"}]}, "DeepEval"),
    "a trial": ({"task_name": "t", "trial_name": "t__1", "verifier_result": {"rewards": {"reward": 1}}}, "Harbor"),
    "a task of lm-eval": ({"task": "t", "doc_to_text": "{{q}}", "metric_list": []}, "lm-evaluation-harness"),
    "what tasks include": ({"dataset_path": "d", "doc_to_text": "{{q}}", "test_split": "t"}, "lm-evaluation-harness"),
    "a task that includes": ({"task": "t", "include": "base", "test_split": "t"}, "lm-evaluation-harness"),
    "a group": ({"group": "g", "task": ["a", "b"], "metadata": {"version": 1}}, "lm-evaluation-harness"),
    "a suite with tasks": ({"skill": "s", "tasks": [{"id": "a", "prompt": "?", "validators": []}]}, "waza"),
    "a rubric": ({"name": "r", "evaluation_criteria": "…", "score_normalization": {}, "rating_levels": {}}, "waza"),
    "triggers": ({"skill": "s", "should_trigger_prompts": [], "should_not_trigger_prompts": []}, "waza"),
    "a Harbor task": ({"version": "1.0", "verifier": {}, "agent": {}, "environment": {}}, "Harbor"),
    "a job": ({"jobs_dir": "jobs", "agents": [{"name": "oracle"}], "datasets": [{"path": "d"}]}, "Harbor"),
    "a job's result": ({"id": "u", "n_total_trials": 3, "stats": {"evals": {}}}, "Harbor"),
    "bare HealthBench": ([{"prompt": [], "rubrics": [], "example_tags": []}], "HealthBench"),
    "MLflow's records": ([{"dataset_record_id": "d", "inputs": {}, "tags": {}}], "MLflow"),
    "a function": ({"function_type": "scorer", "function_data": {"type": "prompt"}, "prompt_data": {}}, "Braintrust"),
    "prompts alone": ({"schemaVersion": "1.0.0", "items": [{"prompt": "?"}]}, "Microsoft 365"),
    "a mixture": (
        {"schemaVersion": "1.2.0", "default_evaluators": {}, "items": [{"turns": []}, {"prompt": "?"}]},
        "Microsoft 365",
    ),
    "two lists": ({"prompts": ["?"], "expected_responses": ["x"]}, "Microsoft 365"),
    "named metrics": ({"test_cases": [{"input": "?", "expected_output": "x", "metrics": ["f"]}]}, "DeepEval"),
    "a test set": ([{"user_input": "?", "reference": "x", "synthesizer_name": "s"}], "Ragas"),
    "Ragas": ([{"user_input": "?", "retrieved_contexts": [], "reference": "x"}], "Ragas"),
    "LangSmith": ([{"inputs": {"q": "?"}, "outputs": {"a": "x"}}], "LangSmith"),
    "samples": ([{"input": "?", "ideal": "x"}], "openai/evals"),
    "a taxonomy": ({"id": "f", "version": "1.0", "failure_modes": [{"id": "x"}]}, "failure taxonomy of ai_eval"),
}


def test_what_is_no_suite_yet_says_so() -> None:
    case = {"question": "?", "expected_skill": "s", "expected_behavior": ["Reads it"]}
    said = [detect_format(value, load_tables()).reason for value in ([], {}, case)]
    assert said[0] == said[1] == "it is empty: there is no case in it to migrate"
    assert "put it between [ and ]" in said[2]


@pytest.mark.parametrize("name", SHAPES)
def test_it_is_named_as_its_own(name: str) -> None:
    value, tool = SHAPES[name]
    match = detect_format(value, load_tables())
    assert match.table is None
    assert match.shape is not None
    assert tool in match.reason
    assert "`" in match.reason or tool in {"Harbor", "EvalPort", "failure taxonomy of ai_eval"}


def test_what_cannot_be_read_is_named_by_its_tag_or_says_what_it_may_be(tmp_path: Path) -> None:
    task, table, toml = (tmp_path / name for name in ("t.yaml", "t.csv", "task.toml"))
    toml.write_text('version = "1.0"\n[verifier]\ntimeout_sec = 9.0\n[agent]\n[environment]\n')
    assert "a task of Harbor" in migrate(toml, into=tmp_path / "store").entries[0].reason
    toml.write_text("version = \n")
    assert "not TOML" in migrate(toml, into=tmp_path / "store").entries[0].reason
    task.write_text("task: t\nprocess_results: !function utils.process\n")
    table.write_text("question,answer\nWho?,Me\n")
    for path, words in ((task, "a task of lm-evaluation-harness"), (table, "no suite is a table alone")):
        (entry,) = migrate(path, into=tmp_path / "store").entries
        assert words in entry.reason
        assert "`evalstore new dataset ID`" in entry.reason
