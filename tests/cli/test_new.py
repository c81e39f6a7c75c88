"""`new` and `init --example` through the real commands: what they write is valid, and what they say next works."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstore.checks import KINDS

Cli = Callable[..., Any]


@pytest.fixture
def store(cli: Cli, tmp_path: Path) -> Path:
    assert cli("init", "store", cwd=tmp_path).code == 0
    return tmp_path / "store"


def check(cli: Cli, store: Path) -> list[dict[str, Any]]:
    ran = cli("validate", "--format", "json", cwd=store)
    return [one for one in json.loads(ran.out)["findings"] if one["rule"] != "judge-unvalidated"]


def test_a_file_of_every_kind_is_valid_and_can_be_released(cli: Cli, store: Path) -> None:
    for type_ in ("continuous", "binary", "levels"):
        assert cli("new", "judge", f"a_{type_}", "--kind", type_, cwd=store).code == 0
    assert cli("new", "rubric", "plain", cwd=store).code == 0
    for kind in KINDS:
        ran = cli("new", "rubric", f"r_{kind}", "--kind", kind, cwd=store)
        assert (ran.code, ran.next_steps) == (0, "next: evalstore validate\n"), kind
    words = [word for kind in KINDS for word in ("--kind", kind)]
    assert cli("new", "rubric", "everything", *words, cwd=store).code == 0
    assert cli("new", "dataset", "questions", cwd=store).code == 0
    assert check(cli, store) == []
    assert cli("bump", "--all", cwd=store).code == 0


@pytest.mark.parametrize("kind", ["rubric", "judge", "dataset"])
def test_a_new_file_lies_where_it_belongs_is_commented_and_is_never_overwritten(
    kind: str, cli: Cli, store: Path
) -> None:
    said = json.loads(cli("new", kind, "first", "--format", "json", cwd=store).out)
    path = store / f"{kind}s" / "first.yaml"
    assert (said["ref"], store / said["file"]) == (f"{kind}/first", path)
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == f"# yaml-language-server: $schema=../.evalstore/schema/{kind}.schema.json"
    assert (path.parent / lines[0].partition("=")[2]).resolve().is_file()
    assert max(map(len, lines)) <= 100
    assert sum(line.lstrip().startswith("#") for line in lines) >= 3
    path.write_text("mine")
    ran = cli("new", kind, "first", cwd=store)
    assert (ran.code, path.read_text()) == (3, "mine")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["rubric", "x", "--kind", "llm_judge"], 3, "evalstore new judge ID"),
        (["rubric", "x", "--kind", "composite"], 3, "evalstore new rubric ID"),
        (["rubric", "x", "--kind", "regexx"], 2, "did you mean regex?"),
        (["judge", "x", "--kind", "regex"], 2, "continuous, binary, levels"),
        (["dataset", "x", "--kind", "regex"], 2, "remove --kind"),
        (["rubric", "../x"], 2, "is not a valid id"),
        (["rubric", "X"], 2, "is not a valid id"),
    ],
)
def test_what_cannot_be_begun_is_one_sentence(argv: list[str], code: int, said: str, cli: Cli, store: Path) -> None:
    ran = cli("new", *argv, cwd=store)
    assert (ran.code, said in ran.err) == (code, True), ran.err
    assert list(store.glob("rubrics/*")) == []


@pytest.mark.parametrize("type_", ["continuous", "binary", "levels"])
def test_a_new_judge_asks_for_its_reason_and_reads_what_a_question_says_of_good_answers(
    type_: str, cli: Cli, store: Path
) -> None:
    assert cli("new", "judge", "strict", "--kind", type_, cwd=store).code == 0
    template = yaml.safe_load((store / "judges/strict.yaml").read_text("utf-8"))["template"]
    for part in ("{{ input }}", "{{ output }}", "{{ expected }}", "{{ criteria }}", '{"rationale": "one sentence", '):
        assert part in template


def test_a_judge_with_variables_gets_words_for_them(cli: Cli, store: Path) -> None:
    assert cli("new", "judge", "strict", cwd=store).code == 0
    path = store / "judges/strict.yaml"
    path.write_text(path.read_text("utf-8").replace("{{ input }}", "{{ criterion }}") + "variables: [criterion]\n")
    assert cli("new", "rubric", "asked", "--kind", "llm_judge", cwd=store).code == 0
    assert check(cli, store) == []


def test_without_a_store_init_is_named(cli: Cli, tmp_path: Path, git: Callable[..., str]) -> None:
    git()
    ran = cli("new", "rubric", "x", cwd=tmp_path / "repo")
    assert (ran.code, "create one: evalstore init" in ran.err) == (3, True)


def test_the_example_is_valid_has_a_score_and_its_next_steps_work(cli: Cli, tmp_path: Path) -> None:
    ran = cli("init", "first", "--example", cwd=tmp_path)
    assert ran.code == 0
    steps = [line.split() for line in ran.next_steps.removeprefix("next: ").splitlines()]
    assert steps[0] == ["cd", str(tmp_path / "first")]
    commands = [words[1:] for words in steps if words[0] == "evalstore"]
    assert {words[0] for words in commands} == {"show", "bump"}
    for words in commands:
        done = cli(*words, cwd=tmp_path / "first")
        assert done.code == 0, done.err
    assert check(cli, tmp_path / "first") == []
    run = json.loads((tmp_path / "first/runs/help_desk-worktree-model_a.json").read_text("utf-8"))
    score = run["evaluation_results"][0]["score_details"]["score"]
    assert 0 < score < 100
    assert f"First score: {score * 100:.2f} (" in ran.out or f"First score: {score:.2f} (" in ran.out


def test_the_example_overwrites_nothing_and_is_made_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics/answer_style.yaml").write_text("mine")
    assert cli("init", "--example", cwd=tmp_path).code == 3
    assert (tmp_path / "rubrics/answer_style.yaml").read_text() == "mine"
    assert not (tmp_path / "datasets/help_desk.yaml").exists()
    (tmp_path / "rubrics/answer_style.yaml").unlink()
    assert cli("init", "--example", cwd=tmp_path).code == 0
    again = cli("init", "--example", "--format", "json", cwd=tmp_path)
    assert (again.code, json.loads(again.out)["example"]) == (0, None)
    assert len(list(tmp_path.glob("runs/*.json"))) == 1


def test_an_empty_file_is_answered_with_the_command_that_fills_it(cli: Cli, store: Path) -> None:
    file = store / "rubrics/tone.yaml"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert [finding["hint"] for finding in check(cli, store)] == ["create one: evalstore new rubric ID"]
    assert cli("new", "rubric", "tone", cwd=store).code == 0
    assert check(cli, store) == []


@pytest.mark.parametrize(
    ("checks", "hint"),
    [
        (
            "\n  id: a\n  kind: regex",
            "begin each item with - and a space; What an output must meet: evalstore explain checks",
        ),
        (
            "\n  - kind: must_contain_any\n    values:\n      -a\n      -b",
            (
                "begin each item with - and a space; The texts to look for, taken literally: no pattern, no trimming: "
                "evalstore explain must_contain_any.values"
            ),
        ),
    ],
)
def test_a_list_without_its_blanks_is_told_how_to_write_one(cli: Cli, store: Path, checks: str, hint: str) -> None:
    file = store / "rubrics/tone.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'id: tone\nversion: "1.0.0"\nchecks:{checks}\nscoring: {{combine: all_pass}}\n')
    assert [finding["hint"] for finding in check(cli, store)] == [hint]
