"""`evalstore show RUN`: every output with its score, its checks and their reasons; what is asked for, and no more."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.model import Verdict
from evalstore.places import find_resource_folder
from evalstore.report import render
from evalstore.runs import read_rows, read_run
from evalstore.runs.run_view import RowChoice, view_run


@pytest.fixture
def run(tmp_path: Path, cli: Callable[..., Any]) -> Path:
    """Score four answers, one of which cannot be graded, in a store of one rubric; a fifth has no answer."""
    store = tmp_path / "store"
    (store / "rubrics").mkdir(parents=True)
    (store / "datasets").mkdir()
    (store / "rubrics/r.yaml").write_text(
        'id: r\nversion: "1.0.0"\nchecks:\n'
        "- {id: short, kind: format, format: text, max_chars: 9}\n"
        "- {id: polite, kind: must_not_contain, values: [way]}\n"
        "- {id: fields, kind: fact_match}\n"
        "scoring: {combine: weighted_avg}\n"
    )
    questions = [{"id": id_, "input": f"ask {id_}"} for id_ in ("fine", "half", "bad", "odd", "mute")]
    (store / "datasets/d.yaml").write_text(
        f'id: d\nversion: "1.0.0"\ndefaults: {{rubric_ref: rubric/r@worktree}}\nquestions: {json.dumps(questions)}\n'
    )
    outputs = {"fine": "good", "half": "a longer text", "bad": "\x1b[2Jno <b>way</b>", "odd": "way " * 3}
    (tmp_path / "out.jsonl").write_text("".join(json.dumps({"id": k, "output": v}) + "\n" for k, v in outputs.items()))
    assert cli("init", cwd=store).code == 0
    ran = cli("score", "dataset/d@worktree", tmp_path / "out.jsonl", "--format", "json", cwd=store)
    assert ran.code == 0, ran.err
    return store / json.loads(ran.out)["run"]


def show(cli: Callable[..., Any], run: Path, *argv: str) -> str:
    ran = cli("show", run, *argv, cwd=run.parent)
    assert ran.code == 0, ran.err
    return str(ran.out)


def test_each_output_has_its_score_and_each_check_its_reason(cli: Callable[..., Any], run: Path) -> None:
    out = show(cli, run)
    for row in read_rows(read_run(run)):
        block = next(
            part
            for part in out.split("\n\n")
            if re.search(rf"^(FAIL|pass|UNSCORED) +[0-9.-]+  {row.id}$", part, re.MULTILINE)
        )
        for check in row.checks:
            line = next(line for line in block.split("\n") if line.split()[2:3] == [check.id])
            assert line.split()[0] == check.verdict
            assert check.reason[:20] in line
    assert "\x1b" not in out
    assert "no output  mute: " in out


def test_the_worst_stand_first_and_no_more_are_kept_than_asked_for(run: Path) -> None:
    view = view_run(run, RowChoice())
    ranks = [({"fail": 0, "unscored": 1, "pass": 2}[row.verdict], row.score or 0) for row in view.rows]
    assert ranks == sorted(ranks)
    assert (view.found, view.total) == (4, 4)
    two = view_run(run, RowChoice(), limit=2)
    assert (two.rows, two.found) == (view.rows[:2], 4)
    assert view_run(run, RowChoice(), limit=0).rows == ()
    # The page of a few outputs, as a notebook shows them, holds no aggregate against these alone.
    assert "its rows give" not in render(two, "html")


@pytest.mark.parametrize(
    "choice",
    [RowChoice(failed=True), RowChoice(question="half"), RowChoice(check="polite"), RowChoice(True, None, "polite")],
)
def test_what_is_asked_for_is_found(run: Path, choice: RowChoice) -> None:
    expected = {
        row.id
        for row in read_rows(read_run(run))
        if choice.question in {None, row.id}
        for verdict in [
            next(one.verdict for one in row.checks if one.id == choice.check) if choice.check else row.verdict
        ]
        if not choice.failed or verdict is not Verdict.PASS
    }
    view = view_run(run, choice)
    assert {row.id for row in view.rows} == expected


def test_one_question_is_shown_whole(cli: Callable[..., Any], run: Path) -> None:
    out = show(cli, run, "--question", "bad")
    assert "ask bad" in out
    assert r"\x1b[2Jno <b>way</b>" in out
    assert "half" not in out
    assert "no output  mute" in show(cli, run, "--question", "mute")


def test_a_document_is_what_its_schema_says(cli: Callable[..., Any], run: Path) -> None:
    found = json.loads(show(cli, run, "--format", "json"))
    schema = json.loads((find_resource_folder("schema") / "output/show_run.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(found)
    assert {row["id"]: row["output"] for row in found["rows"]}["bad"] == "\x1b[2Jno <b>way</b>"
    assert found["missing_outputs"].keys() == {"mute"}


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["--question", "hafl"], 3, "did you mean half?"),
        (["--check", "polit"], 3, "did you mean polite?"),
        (["--raw"], 2, "this is a run"),
        (["--only", "model=foo"], 2, "and this is a run"),
        (["d-worktree-out.json", "--only", "model=foo"], 2, "and these are runs"),
    ],
)
def test_what_is_not_there_is_refused(
    cli: Callable[..., Any], run: Path, argv: list[str], code: int, words: str
) -> None:
    ran = cli("show", run, *argv, cwd=run.parent)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err


def test_an_artifact_is_no_run(cli: Callable[..., Any], run: Path) -> None:
    store = run.parent.parent
    assert cli("show", "rubric/r@worktree", cwd=store).out == (store / "rubrics/r.yaml").read_text()
    for argv in (["--failed"], ["--question", "x"], ["--format", "html"], ["--format", "csv"]):
        assert cli("show", "rubric/r@worktree", *argv, cwd=store).code == 2
    assert cli("show", "rubrik/r", cwd=store).code == 2
    assert cli("show", "none.json", cwd=store).code == 3


def test_a_text_that_should_not_be_there_is_marked_in_one_piece(cli: Any, tmp_path: Path) -> None:
    assert cli("init", "--example", cwd=tmp_path).code == 0
    run = "runs/help_desk-worktree-model_a.json"
    assert "a CSV file. »I hope this helps«!" in cli("show", run, cwd=tmp_path).out
    screen = {"FORCE_COLOR": "1", "TERM": "xterm"}
    for width in ("60", "72", "80", "96", "200"):
        painted = cli("show", run, cwd=tmp_path, COLUMNS=width, **screen).out
        assert "\x1b[1;31mI hope this helps\x1b[0m!" in painted
        plain = re.sub(r"\x1b\[[0-9;]*m", "", painted)
        assert max(map(len, plain.splitlines())) <= int(width)
        assert re.search(r"^0   \S {6}\S 100$", plain, re.MULTILINE)


def test_score_ends_with_what_went_worst_and_how_to_see_it(cli: Any, tmp_path: Path) -> None:
    assert cli("init", "--example", cwd=tmp_path).code == 0
    bad = [
        json.dumps({"id": id_, "output": text})
        for id_, text in (
            ("forgot_password", "Hm."),
            ("slow_page", "so that `x`"),
            ("export_data", "as an AI"),
            ("dark_mode", "No."),
        )
    ]
    (tmp_path / "bad.jsonl").write_text("\n".join(bad))
    ran = cli(
        "score", "dataset/help_desk@worktree", "bad.jsonl", "--rubric", "rubric/answer_style@worktree", cwd=tmp_path
    )
    tail = ran.out.partition("did not pass")[2].splitlines()
    assert tail[0] == ""
    assert tail[1].split()[:3] == ["FAIL", "0.00", "export_data"]
    assert "no_filler: found 'as an AI'" in tail[1]
    assert len(tail) == 4
    step = ran.next_steps.rstrip()
    assert step == "next: evalstore show runs/help_desk-worktree-bad.json --failed"
    assert cli(*step.split()[2:], cwd=tmp_path).code == 0
    good = cli(
        "score",
        "dataset/help_desk@worktree",
        "bad.jsonl",
        "--quiet",
        "--rubric",
        "rubric/answer_style@worktree",
        cwd=tmp_path,
    )
    assert good.out == ""


def test_an_output_that_did_not_pass_names_what_failed_before_what_was_missing(cli: Any, tmp_path: Path) -> None:
    assert cli("init", "--example", cwd=tmp_path).code == 0
    checks = [
        {"id": "fast", "kind": "limits", "latency_ms": {"max": 2000}},
        {"id": "right", "kind": "llm_judge", "judge_prompt_ref": "judge/accuracy@worktree"},
    ]
    rubric = {"id": "strict", "version": "1.0.0", "checks": checks, "scoring": {"combine": "min", "errors": "zero"}}
    (tmp_path / "rubrics/strict.yaml").write_text(json.dumps(rubric))
    options = ("--rubric", "rubric/strict@worktree", "--offline", "--max-ungraded", "1")
    ran = cli("score", "dataset/help_desk@worktree", "outputs/model_a.jsonl", *options, cwd=tmp_path)
    first = ran.out.partition("the worst:\n")[2].splitlines()[0].split()
    assert first[:4] == ["FAIL", "0.00", "forgot_password", "right:"]


def test_a_folder_of_its_own_names_a_run(cli: Callable[..., Any], run: Path, tmp_path: Path) -> None:
    folder = run.parent
    (folder / "notes.json").write_text("{}")
    assert show(cli, folder) == show(cli, run)
    shutil.copy(run, folder / "again.json")
    two = cli("show", folder, cwd=tmp_path)
    assert (two.code, "is a folder with more than one run" in two.err) == (3, True)
    assert f"hint: name one of them: again.json, {run.name}" in two.err
    none = cli("show", tmp_path / "store/rubrics", cwd=tmp_path)
    assert (none.code, none.err.splitlines()[1]) == (3, "hint: a run is named by its JSON file")


def read_table(written: str) -> list[dict[str, str]]:
    assert written.startswith("\ufeff")  # Excel takes the file for UTF-8 by it
    return list(csv.DictReader(io.StringIO(written.removeprefix("\ufeff"), newline="")))


def test_a_table_has_a_row_for_each_output_and_three_columns_for_each_check(cli: Callable[..., Any], run: Path) -> None:
    found, stored = read_table(show(cli, run, "--format", "csv")), json.loads(show(cli, run, "--format", "json"))
    assert [row["id"] for row in found] == [*(row["id"] for row in stored["rows"]), "mute"]
    for row, expected in zip(found, stored["rows"], strict=False):
        assert (row["verdict"], row["input"]) == (expected["verdict"], f"ask {row['id']}")
        assert row["score"] == ("" if expected["score"] is None else str(expected["score"]))
        for check in expected["checks"]:
            assert row[f"{check['id']}.verdict"] == check["verdict"]
            assert row[f"{check['id']}.reason"].removeprefix("'") == check["reason"]
    assert (found[-1]["verdict"], found[-1]["reason"]) == ("no output", stored["missing_outputs"]["mute"])
    polite = read_table(show(cli, run, "--format", "csv", "--check", "polite", "--question", "bad"))
    assert [(row["id"], [name for name in row if "." in name]) for row in polite] == [
        ("bad", ["polite.verdict", "polite.score", "polite.reason"])
    ]
    assert r"\x1b[2Jno <b>way</b>" in polite[0]["output"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
        ("+1+1", "'+1+1"),
        ("-1.5", "-1.5"),
        ("-1|x", "'-1|x"),
        ("- an item", "'- an item"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "\\r=1"),
        (" \n =1", "' \n =1"),
        ("\u200b＝1", "'\u200b＝1"),
        ("a = 1, b;\n=c", "a = 1, b;\n=c"),
        ("a\r\nb\0", "a\nb\\x00"),
        ("'quoted'", "'quoted'"),
        ("x" * 40_000, "x" * 32_731 + "… (cut; --format json has all of it)"),
        ("\U0001f642" * 16_384, "\U0001f642" * 16_365 + "… (cut; --format json has all of it)"),
        ("x" * 32_767, "x" * 32_767),
    ],
)
def test_a_cell_is_text_and_nothing_that_a_spreadsheet_runs(tmp_path: Path, text: str, cell: str) -> None:
    file = tmp_path / "results.json"
    row = {"vars": {"q": text}, "response": {"output": text}, "success": True, "score": 1, "prompt": {"raw": text}}
    file.write_text(json.dumps({"results": [{**row, "promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}}]}))
    found = read_table(render(view_run(file, RowChoice()), "csv"))
    assert [(row["output"], row["score"]) for row in found] == [(cell, "1.0")]


def test_outputs_that_repeat_a_question_without_a_number_are_said_to(tmp_path: Path) -> None:
    """`score` refuses such a file; what is shown of it counts them as samples."""
    row = {"test_id": "q", "score": 1, "target": "a", "execution_status": "ok"}
    path = tmp_path / "index.jsonl"
    path.write_text("".join(json.dumps({**row, "output": text}) + "\n" for text in ("yes", "no")))
    notes = view_run(path, RowChoice()).run.notes
    assert notes[0] == "outputs that repeat a question, and no number tells apart: 1; they count as its samples"


def test_a_row_that_cannot_be_read_names_its_question(tmp_path: Path) -> None:
    row = {"test_id": "q", "score": 1, "target": "a", "execution_status": "ok"}
    path = tmp_path / "index.jsonl"
    path.write_text(
        "".join(json.dumps({**row, "test_id": id_, "output": said}) + "\n" for id_, said in (("p", "yes"), ("q", [5])))
    )
    assert [*view_run(path, RowChoice()).run.missing_outputs] == ["q"]
