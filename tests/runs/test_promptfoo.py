from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.model import Output
from evalstore.model.measures import Measures
from evalstore.runs import MissingOutput, SeriesFilter, StoredOutput, find_samples, read_outputs
from tests.runs.conftest import find_unread

CASES = Path(__file__).parents[1] / "cases" / "imports"
ADD = ({"name": "add", "args": {"a": 2, "b": 3}},)
SEAT, COLOUR = "Which city is the seat of the Swiss government?", ("Answer: Name a colour.", "Name a colour.")
SUM = ("Answer: Add 2 and 3.", "Add 2 and 3.")
RESULT = {
    "promptIdx": 0,
    "testIdx": 4,
    "testCase": {"vars": {"q": "Q?"}, "metadata": {}},
    "promptId": "abc",
    "provider": {"id": "openai:small", "label": ""},
    "prompt": {"raw": "Q?", "label": "{{q}}"},
    "vars": {"q": "Q?"},
    "response": {"output": "A."},
    "success": True,
    "gradingResult": None,
}
Results = Callable[..., Path]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Write results, each like `RESULT` but for what is given, as the document that promptfoo exports."""

    def write(*changes: dict[str, Any], **document: Any) -> Path:
        rows = [{key: value for key, value in {**RESULT, **change}.items() if value != "absent"} for change in changes]
        path = tmp_path / "results"
        path.write_text(
            json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [1], "results": rows}, **document})
        )
        return path

    return write


SPENT = Measures(Decimal(812), Decimal("0.0012"), Decimal(8), Decimal(4))


def test_a_document_of_version_3_gives_one_prompt_at_a_time() -> None:
    path = CASES / "promptfoo-3.json"
    assert list(read_outputs(path, SeriesFilter({"prompt": "short"}))) == [
        StoredOutput(
            "seat",
            Output("Zurich.\nSure.", measures=SPENT),
            11,
            "openai:chat:small",
            asked=(f"Answer: {SEAT}", SEAT),
            prompt="short",
        ),
        StoredOutput(
            "7",
            Output('{"colour":"red","parts":[1.50,null,true]}'),  # cached, which takes no time
            43,
            "openai:chat:small",
            asked=COLOUR,
            prompt="short",
        ),
        MissingOutput("2", 61, "API call error: 503 Service Unavailable", SUM),
    ]
    assert list(read_outputs(path, SeriesFilter({"prompt": "lo*"}))) == [
        StoredOutput(
            "2",
            Output("", ADD, measures=Measures(Decimal(640))),
            79,
            "openai:chat:small",
            asked=("Answer at length: Add 2 and 3.", "Add 2 and 3."),
            prompt="long",
        )
    ]
    with pytest.raises(RefusedError, match="contains outputs of 2 prompts, but a run can have only one") as raised:
        list(read_outputs(path))
    assert raised.value.hint == "choose with --only prompt='short' | 'long'"
    assert find_samples(path) == path


def test_a_document_of_version_2_names_its_tests_by_their_variables() -> None:
    assert list(read_outputs(CASES / "promptfoo-2.json")) == [
        StoredOutput(
            "colour",
            Output("Red.", measures=Measures(Decimal(700))),
            7,
            "openai:chat:small",
            asked=COLOUR,
            prompt="Answer: {{question}}",
        ),
        MissingOutput("sum", 18, "Error: timeout", SUM),
    ]


def test_a_cached_response_has_the_time_of_the_answer_and_not_that_of_the_cache(results: Results) -> None:
    response = {"output": "A.", "cached": True, "cost": 0}
    path = results(
        {"latencyMs": 2, "response": {**response, "latencyMs": 191}},  # of 0.121
        {"latencyMs": 2, "testIdx": 5, "response": response},  # of 0.118, which grades no latency then
    )
    measures = [found.output.measures for found in read_outputs(path) if isinstance(found, StoredOutput)]
    assert [(one.latency_ms, one.cost_usd) for one in measures] == [(191, 0), (None, 0)]


def test_lines_and_bare_summaries_hold_the_same_results(results: Results, lines: Callable[..., Path]) -> None:
    whole = [(found.id, found) for found in read_outputs(results(RESULT, {"testIdx": 5}))]
    bare = results(results=[RESULT, {**RESULT, "testIdx": 5}])
    jsonl = lines(RESULT, {**RESULT, "testIdx": 5})
    assert [found.id for found in read_outputs(bare)] == [found.id for found in read_outputs(jsonl)] == ["4", "5"]
    assert [id_ for id_, _ in whole] == ["4", "5"]
    assert [found.line for found in read_outputs(jsonl)] == [1, 2]


@pytest.mark.parametrize(
    ("change", "id_"),
    [
        ({}, "4"),
        ({"testCase": {"metadata": {"id": "m"}}, "vars": {"id": "v"}}, "m"),
        ({"testCase": {"metadata": {"id": None}}, "vars": {"id": "v"}}, "v"),
        ({"testCase": {"vars": {"id": 12}}, "vars": {}}, "12"),
        ({"testCase": {"vars": {"id": True}}, "vars": None}, "4"),
        ({"testCase": None, "vars": "x", "testIdx": 0}, "0"),
        ({"metadata": {"id": "of the request"}}, "4"),
    ],
)
def test_which_question_a_result_answers(change: dict[str, Any], id_: str, results: Results) -> None:
    assert [found.id for found in read_outputs(results(change))] == [id_]


FUNCTION = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
CALL = {"id": "c", "type": "function", "function": FUNCTION}
MADE = {"toolCalls": [{"id": "t", "name": "add", "input": {"a": 2, "b": 3}, "output": "5", "is_error": False}]}


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ({"output": ""}, Output("")),
        ("told", Output("told")),
        ({"output": 7}, Output("7")),
        ({"output": False}, Output("false")),
        ({"output": []}, Output("[]")),
        ({"output": {"b": 1.50, "a": None}}, Output('{"b":1.5,"a":null}')),
        ({"output": ["x"]}, Output('["x"]')),
        ({"output": FUNCTION}, Output("", ADD)),
        ({"output": [CALL, CALL]}, Output("", ADD + ADD)),
        ({"output": {"role": "assistant", "content": "See.", "tool_calls": [CALL]}}, Output("See.", ADD)),
        ({"output": {"role": "assistant", "content": None, "function_call": FUNCTION}}, Output("", ADD)),
        ({"output": [{"text": "See."}, {"functionCall": {"name": "add", "args": {"a": 2, "b": 3}}, "thoughtSignature": "x"}]}, Output("See.", ADD)),
        ({"output": [{"text": "hm", "thought": True}, {"text": "See."}]}, Output("See.")),
        ({"output": "5", "metadata": MADE}, Output("5", ADD)),
        ({"output": "5", "metadata": {"toolCalls": []}}, Output("5", ())),
        ({"output": "5", "metadata": {"toolCalls": [{"name": "f"}, {"name": "g", "input": "raw"}]}}, Output("5", ({"name": "f", "args": {}}, {"name": "g", "args": {"arguments": "raw"}}))),
        ({"output": {"name": "Ada", "arguments": ["for", "against"]}}, Output('{"name":"Ada","arguments":["for","against"]}')),
        ({"output": [{"function": "sine"}]}, Output('[{"function":"sine"}]')),
        ({"output": {"role": "assistant", "content": "a role play"}}, Output('{"role":"assistant","content":"a role play"}')),
        ({"output": [{"text": "a"}, {"text": "b", "start": 3}]}, Output('[{"text":"a"},{"text":"b","start":3}]')),
    ],
)  # fmt: skip
def test_what_a_provider_answered(response: Any, answer: Output, results: Results) -> None:
    (found,) = read_outputs(results({"response": response}))
    assert isinstance(found, StoredOutput)
    assert found.output == answer


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"response": {"error": "overloaded\nplease wait"}}, "overloaded"),
        ({"response": {"error": "cut off", "output": "half an ans"}}, "cut off"),
        ({"response": None, "error": "timed out"}, "timed out"),
        ({"response": "absent", "error": None}, "the provider gave no output"),
        ({"response": {"output": None}}, "the provider gave no output"),
        ({"response": {"error": {"code": 500}}}, "the provider gave no output"),
    ],
)
def test_a_result_without_an_output_is_left_out(change: dict[str, Any], reason: str, results: Results) -> None:
    assert list(read_outputs(results(change))) == [MissingOutput("4", 1, reason, ("Q?",))]


def test_a_failed_assertion_is_no_failure_of_the_provider(results: Results) -> None:
    (found,) = read_outputs(results({"error": 'Expected output to contain "B"', "failureReason": 1}))
    assert isinstance(found, StoredOutput)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"testIdx": None}, "does not say which question it answers"),
        ({"response": {"output": "x", "metadata": {"toolCalls": [{"input": 1}]}}}, "a call in `metadata.toolCalls` has another"),
        ({"response": {"output": "x", "metadata": {"toolCalls": [7]}}}, "a call in `metadata.toolCalls` has another"),
        ({"response": {"output": {"a": float("nan")}}}, "NaN is not JSON"),
        ({"response": {"output": "\ud800"}}, "surrogate"),
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_read_is_one_sentence(change: dict[str, Any], sentence: str, results: Results) -> None:
    path = results(change)
    found = find_unread(path)
    assert sentence in found.reason
    assert found.line == 1


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ({"id": "openai:small", "label": ""}, "openai:small"),
        ({"id": "file://provider.py", "label": "Planner"}, "Planner"),
        ({"id": "openai:small"}, "openai:small"),
        ("openai:small", "openai:small"),
        ({}, None),
        (None, None),
    ],
)
def test_the_model_is_the_provider_as_promptfoo_shows_it(provider: Any, model: str | None, results: Results) -> None:
    (found,) = read_outputs(results({"provider": provider}))
    assert isinstance(found, StoredOutput)
    assert found.model == model


def test_of_several_providers_and_prompts_both_are_listed(results: Results) -> None:
    grid = [
        {"provider": {"id": f"openai:{model}"}, "prompt": {"raw": "Q?", "label": prompt}, "testIdx": test}
        for model in ("small", "large")
        for prompt in ("short", "long")
        for test in (0, 1)
    ]
    path = results(*grid)
    with pytest.raises(
        RefusedError, match="contains outputs of 2 models and 2 prompts, but a run can have only one"
    ) as raised:
        list(read_outputs(path))
    assert raised.value.hint == (
        "choose with --only model='openai:small' | 'openai:large'; --only prompt='short' | 'long'"
    )
    with pytest.raises(RefusedError, match="of 2 models, but a run") as raised:
        list(read_outputs(path, SeriesFilter({"prompt": "short"})))
    assert (raised.value.hint or "").endswith("; or evalstore score takes them for one with --model NAME")
    found = read_outputs(path, SeriesFilter({"prompt": "short", "model": "openai:large"}))
    assert [(one.id, getattr(one, "model", None)) for one in found] == [("0", "openai:large"), ("1", "openai:large")]
