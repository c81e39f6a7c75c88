"""A small store on real git, and Inspect's mock models that say what a test wants; nothing here reaches a network."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model

FILES = {
    "rubrics/tone.yaml": """\
id: tone
version: 1.0.0
checks:
  - {id: polite, kind: must_contain_any, values: [please, thanks]}
  - {id: calm, kind: must_not_contain, values: ["!"]}
  - {id: short, kind: must_not_contain, values: [moreover]}
scoring: {combine: weighted_avg, threshold: 0.5}
""",
    "rubrics/form.yaml": """\
id: form
version: 1.0.0
checks: [{id: whole, kind: format}]
scoring: {combine: min}
""",
    "rubrics/tools.yaml": """\
id: tools
version: 1.0.0
checks: [{id: searched, kind: tool_usage, tools: [{name: search, args: {share: 0.1}}]}]
scoring: {combine: min}
""",
    "rubrics/judged.yaml": """\
id: judged
version: 1.0.0
checks:
  - {id: sound, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0, samples: 2, threshold: 0.5}
scoring: {combine: min, threshold: 0.5}
""",
    "rubrics/asked.yaml": """\
id: asked
version: 1.0.0
checks:
  - {id: named, kind: must_contain_any, values: {from: output}}
  - {id: inner, kind: composite, rubric_ref: rubric/named@1.0.0}
scoring: {combine: weighted_avg}
""",
    "rubrics/named.yaml": """\
id: named
version: 1.0.0
checks: [{id: said, kind: regex, pattern: {from: said_as}}]
scoring: {combine: min}
""",
    "rubrics/house.yaml": """\
id: house
version: 1.0.0
checks:
  - {id: sound, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0, model: {id: house-model}}
scoring: {combine: min}
""",
    "rubrics/whole.yaml": """\
id: whole
version: 1.0.0
checks:
  - {id: inner, kind: composite, rubric_ref: rubric/judged@1.0.0}
  - id: heard
    kind: llm_judge
    jury: {members: [{judge_prompt_ref: judge/accuracy@1.0.0}, {judge_prompt_ref: judge/terse@1.0.0}], aggregate: mean}
scoring: {combine: weighted_avg}
""",
    "judges/terse.yaml": """\
id: terse
version: 1.0.0
template: "Is this short? {{ output }}"
score_type: binary
""",
    "judges/accuracy.yaml": """\
id: accuracy
version: 1.0.0
template: "Q: {{ input }} A: {{ output }} Wanted: {{ expected }}"
scale: {min: 0, max: 3}
model: {temperature: 0.25, max_tokens: 100}
""",
    "datasets/small.yaml": """\
id: small
version: 1.0.0
defaults: {rubric_ref: rubric/tone@1.0.0}
questions:
  - {id: one, input: Say one., expected: one, group: numbers}
  - {id: two, input: Say two., expected: [two, zwei], metadata: {source: "a, b"}}
  - id: three
    input: And then?
    expected: {share: 1.50, also: [null, true]}
    expected_facts: [it is late, {id: later, value: it is later}]
    messages: [{role: system, content: Be brief.}, {role: user, content: And then?}]
""",
}


@contextmanager
def of_inspect() -> Iterator[None]:
    """Overlook two warnings that Inspect itself gives: of its retries, and of its streams when they are collected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'initial' parameter is deprecated", DeprecationWarning)
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        yield
        gc.collect(1)  # what is young: a collection of all takes a third of a second


@pytest.fixture
def repo(git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> Path:
    """A repository in which every file of the store is released."""
    template("the store of the integrations", lambda: release(git, tmp_path))
    return tmp_path / "repo"


def release(git: Callable[..., str], tmp_path: Path) -> None:
    git()
    for name, text in FILES.items():
        (tmp_path / "repo" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "repo" / name).write_text(text, encoding="utf-8")
    git("add", "--all")
    git("commit", "-qm", "Release")
    for name in FILES:
        git("tag", "-a", "-m", "Release", f"{name.split('s/')[0]}/{Path(name).stem}@1.0.0")


@pytest.fixture
def mock() -> Callable[..., Model]:
    """Make a model that says what is given: a text for each question, a text for all, or a list of outputs in turn."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def made(said: str | Mapping[str, str] | Sequence[Any] | Exception, name: str = "model") -> Model:
        turns: Iterator[Any] = iter(said if isinstance(said, list) else ())

        def answer(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
            model.asked.append((messages[-1].text, config))  # type: ignore[attr-defined]
            if isinstance(said, Exception):
                raise said
            text = said if isinstance(said, str) else next(turns) if isinstance(said, list) else said[messages[-1].text]
            output = text if isinstance(text, ModelOutput) else ModelOutput.from_content(f"mockllm/{name}", text)
            output.usage = ModelUsage()  # else it is counted, with a table from the network
            return output

        model = get_model(f"mockllm/{name}", custom_outputs=answer)
        model.asked = []  # type: ignore[attr-defined]
        return model

    return made


@pytest.fixture
def evaluated(tmp_path: Path) -> Callable[..., EvalLog]:
    """Run a task by Inspect, to a log in `tmp_path/logs`."""
    from inspect_ai import Task
    from inspect_ai import eval as run_eval
    from inspect_ai.solver import generate

    def run(dataset: Any, scorer: Any, model: Model, *, solver: Any = None, **options: Any) -> EvalLog:
        task = Task(dataset, solver=solver or generate(), scorer=scorer)
        with of_inspect():
            return run_eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)[0]

    return run


@pytest.fixture
def scores() -> Callable[[EvalLog], dict[Any, Any]]:
    """The score of each sample of a log, by its id."""

    def of(log: EvalLog) -> dict[Any, Any]:
        assert log.status == "success", log.error
        return {sample.id: (sample.scores or {})["rubric_scorer"] for sample in log.samples or ()}

    return of
