"""What an output was asked decides which question it answers: never its number, its place or a silence."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.runs import Run, read_rows
from tests.rows import thin

Cli = Callable[..., Any]
Scored = Callable[..., Run]
Release = Callable[..., Path]
FILES = {
    "rubrics/right.yaml": """\
id: right
version: 1.0.0
checks:
  - {id: right, kind: fact_match}
scoring: {combine: min}
""",
    "datasets/capitals.yaml": """\
id: capitals
version: 1.0.0
defaults: {rubric_ref: rubric/right@1.0.0}
questions:
  - {id: "1", input: What is the capital of France?, expected_facts: [Paris]}
  - {id: "2", input: What is the capital of Italy?, expected_facts: [Rome]}
  - {id: "3", input: What is the capital of Spain?, expected_facts: [Madrid]}
""",
}
DATASET = "dataset/capitals@1.0.0"
ASKED = {
    "1": "What is the capital of France?",
    "2": "What is the capital of Italy?",
    "3": "What is the capital of Spain?",
}
RIGHT = {ASKED["1"]: "Paris", ASKED["2"]: "Rome", ASKED["3"]: "Madrid"}
SHUFFLED = {"1": ASKED["2"], "2": ASKED["3"], "3": ASKED["1"]}


def write_lines(path: Path, asked: Mapping[str, str]) -> Path:
    rows = [{"id": id_, "input": text, "output": RIGHT.get(text, "Paris")} for id_, text in asked.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_eee(path: Path, asked: Mapping[str, str]) -> Path:
    rows = [
        {
            "sample_id": id_,
            "schema_version": "0.3.0",
            "input": {"raw": f"Answer in one word. {text}", "reference": []},
            "output": {"raw": [RIGHT.get(text, "Paris")]},
        }
        for id_, text in asked.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_inspect(path: Path, asked: Mapping[str, str], status: str = "success") -> Path:
    log = {"version": 2, "status": status, "eval": {"model": "m"}, "samples": list(_list_samples(asked))}
    path.write_text(json.dumps(log))
    return path


def write_archive(path: Path, asked: Mapping[str, str], status: str = "success") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for sample in _list_samples(asked):
            file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        header = {"version": 2, "eval": {"model": "m"}, "status": status}
        name = "_journal/start.json" if status == "started" else "header.json"
        file.writestr(name, json.dumps(header))
    return path


def _list_samples(asked: Mapping[str, str]) -> Any:
    for id_, text in asked.items():
        message = {"role": "assistant", "content": RIGHT.get(text, "Paris")}
        output = {"choices": [{"message": message}], "completion": message["content"]}
        # Inspect numbers the samples of a dataset without ids from 1, in the order in which they ran.
        yield {"id": int(id_), "epoch": 1, "input": [{"role": "user", "content": text}], "output": output}


def write_promptfoo(path: Path, asked: Mapping[str, str]) -> Path:
    results = [
        {
            "provider": {"id": "m"},
            "prompt": {"raw": json.dumps([{"role": "user", "content": f"Short, please:\n{text}"}]), "label": "chat"},
            "vars": {"question": text},
            "testIdx": int(id_),
            "response": {"output": RIGHT.get(text, "Paris")},
            "success": True,
        }
        for id_, text in asked.items()
    ]
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    return path


def write_parquet(path: Path, asked: Mapping[str, str]) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": id_, "input": text, "output": RIGHT.get(text, "Paris")} for id_, text in asked.items()]
    path = path.with_suffix(".parquet")
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


WRITERS = [write_lines, write_eee, write_inspect, write_archive, write_promptfoo]
PARQUET = pytest.param(write_parquet, marks=pytest.mark.process)
PARQUET_AGAIN = pytest.param(write_parquet, marks=[pytest.mark.process, pytest.mark.slow])  # three seconds


@pytest.fixture
def asked(release: Release, scored: Scored) -> Scored:
    release(FILES)
    return scored


@pytest.mark.parametrize("write", [*thin(WRITERS, 2), PARQUET])
def test_a_file_that_answers_other_questions_is_refused_and_joined_by_what_was_asked(
    write: Callable[..., Path], asked: Scored, tmp_path: Path
) -> None:
    straight = asked(DATASET, write(tmp_path / "straight", ASKED))
    assert (straight.score, straight.scored, straight.asked_otherwise) == (1, 3, 0)
    shuffled = write(tmp_path / "shuffled", SHUFFLED)
    with pytest.raises(RefusedError, match=r"to '1' answers '2': it was asked '.*Italy\?', and .* '1' is '.*France\?'"):
        asked(DATASET, shuffled)
    joined = asked(DATASET, shuffled, matched_by="input")
    assert (joined.score, joined.scored) == (1, 3)
    assert {row.id: row.output.text for row in read_rows(joined)} == {"1": "Paris", "2": "Rome", "3": "Madrid"}
    assert any("joined by what was asked" in note for note in joined.notes)


@pytest.mark.parametrize("write", [*thin(WRITERS, 3), PARQUET_AGAIN])
def test_an_input_that_is_no_question_is_said_counted_and_kept(
    write: Callable[..., Path], asked: Scored, cli: Cli, tmp_path: Path
) -> None:
    run = asked(DATASET, write(tmp_path / "given", {**ASKED, "1": "Which city has the Louvre?"}))
    assert (run.scored, run.asked_otherwise) == (3, 1)
    note = next(note for note in run.notes if "asked something else" in note)
    assert "Louvre?" in note
    assert "the question is 'What is the capital of France?'" in note
    row = next(row for row in read_rows(run) if row.id == "1")
    assert row.input == ASKED["1"]
    assert row.asked is not None
    assert row.asked.endswith("Which city has the Louvre?") or "Louvre?" in row.asked
    shown = json.loads(cli("show", run.path, "--format", "json").out)
    assert shown["asked_otherwise"] == 1
    assert next(one for one in shown["rows"] if one["id"] == "1")["asked"] == row.asked
    assert "1 output was asked something else" in " ".join(cli("show", run.path).out.split())
    again = asked(DATASET, run.path)
    assert again.asked_otherwise == 1


def test_a_longer_question_is_not_taken_for_a_shorter_one_in_it(
    asked: Scored, release: Release, tmp_path: Path
) -> None:
    text = FILES["datasets/capitals.yaml"].replace("id: capitals", "id: sums")
    text = text.replace("What is the capital of France?", "Add 1").replace("What is the capital of Italy?", "Add 10")
    release({"datasets/sums.yaml": text})
    for prompt in ("Add 10", "Answer: Add 10"):
        with pytest.raises(RefusedError, match="to '1' answers '2'"):
            asked("dataset/sums@1.0.0", write_lines(tmp_path / "given", {"1": prompt}))
    assert asked("dataset/sums@1.0.0", write_lines(tmp_path / "given", {"1": " Answer:  Add\n1"})).scored == 1


def test_joining_by_input_needs_inputs_and_one_question_for_each(
    asked: Scored, release: Release, write: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(RefusedError, match="does not say what was asked"):
        asked(DATASET, write({"1": "Paris"}), matched_by="input")
    text = FILES["datasets/capitals.yaml"].replace("id: capitals", "id: twice").replace("Italy", "France")
    release({"datasets/twice.yaml": text})
    with pytest.raises(RefusedError, match="'1' and '2' have the input"):
        asked("dataset/twice@1.0.0", write_lines(tmp_path / "given", {"7": ASKED["1"]}), matched_by="input")
    with pytest.raises(RefusedError, match="no output belongs") as raised:
        asked(DATASET, write_lines(tmp_path / "given", {"x7": ASKED["1"]}))
    assert "--match input" in str(raised.value.hint)


@pytest.mark.parametrize("status", ["cancelled", "error", "started"])
@pytest.mark.parametrize("write", [write_inspect, write_archive])
def test_a_log_that_is_not_whole_says_so_in_headline_and_run(
    write: Callable[..., Path], status: str, asked: Scored, cli: Cli, tmp_path: Path
) -> None:
    run = asked(DATASET, write(tmp_path / "given", {"1": ASKED["1"]}, status))
    assert run.log_status == status
    assert any(f"its status is '{status}'" in note for note in run.notes)
    assert f"The log is incomplete ({status})." in " ".join(cli("show", run.path).out.split())
    again = asked(DATASET, run.samples)
    assert again.log_status == status
    assert asked(DATASET, write(tmp_path / "whole", ASKED)).log_status == ""


def test_one_bad_row_does_not_stop_a_file(asked: Scored, release: Release, tmp_path: Path) -> None:
    release({
        "rubrics/fields.yaml": "id: fields\nversion: 1.0.0\nchecks:\n  - {id: f, kind: json_schema, schema: {type: [object, array]}}\nscoring: {combine: min}\n",
    })  # fmt: skip
    path = tmp_path / "given"
    path.write_text(
        '{"id": 1, "output": {"capital": "Paris", "n": 1.50}}\n'
        '{"id": "2", "output": [1, 2]}\n'
        "{broken\n"
        '{"output": "nobody"}\n'
        '{"id": "3", "output": "x", "tool_calls": 7}\n'
    )
    run = asked(DATASET, path, rubric="rubric/fields@1.0.0")
    assert (run.score, run.scored, run.unread_rows) == (1, 2, 2)
    assert run.missing_outputs["3"].startswith("line 5 cannot be read: `tool_calls` is not a list of calls")
    assert [row.output.text for row in read_rows(run)] == ['{"capital":"Paris","n":1.50}', "[1,2]"]
    assert any("rows that cannot be read: 2 (the first: line 3 cannot be read: not JSON" in note for note in run.notes)


@pytest.mark.parametrize("line", ['{"id": "2", "output": NaN}', '{"id": "2", "output": "cut'])
def test_an_answer_that_cannot_be_read_is_not_said_to_be_absent(line: str, asked: Scored, tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_text('{"id": "1", "output": "Paris"}\n' + line + "\n")
    missing = asked(DATASET, path).missing_outputs
    assert missing["2"].startswith("line 2 cannot be read: ")
    assert missing["3"] == "the file of outputs has none"


def write_failed(path: Path) -> Path:
    log = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": list(_list_samples(SHUFFLED))}
    log["samples"][0] |= {"error": {"message": "overloaded"}}
    path.write_text(json.dumps(log))
    return path


def write_empty(path: Path) -> Path:
    write_lines(path, SHUFFLED)
    path.write_text(path.read_text().replace('"Rome"', "null"))
    return path


@pytest.mark.parametrize(("write", "reason"), [(write_failed, "overloaded"), (write_empty, "the model gave no output")])
def test_what_has_no_answer_is_joined_by_what_was_asked_too(
    write: Callable[..., Path], reason: str, asked: Scored, tmp_path: Path
) -> None:
    run = asked(DATASET, write(tmp_path / "given"), matched_by="input")
    assert run.missing_outputs == {"2": reason}
    assert any(f"(the first is '2': {reason})" in note for note in run.notes)


def test_two_runs_that_were_asked_different_things_are_said_to_be(asked: Scored, cli: Cli, tmp_path: Path) -> None:
    """One id and one question, and two records of what was asked: neither audit nor comparable calls it one input."""
    others = {**ASKED, "1": "Which city has the Louvre?"}
    runs = [asked(DATASET, write_lines(tmp_path / name, given)) for name, given in (("a", ASKED), ("b", others))]
    a, b = (run.path for run in runs)
    ask = partial(cli, "-C", asked.keywords["store"].root)  # type: ignore[attr-defined]
    found = json.loads(ask("audit", a, b, "--format", "json").out)
    assert [one["name"] for one in found["factors"] if one["changed"]] == ["input"]
    assert "of 3 pairs differ: input in 1, reference in 0, output in 0" in cli("-C", "/", "audit", a, b).out
    ran = ask("comparable", a, b)
    assert ran.code == 1
    assert "1 of them with another input" in " ".join(ran.out.split())
    page = ask("audit", a, b, "--question", "1", "--format", "html").out
    assert list_headings(page)[-4:] == ["asked of A", "asked of B", "word by word", "the same output in both runs"]
    assert "Louvre?" in page


def test_a_page_shows_what_was_asked_and_the_question(asked: Scored, cli: Cli, tmp_path: Path) -> None:
    run = asked(DATASET, write_lines(tmp_path / "given", {**ASKED, "1": "Which city has the Louvre?"}))
    page = cli("show", run.path, "--format", "html").out
    both, alone = ["asked", "the question", "answered"], ["asked", "answered"]
    assert list_headings(page) == [*alone, *alone, *both] or list_headings(page) == [*both, *alone, *alone]
    first = page[page.index("<h3>the question</h3>") - 200 :]
    assert first.index("Louvre?") < first.index("capital of France?")
    # Both runs were asked the same, which is not the question.
    twice = cli("-C", asked.keywords["store"].root, "audit", run.path, run.path, "--question", "1", "--format", "html")  # type: ignore[attr-defined]
    assert list_headings(twice.out)[-3:] == ["asked", "the question", "the same output in both runs"]


def list_headings(page: str) -> list[str]:
    return re.findall("<h3>([^<]*)</h3>", page)
