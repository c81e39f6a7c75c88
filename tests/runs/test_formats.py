"""The one table of formats: what each file is, what every command says of it, and that each printed step runs.

The small files have the shapes that promptfoo 0.121.20, inspect_ai 0.3.285, agentv 4.42.4, deepeval 4.3.1 and
lm_eval 0.4.13 wrote when they were run.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalstore.documents import write_yaml
from evalstore.errors import LoadError
from evalstore.model import Verdict
from evalstore.model.measures import Measures
from evalstore.runs import MissingOutput, StoredOutput, read_outputs
from evalstore.runs.formats import FORMATS, detect_format, find_format
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.packed import zstd
from evalstore.runs.records import open_record
from evalstore.runs.values import SeriesMean

Cli = Callable[..., Any]
HALF = Fraction(1, 2)


def to_lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def to_csv(*rows: list[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def to_archive(header: dict[str, Any], *samples: dict[str, Any]) -> bytes:
    """An archive as Inspect AI writes it, but deflated: Python 3.11 writes no Zstandard into archives."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for sample in samples:
            file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        file.writestr("header.json", json.dumps(header))
    return data.getvalue()


def promptfoo(id_: str, output: str, *passed: bool) -> dict[str, Any]:
    parts = [
        {"pass": one, "score": int(one), "reason": "said", "assertion": {"type": "contains", "value": word}}
        for one, word in zip(passed, ("river", "lake"), strict=True)
    ]
    said = {"pass": all(passed), "score": sum(passed) / len(passed), "componentResults": parts}
    return {
        "provider": {"id": "echo"}, "prompt": {"raw": f"Say {id_}", "label": "Say"}, "promptIdx": 0, "testIdx": 0,
        "vars": {"word": id_}, "testCase": {"metadata": {"id": id_}}, "response": {"output": output},
        "success": all(passed), "score": said["score"], "gradingResult": said, "failureReason": 0, "namedScores": {},
    }  # fmt: skip


def inspect_sample(id_: str, output: str, *values: str) -> dict[str, Any]:
    scores = {name: {"value": value} for name, value in zip(("match", "includes"), values, strict=True)}
    return {
        "id": id_, "epoch": 1, "input": f"Say {id_}", "target": "Elbe", "scores": scores,
        "output": {"choices": [{"message": {"role": "assistant", "content": output}}], "completion": output},
    }  # fmt: skip


def agentv(id_: str, output: Any, *scores: int) -> dict[str, Any]:
    graders = [
        {"name": name, "type": "contains", "score": score, "verdict": "pass" if score else "fail", "assertions": []}
        for name, score in zip(("river", "lake"), scores, strict=True)
    ]
    return {
        "timestamp": "2026-01-01T00:00:00Z", "test_id": id_, "score": sum(scores) / 2, "target": "m", "scores": graders,
        "output": output, "execution_status": "ok" if all(scores) else "quality_failure",
    }  # fmt: skip


def lm_eval(id_: int, output: str, match: float) -> dict[str, Any]:
    return {
        "doc_id": id_, "doc": {"q": "?"}, "target": "Elbe", "resps": [[output]], "filtered_resps": [output],
        "arguments": {"gen_args_0": {"arg_0": f"Say {id_}", "arg_1": {"until": []}}}, "filter": "none",
        "metrics": ["exact_match"], "exact_match": match,
    }  # fmt: skip


def deepeval(name: str, output: str, *passed: bool) -> dict[str, Any]:
    metrics = [
        {"name": metric, "score": float(one), "success": one, "reason": "said", "threshold": 0.5}
        for metric, one in zip(("Match", "Tone"), passed, strict=True)
    ]
    return {
        "name": name, "input": "Say", "actualOutput": output, "expectedOutput": "Elbe", "success": all(passed),
        "metricsData": metrics,
    }  # fmt: skip


def event(number: int, sample: str, type_: str, **data: Any) -> dict[str, Any]:
    return {"run_id": "r", "event_id": number, "sample_id": sample, "type": type_, "data": data}


def graded(*passed: bool, key: str = "expectations", **more: Any) -> dict[str, Any]:
    return {key: [{"text": text, "passed": one} for text, one in zip(("s1", "s2"), passed, strict=True)], **more}


def response(id_: str, output: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": output}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    return {"id": f"b{id_}", "custom_id": id_, "response": {"status_code": 200, "body": body}, "error": None}


def request(id_: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Say {id_}"}]
    return {"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages}}


def hosted_item(id_: str, output: str, *passed: bool) -> dict[str, Any]:
    results = [{"name": name, "passed": one, "score": int(one)} for name, one in zip("rl", passed, strict=True)]
    sample = {"model": "m", "input": [{"role": "user", "content": f"Say {id_}"}], "error": None}
    answer = {"output": [{"role": "assistant", "content": output}]}
    return {
        "object": "eval.run.output_item", "datasource_item_id": id_, "datasource_item": {"word": id_},
        "sample": sample | answer, "results": results, "status": "pass" if all(passed) else "fail",
    }  # fmt: skip


def waza(id_: str, output: str, *scores: int) -> dict[str, Any]:
    graders = {
        name: {
            "identifier": name,
            "type": "text",
            "score": score,
            "weight": 1,
            "passed": bool(score),
            "feedback": "said",
        }
        for name, score in zip(("river", "lake"), scores, strict=True)
    }
    status = "passed" if all(scores) else "failed"
    run = {"run_number": 1, "status": status, "validations": graders, "session_digest": {}, "final_output": output}
    return {"test_id": id_, "display_name": id_, "status": status, "runs": [run]}


def exported_item(index: int, output: str, *passed: bool) -> dict[str, Any]:
    """A row that the dashboard exported; its grades are on the graders' own scales."""
    grades = {"r": 1.0, "l": 6.5 if passed[1] else 2}
    return {
        "run_id": "evalrun_1", "data_source_idx": index, "item": {"input": f"Say {index}"}, "grades": grades,
        "passes": dict(zip("rl", passed, strict=True)), "sample": {"outputs": [{"role": "assistant", "content": output}]},
    }  # fmt: skip


A, B = "a river and a lake", "a river"
SPEC = {"spec": {"eval_name": "rivers.dev", "completion_fns": ["m"], "created_at": "2026"}}
EVALS_LOG = (
    SPEC,
    event(0, "a", "sampling", prompt=[{"role": "user", "content": "Say a"}], sampled=[A]),
    event(1, "b", "sampling", prompt=[{"role": "user", "content": "Say b"}], sampled=[B]),
    event(2, "a", "match", correct=True, expected="Elbe", picked="Elbe"),
    event(3, "b", "match", correct=False, expected="Elbe", picked=None),
    {"final_report": {"accuracy": 0.5}},
)
TEXTS = [{"role": "user", "content": "Say a"}, {"role": "assistant", "content": A}]
RESULTS = [promptfoo("a", A, True, True), promptfoo("b", B, True, False)]
SAMPLES = [inspect_sample("a", A, "C", "C"), inspect_sample("b", B, "C", "I")]
HEADER = {"version": 2, "status": "success", "eval": {"model": "m", "task": "rivers"}}
HEADS = ["word", "id", "[echo] Say", "Status", "Score", "Named Scores", "Grader Reason", "Comment"]
RAGAS = ["", "user_input", "response", "reference", "faithfulness", "answer_relevancy"]
MLFLOW = ["inputs", "outputs", "targets", "match/v1/score", "match/v1/justification"]
CASES = [deepeval("a", A, True, True), deepeval("b", B, True, False)]


class Example(NamedTuple):
    """A file: its name, what it holds, the tool of its format, the scores of its rows, and its ids."""

    name: str
    data: bytes
    tool: str
    scores: tuple[Fraction | int | None, ...] = (1, HALF)
    ids: tuple[str, ...] = ("a", "b")


EXAMPLES = {
    "promptfoo json": Example(
        "r.json", json.dumps({"evalId": "e", "results": {"version": 3, "results": RESULTS}}).encode(), "promptfoo"
    ),
    "promptfoo jsonl": Example("r.jsonl", to_lines(*RESULTS), "promptfoo"),
    "promptfoo yaml": Example(
        "r.yaml", write_yaml({"evalId": "e", "results": {"version": 3, "results": RESULTS}}).encode(), "promptfoo"
    ),
    "promptfoo csv": Example(
        "r.csv",
        to_csv(HEADS, ["x", "a", A, "PASS", "1.00", "", "ok", ""], ["x", "b", B, "FAIL", "0.50", "", "no", ""]),
        "promptfoo",
    ),
    "promptfoo older csv": Example(
        "r.csv",
        to_csv(
            ["id", '{"raw":"Say","display":"Say it","provider":"echo"}', "word"],
            ["a", "[PASS] (1.00)\n\nA river", "x"],
            ["b", "[FAIL] (0.50)\n\nno\n---\nA river", "x"],
        ),
        "promptfoo",
    ),
    "promptfoo table with verdicts in its cells": Example(
        "r.csv",
        to_csv(["word", "[openai:m] Say"], ["x", "[PASS] A river"], ["y", "[FAIL] (0.50) no"]),
        "promptfoo",
        ids=("0", "1"),
    ),
    "hosted eval": Example(
        "items.json",
        json.dumps(
            {"object": "list", "data": [hosted_item("a", A, True, True), hosted_item("b", B, True, False)]}
        ).encode(),
        "OpenAI hosted evals",
    ),
    "hosted items in lines": Example(
        "items.jsonl",
        to_lines(hosted_item("a", A, True, True), hosted_item("b", B, True, False)),
        "OpenAI hosted evals",
    ),
    "hosted items of the dashboard": Example(
        "eval_items_1.jsonl",
        to_lines(exported_item(0, A, True, True), exported_item(1, B, True, False)),
        "OpenAI hosted evals",
        ids=("0", "1"),
    ),
    "inspect eval": Example("l.eval", to_archive(HEADER, *SAMPLES), "Inspect AI"),
    "inspect json": Example("l.json", json.dumps(HEADER | {"samples": SAMPLES}).encode(), "Inspect AI"),
    "skill-creator benchmark": Example(
        "benchmark.json",
        json.dumps(
            {"runs": [graded(True, True, eval_id="a"), graded(True, False, eval_id="b")], "run_summary": {}}
        ).encode(),
        "skill-creator",
    ),
    "agentv": Example("index.jsonl", to_lines(agentv("a", TEXTS, 1, 1), agentv("b", B, 1, 0)), "AgentV"),
    "lm_eval": Example(
        "samples_t.jsonl", to_lines(lm_eval(0, A, 1.0), lm_eval(1, B, 0.0)), "lm-evaluation-harness", (1, 0), ("0", "1")
    ),
    "openai/evals": Example("log.jsonl", to_lines(*EVALS_LOG), "openai/evals", (1, 0)),
    "waza": Example(
        "results.json",
        json.dumps({"eval_name": "rivers", "summary": {}, "tasks": [waza("a", A, 1, 1), waza("b", B, 1, 0)]}).encode(),
        "waza",
    ),
    "deepeval": Example("t.json", json.dumps({"testCases": CASES, "metricsScores": []}).encode(), "DeepEval"),
    "deepeval latest": Example("t.json", json.dumps({"testRunData": {"testCases": CASES}}).encode(), "DeepEval"),
    "deepeval csv": Example(
        "t.csv",
        to_csv(["name", "input", "actual_output", "success"], ["a", "Say", A, "True"], ["b", "Say", B, "False"]),
        "DeepEval",
        (1, 0),
    ),
    "mlflow table": Example(
        "eval_results_table.json",
        json.dumps(
            {"columns": MLFLOW, "data": [["Say 0", A, "Elbe", 1, "said"], ["Say 1", B, "Elbe", 0.5, "said"]]}
        ).encode(),
        "MLflow",
        ids=("0", "1"),
    ),
    "mlflow csv": Example(
        "m.csv",
        to_csv(["id", "request", "response", "correct/value"], ["a", "?", A, "yes"], ["b", "?", B, "no"]),
        "MLflow",
        (1, 0),
    ),
    "ragas csv": Example(
        "g.csv",
        to_csv(RAGAS, ["0", "?", A, "Elbe", "1.0", "1"], ["1", "?", B, "Elbe", "1.0", "0"]),
        "Ragas",
        ids=("0", "1"),
    ),
    "ragas json": Example(
        "g.json",
        json.dumps(
            [
                {"user_input": "?", "response": one, "faithfulness": score}
                for one, score in ((A, 1.0), (B, float("nan")))
            ]
        ).encode(),
        "Ragas",
        (1, None),
        ("0", "1"),
    ),
}
UNGRADED = {
    "batch": Example("both.jsonl", to_lines(request("a"), response("a", A), response("b", B)), "a batch API"),
    "lines": Example("o.jsonl", to_lines({"id": "a", "output": A}, {"id": "b", "output": B}), ""),
    "array": Example("o.json", json.dumps([{"id": "a", "output": A}, {"id": "b", "output": B}]).encode(), ""),
    "csv": Example("o.csv", to_csv(["id", "output"], ["a", A], ["b", B]), ""),
    "csv with a mark": Example("o.csv", b"\xef\xbb\xbf" + to_csv(["id", "output"], ["a", A], ["b", B]), ""),
    "conversations": Example(
        "c.jsonl", to_lines({"id": "a", "messages": TEXTS}, {"id": "b", "messages": [{"role": "assistant", "content": B}]}), ""
    ),
}  # fmt: skip


@pytest.fixture
def put(tmp_path: Path) -> Callable[[Example], Path]:
    def write(example: Example) -> Path:
        path = tmp_path / example.name
        path.write_bytes(example.data)
        return path

    return write


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gz", "zst"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_tool_recorded_is_read_packed_or_not(
    name: str, pack: Callable[[bytes], bytes], put: Callable[[Example], Path]
) -> None:
    example = EXAMPLES[name]
    if pack is not bytes and example.name.endswith(".eval"):
        pytest.skip("an archive is packed already")
    path = put(example._replace(data=pack(example.data)))
    assert detect_format(path).tool == example.tool
    run, rows = open_record(path, SeriesFilter())
    found = [one.row for one in rows]
    assert [(row.id, row.score) for row in found] == [*zip(example.ids, example.scores, strict=True)]
    assert [row.verdict for row in found] == [
        Verdict.UNSCORED if score is None else Verdict.PASS if score == 1 else Verdict.FAIL for score in example.scores
    ]
    known = [score for score in example.scores if score is not None]
    assert run.score == Fraction(sum(map(Fraction, known)), len(known))
    outputs = list(read_outputs(path))
    if detect_format(path).has_outputs:
        assert [getattr(one, "output", None) and one.output.text for one in outputs] == [A, B]
    else:
        assert all(isinstance(one, MissingOutput) for one in outputs)


@pytest.mark.parametrize("name", UNGRADED)
def test_outputs_without_verdicts_are_read_and_show_says_what_grades_them(
    name: str, put: Callable[[Example], Path], cli: Cli
) -> None:
    path = put(UNGRADED[name])
    assert [(one.id, one.output.text) for one in read_outputs(path) if not isinstance(one, MissingOutput)] == [
        ("a", A), ("b", B)
    ]  # fmt: skip
    ran = cli("show", path)
    assert (ran.code, ran.out) == (3, "")
    assert f"hint: evalstore score DATASET {path}" in ran.err


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_gives_the_same_answer(
    name: str, put: Callable[[Example], Path], cli: Cli, tmp_path: Path
) -> None:
    path = put(EXAMPLES[name])
    shape = detect_format(path)
    shown = cli("show", path)
    assert (shown.code, shown.err) == (0, "")
    assert "Traceback" not in shown.out
    assert "and 50.00 %" in shown.out or "and 100.00 %" in shown.out
    compared = cli("audit", path, path)
    assert compared.code == 0, compared.err
    assert "The score did not move on" in compared.out
    assert "compared as recorded: " in compared.out
    checked = cli("validate", path)
    assert checked.code == 1
    if shape.migrates:  # its items are the rows of a dataset, too
        assert "`migrate` knows it as openai_evals" in re.sub(r"\s+", " ", checked.out)
        return
    migrated = cli("migrate", path, "--into", tmp_path / "store")
    for ran in (checked, migrated):
        assert f"it holds {shape.name}" in re.sub(r"\s+", " ", ran.out), ran.out
        assert "evalstore show" in ran.out
    assert not (tmp_path / "store").exists()


DATASET = """\
id: d
version: "1.0.0"
defaults: {rubric_ref: rubric/r@worktree}
questions:
  - {id: "a", input: Say a}
  - {id: "b", input: Say b}
  - {id: "0", input: Say 0}
  - {id: "1", input: Say 1}
"""
RUBRIC = """\
id: r
version: "1.0.0"
checks: [{id: lake, kind: must_contain_any, values: [lake]}]
scoring: {combine: all_pass}
"""


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    git()
    root = tmp_path / "repo"
    for folder, name, text in (("datasets", "d", DATASET), ("rubrics", "r", RUBRIC)):
        (root / folder).mkdir()
        (root / folder / f"{name}.yaml").write_text(text)
    return root


@pytest.mark.parametrize("name", EXAMPLES | UNGRADED)
def test_each_step_that_a_format_names_runs(
    name: str, put: Callable[[Example], Path], store: Path, cli: Cli, tmp_path: Path
) -> None:
    path = put((EXAMPLES | UNGRADED)[name])
    steps = detect_format(path).list_steps(str(path))
    assert steps
    for step in steps:
        words = [word.replace("DATASET", "dataset/d@worktree") for word in shlex.split(step)[1:]]
        more = ["--out", tmp_path / "runs", "--worktree=all"] if words[0] == "score" else []
        ran = cli("-C", store, *words, *more)
        assert ran.code == 0, (step, ran.err)
        if words[0] == "score":
            assert "50.00" in ran.out


ODD = {
    "other names": ("o.jsonl", b'{"question_id": "a", "response": "x"}\n'),
    "an array of other names": ("o.json", b'[{"question_id": "a", "response": "x"}]'),
    "no ids": ("o.jsonl", b'{"messages": [{"role": "assistant", "content": "x"}]}\n'),
    "UTF-16": ("o.jsonl", '{"id": "a", "output": "x"}\n'.encode("utf-16")),
}


@pytest.mark.process
@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("iconv")), reason="the hints are for jq and iconv")
@pytest.mark.parametrize("name", ODD)
def test_a_hint_of_a_conversion_runs_and_its_result_is_read(name: str, tmp_path: Path) -> None:
    file, data = ODD[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(LoadError) as raised:
        detect_format(tmp_path / file)
    command = str(raised.value.hint).partition(": ")[2]
    made = tmp_path / command.rpartition(" > ")[2]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)  # our own words
    (found,) = read_outputs(made)
    assert not isinstance(found, MissingOutput)
    assert found.output.text == "x"


def test_every_row_of_the_table_is_some_file() -> None:
    named = {one.tool for one in FORMATS if one.tool and one.read_entries}
    assert named == {one.tool for one in (*EXAMPLES.values(), *UNGRADED.values()) if one.tool} | {"Every Eval Ever"}


@pytest.mark.parametrize(
    ("key", "summed"),
    [(key, more) for key in ("expectations", "assertions", "assertion_results") for more in (True, False)],
)
def test_a_grading_is_read_however_its_grader_calls_the_list(tmp_path: Path, key: str, *, summed: bool) -> None:
    path = tmp_path / "grading.json"
    summary = {"summary": {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}} if summed else {}
    path.write_text(json.dumps(graded(True, False, key=key) | summary))
    run, rows = open_record(path, None)
    (row,) = [one.row for one in rows]
    assert (run.score, row.score, [check.id for check in row.checks]) == (HALF, HALF, ["s1", "s2"])


@pytest.mark.parametrize(
    "configurations",
    [
        {"with_skill": {"pass_rate": 1.0}, "without_skill": {"pass_rate": 0.5}},
        [{"name": "with_skill", "runs": [graded(True, True, eval_id=1)]},
         {"name": "without_skill", "runs": [graded(True, False, eval_id=1)]}],
    ],
)  # fmt: skip
def test_each_configuration_has_a_mean_and_all_have_none(tmp_path: Path, cli: Cli, configurations: Any) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"metadata": {}, "configurations": configurations}))
    shown = cli("show", path)
    assert "with_skill: 100.00 over 1 question, 50.00 points above without_skill." in shown.out
    assert "without_skill: 50.00 over 1 question." in shown.out
    assert "The mean score" not in shown.out
    one = cli("show", path, "--only", "configuration=without_skill")
    assert "The mean score is 50.00" in one.out
    assert cli("audit", path, path).code == 0
    compared = cli("audit", path, path, "--only", "configuration=with_skill")
    assert "on 1 pair of recorded answers" in compared.out


def test_an_aggregate_that_contradicts_its_rows_is_a_note(tmp_path: Path, cli: Cli) -> None:
    run = graded(True, True, eval_id="a", configuration="with_skill", result={"pass_rate": 0.5})
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"runs": [run], "run_summary": {"with_skill": {"pass_rate": {"mean": 0.75}}}}))
    out = cli("show", path).out
    assert "note: a: 50.00, its checks give 100.00" in out
    assert "note: its run_summary of with_skill says 75.00, its rows give 100.00" in out


def test_a_log_that_was_cancelled_says_so(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "l.eval"
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 0.25}}}]
    path.write_bytes(to_archive(HEADER | {"status": "cancelled", "results": {"scores": scores}}, *SAMPLES))
    out = cli("show", path).out
    assert "The log is incomplete (cancelled)." in out
    assert "note: its accuracy of match says 25.00, its rows give 100.00" in out


CALLS = [{"role": "assistant", "content": "", "tool_calls": [{"tool": "read", "input": {"path": "a"}}]}]


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "read", "arguments": '{"path": "a"}'}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "name": "read", "input": {"path": "a"}}]},
        {"type": "ai", "content": "", "tool_calls": [{"name": "read", "args": {"path": "a"}}]},
        CALLS[0],
    ],
    ids=["OpenAI", "Anthropic", "LangChain", "AgentV"],
)
def test_calls_are_read_in_the_words_of_each_api(message: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    last = {"role": "assistant", "content": "done"}
    spent = {"duration_ms": 1500.5, "cost_usd": 0.01, "token_usage": {"input": 9, "output": 2, "cached": 1}}
    path.write_bytes(to_lines(agentv("a", [TEXTS[0], message, last], 1, 1) | spent))
    (found,) = read_outputs(path)
    assert not isinstance(found, MissingOutput)
    assert (found.output.text, found.output.tool_calls) == ("done", ({"name": "read", "args": {"path": "a"}},))
    assert found.output.measures == Measures(Decimal("1500.5"), Decimal("0.01"), Decimal(9), Decimal(2))


def test_the_answer_of_agentv_may_lie_beside_its_index_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "run/q").mkdir(parents=True)
    (tmp_path / "run/q/answer.md").write_text(A)
    (tmp_path / "secret.md").write_text("secret")
    rows = [
        agentv(id_, None, 1, 1) | {"output_path": path} for id_, path in (("a", "q/answer.md"), ("b", "../secret.md"))
    ]
    path = tmp_path / "run/index.jsonl"
    path.write_bytes(to_lines(*({key: row[key] for key in row if key != "output"} for row in rows)))
    first, second = read_outputs(path)
    assert not isinstance(first, MissingOutput)
    assert (first.output.text, isinstance(second, MissingOutput)) == (A, True)


BAD = {
    "a lone surrogate": ("response", {"output": "\ud800"}, "surrogate"),
    "NaN in the output": ("response", {"output": float("nan")}, "NaN is not JSON"),
    "a call without a name": ("response", {"output": "x", "metadata": {"toolCalls": [{"input": 1}]}}, "a call in"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("file", ["r.json", "r.jsonl"])
def test_one_bad_row_is_one_bad_row(name: str, file: str, tmp_path: Path) -> None:
    key, value, sentence = BAD[name]
    rows = [RESULTS[0], RESULTS[1] | {key: value}, promptfoo("c", A, True, True)]
    path = tmp_path / file
    path.write_bytes(to_lines(*rows) if file.endswith("l") else json.dumps({"results": rows}, indent=1).encode())
    first, bad, last = read_outputs(path)
    assert (first.id, last.id) == ("a", "c")
    assert isinstance(bad, MissingOutput)
    assert sentence in bad.reason
    assert re.match(r"line \d+ cannot be read: ", bad.reason)
    run, rows_ = open_record(path, SeriesFilter())
    assert ([one.row.id for one in rows_], run.unread_rows, run.score) == (["a", "c"], 1, 1)


@pytest.mark.parametrize("file", ["r.json", "r.jsonl"])
def test_nan_where_no_output_is_matters_to_nobody(file: str, tmp_path: Path) -> None:
    row = RESULTS[1] | {"score": float("nan"), "latencyMs": float("inf"), "gradingResult": None}
    path = tmp_path / file
    rows = [RESULTS[0], row]
    path.write_bytes(to_lines(*rows) if file.endswith("l") else json.dumps({"results": rows}).encode())
    assert [getattr(one, "output", None) is not None for one in read_outputs(path)] == [True, True]
    assert [one.row.score for one in open_record(path, SeriesFilter())[1]] == [1, 0]


@pytest.mark.parametrize("has_more", [True, False])
def test_a_page_of_a_longer_list_is_not_the_whole_run(has_more: bool, tmp_path: Path, cli: Cli) -> None:  # noqa: FBT001
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"object": "list", "data": [hosted_item("a", A, True, True)], "has_more": has_more}))
    assert ("The log is incomplete (has_more)." in cli("show", path).out) is has_more


NAN = float("nan")


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("g.csv", to_csv(RAGAS, ["0", "?", A, "", "1.0", "1"], ["1", "?", B, "", "", "0"], ["2", "?", B, "", "inf", "nan"])),
        ("g.json", json.dumps([
            {"user_input": "?", "response": A, "faithfulness": 1.0, "own": 1},
            {"user_input": "?", "response": B, "own": 0},
            {"user_input": "?", "response": B, "faithfulness": NAN, "own": NAN, "note": "text"},
        ]).encode()),
        ("m.csv", to_csv(
            ["response", "a/value", "b/value"], [A, "yes", "1"], [B, "", "0"], [B, "", ""]
        )),
    ],
)  # fmt: skip
def test_a_metric_that_gave_no_number_is_unscored_and_not_absent(file: str, data: bytes, tmp_path: Path) -> None:
    """pandas writes it as an empty cell of CSV and as NaN of JSON: the rest may not pass for the whole."""
    path = tmp_path / file
    path.write_bytes(data)
    run, rows = open_record(path, None)
    verdicts = [[check.verdict.value for check in one.row.checks] for one in rows]
    assert verdicts == [["pass", "pass"], ["unscored", "fail"], ["unscored", "unscored"]]
    assert (run.coverage.graded, run.coverage.asked) == (3, 6)


def test_only_a_first_column_without_a_name_is_an_index(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    for columns, rows, ids in (
        (["", "response", "a/value"], [["7", A, "1"], ["8", B, "0"]], ["7", "8"]),
        (["response", "a/value", ""], [[A, "1", "odd"], [B, "0", ""]], ["0", "1"]),
    ):
        path.write_bytes(to_csv(columns, *rows))
        assert [one.id for one in read_outputs(path)] == ids


def test_two_columns_of_one_name_are_read_where_they_agree(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(b"id,output,output\na,x,x\nb,x,y\nc,,z\n")
    same, other, one = read_outputs(path)
    assert isinstance(other, MissingOutput)
    assert other.reason == "line 3 cannot be read: it has two values in columns called 'output'"
    assert [found.output.text for found in (same, one) if isinstance(found, StoredOutput)] == ["x", "z"]


def test_a_broken_record_of_a_table_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(b"id,output\na,x\nb,\xff\nc,x,y\nd,z\n")
    found = list(read_outputs(path))
    assert [one.reason for one in found if isinstance(one, MissingOutput)] == [
        "line 3 cannot be read: it is not UTF-8",
        "line 4 cannot be read: it has more values than the table has columns",
    ]
    assert [one.id for one in found if not isinstance(one, MissingOutput)] == ["a", "d"]


def test_a_packed_file_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 25)))
    with pytest.raises(LoadError, match="unpacks to more than"):
        list(read_outputs(path))


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "o.jsonl.gz"
    path.write_bytes(pack(to_lines(*({"id": str(n), "output": "x" * n} for n in range(99))))[:-9])
    with pytest.raises(LoadError, match="cannot be unpacked"):
        list(read_outputs(path))


def test_a_choice_among_one_text_of_several_choices_is_the_likeliest(tmp_path: Path) -> None:
    row = lm_eval(0, "", 1.0) | {
        "resps": [[["-3.5", "False"]], [["-0.5", "True"]]], "filtered_resps": [["-3.5", "False"], ["-0.5", "True"]],
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " Rhine"}, "gen_args_1": {"arg_0": "Q", "arg_1": " Elbe"}},
        "metrics": ["acc"], "acc": 1.0, "filter": "strict",
    }  # fmt: skip
    path = tmp_path / "samples.jsonl"
    path.write_bytes(to_lines(row, row | {"filter": "flexible", "acc": 0.0}))
    assert [one.output.text for one in read_outputs(path, SeriesFilter({"configuration": "strict"}))] == [" Elbe"]
    assert open_record(path, None)[0].series == (
        SeriesMean("strict", Fraction(1), 1, is_baseline=True, only={"configuration": "strict"}),
        SeriesMean("flexible", Fraction(0), 1, Fraction(-1), 1, only={"configuration": "flexible"}),
    )


@pytest.mark.parametrize(
    ("requests", "responses", "wanted"),
    [
        ([("Q", " Elbe")], [["-0.3", "True"]], " Elbe"),  # loglikelihood
        ([("Q", " Elbe")], [["-0.3", "False"]], None),
        ([("", "Elbe")], [["-0.3", "False"]], None),
        ([("A long text",)], ["-0.3"], None),  # loglikelihood_rolling
        (
            [("Q", " a"), ("Q", " b"), ("", " a"), ("", " b")],
            [["-3", "F"], ["-2", "F"], ["-1", "F"], ["-9", "F"]],
            " b",
        ),
        ([("", " a"), ("", " b")], [["-3", "F"], ["-2", "F"]], " b"),
        ([("It is a", " big"), ("It is b", " big")], [["-1", "F"], ["-2", "F"]], "It is a"),  # as WinoGrande has them
        ([("Q", {"until": []})], ["-0.3"], "-0.3"),  # a number that was generated
    ],
)
def test_likelihoods_are_an_answer_where_the_model_has_chosen(
    tmp_path: Path, requests: list[Any], responses: list[Any], wanted: str | None
) -> None:
    arguments = {
        f"gen_args_{number}": {f"arg_{at}": part for at, part in enumerate(one)} for number, one in enumerate(requests)
    }
    row = lm_eval(0, "", 1.0) | {"arguments": arguments, "resps": [[one] for one in responses], "filtered_resps": []}
    path = tmp_path / "samples.jsonl"
    path.write_bytes(to_lines(row))
    (found,) = read_outputs(path)
    assert (None if isinstance(found, MissingOutput) else found.output.text) == wanted
    assert open_record(path, None)[0].score == 1


def test_a_metric_of_deepeval_that_raised_did_not_fail(tmp_path: Path) -> None:
    raised = {"name": "Match", "score": None, "success": False, "error": "RuntimeError: no model"}
    half, none = (deepeval(name, A, False, False) for name in ("half", "none"))
    half["metricsData"][0], none["metricsData"] = raised, [raised]
    path = tmp_path / "test_run_1.json"
    path.write_text(json.dumps({"testCases": [half, none], "metricsScores": []}))
    found = {one.row.id: one.row for one in open_record(path, None)[1]}
    assert [check.verdict for check in found["half"].checks] == [Verdict.UNSCORED, Verdict.FAIL]
    assert (found["half"].score, found["half"].verdict) == (0, Verdict.FAIL)
    assert (found["none"].score, found["none"].verdict) == (None, Verdict.UNSCORED)


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_what_mlflow_expected_is_no_score_and_a_scorer_that_raised_has_none(
    tmp_path: Path, write: Callable[[Any], str]
) -> None:
    said = [
        {"assessment_name": "match", "feedback": {"value": True}},
        {"assessment_name": "tone", "expectation": {"value": "no"}},
        {"assessment_name": "length", "feedback": {"value": None}},
    ]
    row = {
        "trace_id": "tr-1", "match/value": True, "match/rationale": "it's equal", "tone/value": "no",
        "expected_response/value": A, "length/error_message": "boom", "request": {"question": "Say 0", "n": 1},
        "response": A, "assessments": said if write is json.dumps else repr(said),
    }  # fmt: skip
    path = tmp_path / "table.jsonl"
    path.write_bytes(to_lines(row))
    ((found, *_),) = open_record(path, None)[1]
    assert [(check.id, check.verdict, check.reason) for check in found.checks] == [
        ("match", Verdict.PASS, "it's equal"),
        ("length", Verdict.UNSCORED, "boom"),
    ]
    assert (found.score, found.verdict, found.reference) == (1, Verdict.PASS, (A,))
    assert next(iter(read_outputs(path))).asked == ('{"question":"Say 0","n":1}', "Say 0")


def test_cases_without_an_output_are_not_said_to_be_outputs(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(to_lines({"id": "a", "assert": ["greets"], "vars": {"input": "Hi"}}))
    with pytest.raises(LoadError, match="line 1 cannot be read: this line is not an output: it has no `output`"):
        open_record(path, None)


def test_a_batch_joins_requests_and_responses_by_their_id(tmp_path: Path) -> None:
    failed = {"custom_id": "c", "response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}}
    path = tmp_path / "both.jsonl"
    anthropic = {"type": "succeeded", "message": {"content": [{"type": "text", "text": B}], "stop_reason": "end_turn"}}
    path.write_bytes(to_lines(*map(request, "abcd"), response("a", A), failed, {"custom_id": "d", "result": anthropic}))
    found = {one.id: one for one in read_outputs(path)}
    assert {id_: getattr(one, "reason", None) or one.output.text for id_, one in found.items()} == {
        "a": A, "b": "the batch has no response to it", "c": "slow down", "d": B,
    }  # fmt: skip
    assert found["a"].asked[0] == "Say a"


def test_an_unknown_file_fits_no_row_and_commands_say_so_without_a_store(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    assert find_format(path).shape is None
    for argv in (("show", path), ("audit", path, path)):
        ran = cli(*argv, cwd=tmp_path)
        assert (ran.code, "unknown format" in ran.err) == (3, True), ran.err
    path.write_bytes(to_lines(request("a")))  # what was asked for, and no response
    ran = cli("show", path)
    assert (ran.code, "holds no output" in ran.err, "the batch has no response to it" in ran.err) == (3, True, True)
