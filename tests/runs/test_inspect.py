"""Logs that Inspect AI itself writes, read by us and by it."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError, RefusedError
from evalstore.model import Output
from evalstore.model.measures import NO_MEASURES, Measures
from evalstore.runs import MissingOutput, SeriesFilter, StoredOutput, find_samples, read_outputs
from tests.rows import mark_slow
from tests.runs.conftest import find_unread

CASES = Path(__file__).parents[1] / "cases" / "imports"
Logged = Callable[..., Path]


@contextmanager
def of_inspect() -> Iterator[None]:
    """Overlook the warnings that Inspect itself gives: of its retries, and of its streams when they are collected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'initial' parameter is deprecated", DeprecationWarning)
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        yield
        gc.collect(1)  # what is young: a collection of all takes a third of a second


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    """Run a task by Inspect: every sample adds with a tool and then answers, but for those that fail."""
    pytest.importorskip("inspect_ai")
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))

    def run(log_format: str, ids: tuple[str | int, ...] = ("q1", 7, "a/b ü"), **options: Any) -> Path:
        from inspect_ai import Task, eval  # noqa: A004  # its name there
        from inspect_ai.dataset import Sample
        from inspect_ai.model import ModelOutput, ModelUsage, get_model
        from inspect_ai.scorer import Score, accuracy, scorer
        from inspect_ai.solver import generate, use_tools
        from inspect_ai.tool import tool

        @tool
        def add() -> Any:
            async def execute(a: int, b: int) -> int:
                """Add.

                Args:
                    a: One.
                    b: The other.
                """
                return a + b

            return execute

        @scorer(metrics=[accuracy()])
        def nothing() -> Any:
            async def score(_state: Any, _target: Any) -> Score:
                return Score(value=float("nan"))

            return score

        def answer(messages: list[Any], *_: Any) -> ModelOutput:
            if "fail" in messages[0].text:
                raise ValueError("no answer\nat all")
            called = messages[-1].role == "tool"
            output = ModelOutput.from_content("mockllm", f"{messages[0].text} It is {messages[-1].text}.")
            if not called:
                output = ModelOutput.for_tool_call("mockllm", "add", {"a": 2, "b": 3}, content="Let me see.")
            output.usage = ModelUsage()  # else it is counted, with a table from the network
            return output

        samples = [Sample(f"Sum {id_}?", id=id_, target="5") for id_ in ids]
        task = Task(samples, solver=[use_tools(add()), generate()], scorer=nothing())
        with of_inspect():
            (log,) = eval(
                task,
                model=get_model("mockllm/small", custom_outputs=answer),
                log_dir=str(tmp_path / "logs"),
                log_format=log_format,
                display="none",
                **options,
            )
        assert log.status == "success", log.error
        return Path(log.location.removeprefix("file://"))

    return run


@pytest.mark.heavy
@pytest.mark.parametrize("log_format", ["eval", mark_slow("json")])
def test_a_real_log_gives_what_inspect_reads_in_it(log_format: str, logged: Logged) -> None:
    from inspect_ai.log import read_eval_log

    path = logged(log_format, ("q1", 7, "a/b ü", "fail"), fail_on_error=False)
    (path := path.rename(path.with_name("a log by any name"))).touch()
    with of_inspect():
        log = read_eval_log(str(path), format=log_format)  # type: ignore[arg-type]
    found = {entry.id: entry for entry in read_outputs(path)}
    left = found.pop("fail")
    assert isinstance(left, MissingOutput)
    assert left.reason.startswith("ValueError('no answer")
    samples = [sample for sample in log.samples or () if not sample.error]
    assert {id_: entry.output.text for id_, entry in found.items() if isinstance(entry, StoredOutput)} == {
        str(sample.id): sample.output.completion for sample in samples
    }
    for entry in found.values():
        assert isinstance(entry, StoredOutput)
        assert entry.output._replace(measures=NO_MEASURES) == Output(
            f"Sum {entry.id}? It is 5.", ({"name": "add", "args": {"a": 2, "b": 3}},)
        )
        assert entry.model == log.eval.model == "mockllm/small"
    assert find_samples(path) == path


@pytest.mark.heavy
@pytest.mark.parametrize("log_format", ["eval", mark_slow("json")])
def test_epochs_are_samples_of_which_one_can_be_chosen(log_format: str, logged: Logged) -> None:
    path = logged(log_format, epochs=3)
    found = [output for output in read_outputs(path) if isinstance(output, StoredOutput)]
    assert sorted((output.id, output.sample) for output in found) == [
        (id_, sample) for id_ in sorted({output.id for output in found}) for sample in range(3)
    ]
    assert len(found) == 9
    assert len(list(read_outputs(path, SeriesFilter({"epoch": "2"})))) == 3
    with pytest.raises(RefusedError, match="holds no output of epoch '4'"):
        list(read_outputs(path, SeriesFilter({"epoch": "4"})))


@pytest.mark.heavy
def test_a_log_that_was_not_finished_gives_what_it_has(logged: Logged, tmp_path: Path) -> None:
    whole, cut = logged("eval"), tmp_path / "cut.eval"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(cut, "w") as new:
        for member in old.infolist():
            if member.filename not in {"header.json", "summaries.json"}:
                new.writestr(member.filename, old.read(member), zipfile.ZIP_DEFLATED)
    assert list(read_outputs(cut)) == list(read_outputs(whole))


@pytest.mark.process
def test_reading_lines_a_json_log_or_help_loads_nothing_of_inspect(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from evalstore.runs import read_outputs
from tests.runs.conftest import find_unread
for path in sys.argv[1:]:
    assert list(read_outputs(Path(path)))
import evalstore.cli.score, evalstore.scoring
assert not {"inspect_ai", "pydantic"} & set(sys.modules), "loaded"
"""
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"id": "a", "output": "x"}\n')
    files = [lines, CASES / "inspect-2.json", CASES / "promptfoo-2.json"]
    subprocess.run([sys.executable, "-c", code, *map(str, files)], check=True)


USED = Measures(input_tokens=Decimal(8), output_tokens=Decimal(4))
SEAT = "Which city is the seat of the Swiss government?"


def test_an_older_log_is_read_without_its_scores() -> None:
    calls = ({"name": "palette", "args": {"size": 1.5, "deep": {"of": [None]}}},)
    assert list(read_outputs(CASES / "inspect-2.json")) == [
        StoredOutput("seat", Output("Zurich.\nSure.", (), measures=USED), 23, "openai/small", asked=(SEAT,)),
        StoredOutput("7", Output("Red.", calls), 43, "openai/small", asked=("Name a colour.",)),
        MissingOutput("sum", 62, "TimeoutError('no answer')", ("Add 2 and 3.",)),
    ]


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        ({"steps": [{"solver": "generate", "params": {}}]}, None),
        ({"steps": [{"solver": "use_tools", "params": {}}]}, ()),
        ({"steps": [{"solver": "react", "params": {"tools": [{"name": "add"}]}}]}, ()),
    ],
)
def test_a_log_without_any_tool_has_no_record_of_calls(plan: Any, calls: Any, log: Callable[..., Path]) -> None:
    """What a model said of `"tool_calls": [{` is no mention of a call."""
    (found,) = read_outputs(log({"output": {"choices": [{}], "completion": '"tool_calls": [{'}}, plan=plan))
    assert isinstance(found, StoredOutput)
    assert found.output.tool_calls == calls


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Write a log with one sample, changed as given."""
    path = tmp_path / "log.json"

    def write(sample: Any = None, **changes: Any) -> Path:
        document = json.loads((CASES / "inspect-2.json").read_text("utf-8"))
        document["samples"] = [{**document["samples"][0], **(sample or {})}]
        path.write_text(json.dumps({**document, **changes}), encoding="utf-8")
        return path

    return write


SAID = {"role": "assistant", "source": "generate"}


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"output": {"choices": [{}], "completion": "told"}}, Output("told")),
        ({"output": {"choices": [{"message": {"content": ""}}]}}, Output("")),
        ({"output": {}}, Output("Zurich.\nSure.")),
        (
            {"output": {"choices": [{}], "completion": "a", "time": 1.25, "usage": {"input_tokens": 3, "total_cost": 0.02}}},
            Output("a", measures=Measures(Decimal(1250), Decimal("0.02"), Decimal(3))),
        ),
        ({"output": {}, "messages": [{**SAID, "content": "a"}, {**SAID, "content": [{"type": "image"}]}]}, Output("")),
        ({"output": {}, "messages": [{"role": "assistant", "source": "input", "content": "example"}]}, "the model said nothing"),
        ({"output": None, "messages": None}, "the model said nothing"),
        ({"output": {"choices": [{}], "completion": "x"}, "messages": []}, Output("x")),
        ({"error": {"message": ""}}, "it ended in an error"),
        ({"error": {"message": "\x1b[31m" + "x" * 200}}, "\\x1b[31m" + "x" * 74 + "…"),
        ({"invalidation": {"author": "Ada"}}, "it was marked invalid"),
        ({"messages": [{**SAID, "tool_calls": [{"function": "f", "arguments": None}]}]}, Output("Zurich.\nSure.", ({"name": "f", "args": {"arguments": None}},), measures=USED)),
    ],
)  # fmt: skip
def test_what_a_sample_answers(change: dict[str, Any], answer: Output | str, log: Callable[..., Path]) -> None:
    (found,) = read_outputs(log(change))
    assert (found.reason if isinstance(found, MissingOutput) else found.output) == answer


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": None}, "the `id` or the `epoch` of this sample has another shape"),
        ({"id": True}, "the `id`"),
        ({"epoch": 1.5}, "the `epoch`"),
        ({"messages": "x"}, "the `messages` of this sample"),
        ({"messages": [1]}, "the `messages` of this sample"),
        ({"messages": [{**SAID, "content": None}], "output": {}}, "the `content` of a message"),
        ({"messages": [{**SAID, "content": [{"type": "text", "text": 7}]}], "output": {}}, "the `content` of a message"),
        ({"messages": [{**SAID, "tool_calls": {}, "content": ""}]}, None),
        ({"messages": [{**SAID, "tool_calls": "f"}]}, "the `tool_calls` of a message"),
        ({"messages": [{**SAID, "tool_calls": ["f"]}]}, "a call in the `tool_calls`"),
        ({"messages": [{**SAID, "tool_calls": [{"function": {}}]}]}, "a call in the `tool_calls`"),
        ({"messages": [{**SAID, "tool_calls": [{"function": "f", "arguments": {"x": float("nan")}}]}]}, "NaN is not JSON"),
        ({"output": {"choices": {"a": 1}}}, "the `output` of this sample"),
        ({"output": {"choices": [1]}}, "the `content`"),
        ({"output": {"choices": [{}], "completion": 7}}, "the `output` of this sample"),
    ],
)  # fmt: skip
def test_a_sample_of_another_shape_is_one_sentence_with_its_line(
    change: dict[str, Any], sentence: str | None, log: Callable[..., Path]
) -> None:
    path = log(change)
    if sentence is None:
        assert len(list(read_outputs(path))) == 1
        return
    found = find_unread(path)
    assert sentence in found.reason
    assert found.line == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 3}, "has version 3, but evalstore reads 1 to 2"),
        ({"version": "2"}, "has version '2'"),
        ({"version": [2]}, r"has version \[2\]"),
    ],
)
def test_a_log_of_another_version_is_refused(change: dict[str, Any], sentence: str, log: Callable[..., Path]) -> None:
    with pytest.raises(LoadError, match=sentence):
        list(read_outputs(log(**change)))


@pytest.mark.parametrize("change", [{"samples": None}, {"samples": []}, {"samples": {}}])
def test_a_log_without_samples_holds_nothing(change: dict[str, Any], log: Callable[..., Path]) -> None:
    assert list(read_outputs(log(**change))) == []


def test_a_log_with_sorted_keys_is_one_too(log: Callable[..., Path]) -> None:
    path = log()
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), sort_keys=True, indent=1), encoding="utf-8")
    (found,) = read_outputs(path)
    assert (found.id, getattr(found, "model", None)) == ("seat", "openai/small")


def test_a_cut_off_log_says_where_it_ends(log: Callable[..., Path]) -> None:
    path = log()
    whole = path.read_bytes()
    for size in range(len(whole) // 3, len(whole) - 1, 97):
        path.write_bytes(whole[:size])
        with pytest.raises(LoadError, match=r"not JSON|no shape") as raised:
            list(read_outputs(path))
        assert raised.value.place is not None
        assert raised.value.place.file == str(path)
