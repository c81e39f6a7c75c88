"""Outputs of other tools, scored: the same outputs give the same scores, whatever file they come in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import LINE_LIMIT
from evalstore.errors import LimitError, RefusedError, UsageError
from evalstore.runs import Run, read_rows
from evalstore.store import ArtifactStore

Cli = Callable[..., Any]
Write = Callable[..., Path]
SAID = {"one": "please!", "two": "thanks", "three": "moreover, please"}
RUBRIC = "rubric/tone@1.0.0"


def result(id_: str, text: str, model: str = "openai:small", prompt: str = "short") -> dict[str, Any]:
    return {
        "provider": {"id": model, "label": ""},
        "prompt": {"raw": text, "label": prompt},
        "vars": {"id": id_},
        "response": {"output": text} if text else {"error": "overloaded"},
        "success": True,
    }


def sample(id_: str, text: str, epoch: int = 1) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    failed = {} if text else {"error": {"message": "overloaded"}}
    output = {"choices": [{"message": message}], "completion": text}
    return {"id": id_, "epoch": epoch, "messages": [message], "output": output, **failed}


def promptfoo(path: Path, said: dict[str, str]) -> None:
    path.write_text(json.dumps({"results": {"version": 3, "results": [result(*pair) for pair in said.items()]}}))


def promptfoo_lines(path: Path, said: dict[str, str]) -> None:
    path.write_text("".join(json.dumps(result(*pair)) + "\n" for pair in said.items()))


def inspect_json(path: Path, said: dict[str, str]) -> None:
    log = {"version": 2, "status": "success", "eval": {"model": "openai:small"}}
    path.write_text(json.dumps({**log, "samples": [sample(*pair) for pair in said.items()]}))


def inspect_archive(path: Path, said: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for pair in said.items():
            file.writestr(f"samples/{pair[0]}_epoch_1.json", json.dumps(sample(*pair)))
        file.writestr("header.json", json.dumps({"version": 2, "eval": {"model": "openai:small"}}))


def promptfoo_yaml(path: Path, said: dict[str, str]) -> None:
    """Write a document of rows that have no line."""
    promptfoo(path, said)
    found = json.loads(path.read_text())
    rows = "".join(f"  - {json.dumps(row)}\n" for row in found["results"]["results"])
    path.write_text(f"results:\n{rows}version: 2\n")


FORMATS = [promptfoo, promptfoo_lines, promptfoo_yaml, inspect_json, inspect_archive]


@pytest.mark.parametrize("shape", FORMATS)
def test_the_same_outputs_give_the_same_run(
    shape: Callable[..., None], scored: Callable[..., Run], write: Write, tmp_path: Path
) -> None:
    shape(tmp_path / "given", {**SAID, "four": "", "stray": "x"})
    ours = scored("dataset/small@1.0.0", write(SAID), rubric=RUBRIC, model="openai:small")
    theirs = scored("dataset/small@1.0.0", tmp_path / "given", rubric=RUBRIC)
    assert (theirs.score, theirs.pass_rate, theirs.scored) == (ours.score, ours.pass_rate, 3)
    assert theirs.model == "openai:small"
    assert [(row.id, row.output.text, row.score) for row in read_rows(theirs)] == [
        (row.id, row.output.text, row.score) for row in read_rows(ours)
    ]
    assert "left out, because there is no output: 1 (the first is 'four': overloaded)" in theirs.notes
    assert "outputs without a question in dataset/small: 1 (the first is 'stray')" in theirs.notes
    assert theirs.missing_outputs == {"four": "overloaded"}
    assert theirs.without_output == 1
    again = scored("dataset/small@1.0.0", theirs.path, rubric=RUBRIC)
    assert (again.score, again.model) == (theirs.score, theirs.model)


def test_one_series_of_several_is_chosen_and_recorded(scored: Callable[..., Run], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rows = [result(id_, text, model) for model in ("a", "b") for id_, text in SAID.items()]
    path.write_text(json.dumps({"results": rows, "version": 2}))
    with pytest.raises(RefusedError, match="contains outputs of 2 models"):
        scored("dataset/small@1.0.0", path, rubric=RUBRIC)
    run = scored("dataset/small@1.0.0", path, rubric=RUBRIC, only={"model": "b"})
    assert (run.model, run.scored) == ("b", 3)
    assert "of the outputs, only those of model 'b'" in run.notes
    with pytest.raises(RefusedError, match=r"duplicate \w+ 'one'"):
        scored("dataset/small@1.0.0", path, rubric=RUBRIC, model="both")
    with pytest.raises(UsageError, match="--only does not know 'provider'"):
        scored("dataset/small@1.0.0", path, rubric=RUBRIC, only={"provider": "b"})


@pytest.mark.parametrize("shape", [promptfoo, promptfoo_yaml])
def test_two_answers_are_refused_also_where_rows_have_no_line_of_their_own(
    shape: Callable[..., None], scored: Callable[..., Run], tmp_path: Path
) -> None:
    path = tmp_path / "given"
    shape(path, SAID)
    path.write_text(path.read_text().replace('"three"', '"one"'))
    with pytest.raises(RefusedError, match=r"duplicate id 'one'$"):
        scored("dataset/small@1.0.0", path, rubric=RUBRIC)


def test_a_file_of_nothing_but_failures_holds_no_output(scored: Callable[..., Run], tmp_path: Path) -> None:
    promptfoo(tmp_path / "given", {"one": "", "two": ""})
    with pytest.raises(Exception, match="holds no output"):
        scored("dataset/small@1.0.0", tmp_path / "given", rubric=RUBRIC)
    assert not list((tmp_path / "runs").glob("*"))


def test_an_output_that_no_row_can_hold_is_refused_by_its_question(scored: Callable[..., Run], tmp_path: Path) -> None:
    inspect_json(tmp_path / "given", {**SAID, "two": "x" * LINE_LIMIT})
    with pytest.raises(LimitError, match=r"the output to two is too long: its row would have 4,19\d,\d{3} bytes"):
        scored("dataset/small@1.0.0", tmp_path / "given", rubric=RUBRIC)
    assert not list((tmp_path / "runs").glob("*"))


@pytest.mark.parametrize(
    ("argv", "code", "sentences"),
    [
        (
            (),
            3,
            ["given: contains outputs of 2 prompts, but a run can have only one", "--only prompt='short' | 'long'"],
        ),
        (("--only", "prompt=short"), 0, ["of the outputs, only those of prompt 'short'"]),
        (("--only", "prompt=l*", "--only", "model=openai*"), 0, ["only those of prompt 'l*' and model 'openai*'"]),
        (("--only", "prompt=none"), 3, ["holds no output of prompt 'none'", "there is prompt 'short' | 'long'"]),
        (("--only", "promt=short"), 2, ["--only does not know 'promt'", "did you mean `prompt`?"]),
        (("--only", "short"), 2, ["model=NAME, prompt=NAME, epoch=NUMBER or configuration=NAME"]),
        (("--only", "model=a", "--only", "model=b"), 2, ["give each once"]),
    ],
)
def test_the_command_says_what_there_is_to_choose(
    argv: tuple[str, ...], code: int, sentences: list[str], cli: Cli, store: ArtifactStore, tmp_path: Path
) -> None:
    rows = [result(id_, text, prompt=prompt) for prompt in ("short", "long") for id_, text in SAID.items()]
    (tmp_path / "given").write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}}))
    ran = cli("score", "dataset/small@1.0.0", tmp_path / "given", "--rubric", RUBRIC, *argv, cwd=store.root)
    assert ran.code == code, ran.err
    for sentence in sentences:
        assert sentence in ran.err


def test_the_command_names_the_place_in_an_archive(cli: Cli, store: ArtifactStore, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("header.json", "{}")
        file.writestr("samples/\x1b[31mq_epoch_1.json", "{")
    ran = cli("score", "dataset/small@1.0.0", tmp_path / "log.eval", cwd=store.root)
    assert ran.code == 3
    assert "log.eval/samples/\\x1b[31mq_epoch_1.json:1: not JSON: expected a key, and the text ends" in ran.err
