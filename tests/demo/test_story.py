"""The sample story through the real commands: their output is what its README says."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli.demo import _own_command_line as own_command_line
from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError
from evalstore.places import find_resource_folder
from tests.conftest import _play_command as play_command

LINES, COLUMNS = 48, 110
RUBRIC = find_resource_folder("sample_repo") / "history" / "07-one-of-each" / "rubrics" / "one_of_each.yaml"


@pytest.fixture(scope="module")
def told(demo: Any) -> tuple[Path, str]:
    return demo.folder, demo.text


def audit_of(told: tuple[Path, str], cli: Callable) -> dict:
    runs = [str(next(told[0].glob(f"runs/model_{model}/*.json")).relative_to(told[0])) for model in "ab"]
    return json.loads(cli("audit", *runs, "--format", "json", cwd=told[0]).out)


def test_the_readme_of_the_project_quotes_the_audit(told: tuple[Path, str]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    quoted = readme.partition("```\nThe score fell")[2].partition("\n```")[0].splitlines()
    # A commit has what a run records of its engines, and the schemas: both move with the machine and the release.
    said, seen = (re.sub(r" [0-9a-f]{7} ", " ", text) for text in ("\n".join(quoted), told[1]))
    assert len(quoted) > 15
    assert said in seen


def test_what_is_written_is_dated_by_the_story(told: tuple[Path, str]) -> None:
    run = json.loads(next(told[0].glob("runs/model_a/*.json")).read_text("utf-8"))
    assert run["evaluation_timestamp"] == "1789394400.000000"
    assert "+  validated_at: 2026-10-13" in told[1]


def test_the_numbers_of_the_readme_come_out(told: tuple[Path, str], cli: Callable) -> None:
    points = re.findall(
        r"\| ([^|]+) \| ([−+]?[\d.]+) \|", (find_resource_folder("sample_repo") / "README.md").read_text("utf-8")
    )
    promised = {name: float(value.replace("−", "-")) for name, value in points}
    found = audit_of(told, cli)
    shares = {factor["name"]: factor["share"] for factor in found["factors"]}
    expected = {
        "model A, first release": found["a"]["score"],
        "stricter rubric": shares["rubric"],
        "other answers": shares["outputs"],
        "another question": found["mix"],
        "model B, current release": found["b"]["score"],
    }
    assert {name: round(100 * value, 2) for name, value in expected.items()} == promised


def test_the_points_add_up(told: tuple[Path, str], cli: Callable) -> None:
    found = audit_of(told, cli)
    assert sum(factor["share"] for factor in found["factors"]) + found["mix"] == pytest.approx(found["delta"], abs=1e-9)
    assert found["delta"] == pytest.approx(found["b"]["score"] - found["a"]["score"], abs=1e-9)
    rubric = next(factor for factor in found["factors"] if factor["name"] == "rubric")
    assert {cause["author"] for cause in rubric["causes"] if cause["share"]} == {"Jonas Brandt"}


def test_every_release_is_a_tag_on_the_branch(told: tuple[Path, str], git: Callable) -> None:
    tags = git("tag", "--merged", "main", cwd=told[0]).split()
    assert {
        "rubric/answer_style@1.0.0",
        "rubric/answer_style@2.0.0",
        "rubric/answer_style@2.0.1",
        "rubric/cache_metadata@1.1.0",
    } <= set(tags)
    assert git("tag", cwd=told[0]).split() == tags
    assert git("status", "--porcelain", "--untracked-files=no", cwd=told[0]) == ""


def test_a_step_fits_a_screen(told: tuple[Path, str]) -> None:
    steps = told[1].split("\n── ")[1:]
    assert steps
    for step in steps:
        assert step.count("\n") <= LINES, step
        assert all(len(line) <= COLUMNS for line in step.split("\n")), step


def test_five_steps_are_told_by_default_and_the_answer_is_the_last(demo: Any) -> None:
    steps = demo.short.split("\n── ")[1:]
    assert [step.partition(":")[0] for step in steps] == [f"{number} of 5" for number in range(1, 6)]
    assert "$ evalstore audit " in steps[-1]
    assert "(exit code 1)" in steps[2]
    assert steps[-1].partition("\n")[2] == demo.text.split("\n── ")[-1].partition("\n")[2]


def test_the_short_story_has_at_most_160_lines_of_80_columns(demo: Any, cli: Callable, tmp_path: Path) -> None:
    import evalstore.demo

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evalstore.demo, "_run_command", play_command)
        lines = cli("demo", tmp_path / "store", COLUMNS="80").out.splitlines()
    assert len(lines) <= 160
    assert [line for line in lines if len(line) > 80 and "-m evalstore" not in line and str(tmp_path) not in line] == []


def test_the_numbers_need_no_php(demo: Any) -> None:
    run = json.loads(next(demo.folder.glob("runs/model_a/*.json")).read_text("utf-8"))
    assert "php" not in json.dumps(run)


def test_a_terminal_gets_colours_and_nothing_else_that_acts_on_it(
    demo: Any, cli: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    import evalstore.api
    from evalstore.demo import CommandResult, Story, StoryStep

    step = StoryStep("A step", "It is told.", "Mira", "m@example.org", "2026-09-07", (("status",),))
    result = CommandResult(("status",), 1, "\x1b[1mbold\x1b[0m \x1b]0;title\x07\n" + "word " * 30, "")
    monkeypatch.setattr(evalstore.api, "read_story", lambda _: Story("Title", demo.folder, (step,)))
    seen = {}
    monkeypatch.setattr(evalstore.api, "replay_story", lambda _, __, env: seen.update(env) or iter([(step, [result])]))
    said = cli("demo", "x", FORCE_COLOR="1", TERM="xterm", COLUMNS="72").out
    assert "\x1b[1mbold\x1b[0m \\x1b]0;title\\x07" in said
    assert "── 1 of 1: A step ".ljust(72, "─") in said
    assert (seen["FORCE_COLOR"], seen["COLUMNS"]) == ("1", "72")
    cli("demo", "x", TERM="xterm")
    assert seen["FORCE_COLOR"] == ""


@pytest.mark.process
def test_a_command_of_a_step_runs_in_a_process(tmp_path: Path) -> None:
    from evalstore.demo import Story, StoryStep, replay_story

    (tmp_path / "story/outputs").mkdir(parents=True)
    step = StoryStep(
        "A step", "It is told.", "Mira", "m@example.org", "2026-09-07", (("show", "judge/a*"),), expect_exit=3
    )
    story = Story("Title", tmp_path / "story", (step,))
    env = {"PATH": os.environ["PATH"], "GIT_DIR": "elsewhere"}
    with pytest.raises(EvalstoreError, match="matches 0 files"):
        list(replay_story(story, tmp_path / "store", env))
    step = replace(step, run=(("show", "judge/nobody"),))
    ((_, (found,)),) = replay_story(replace(story, steps=(step,)), tmp_path / "other", env)
    assert (found.code, found.out) == (3, "")
    assert "judge/nobody" in found.err


def test_it_ends_by_naming_the_folder(told: tuple[Path, str]) -> None:
    assert f"cd {told[0]}" in told[1][-200:]


def test_without_a_folder_it_plays_in_a_new_temporary_one(
    cli: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import evalstore.api
    from evalstore.demo import Story

    played: list[Path] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(evalstore.api, "read_story", lambda _: Story("Title", tmp_path, ()))
    monkeypatch.setattr(evalstore.api, "replay_story", lambda _, target, __: iter(played.append(target) or ()))
    said = [cli("demo").out, cli("demo").out]
    assert played[0] != played[1]
    for folder, text in zip(played, said, strict=True):
        assert folder.parents[1] == tmp_path
        assert not folder.exists()
        assert f"cd {folder}\n" in text


def test_what_uv_runs_is_started_again_by_its_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """uv puts its environment on the path of what it runs alone: `evalstore` is not a command of the reader's shell."""
    (tmp_path / "evalstore").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UV", raising=False)
    assert own_command_line() == "evalstore"
    monkeypatch.setenv("UV", "/usr/bin/uv")
    assert own_command_line() == f"{sys.executable} -m evalstore"


def test_a_folder_that_is_not_empty_is_refused(told: tuple[Path, str], cli: Callable) -> None:
    ran = cli("demo", told[0])
    assert ran.code == 3
    assert "not empty" in ran.err


def test_every_kind_answers_in_every_way_that_it_can(
    told: tuple[Path, str], cli: Callable, judge_server: Any, tmp_path: Path
) -> None:
    if shutil.which("php") is None:
        pytest.skip("no php here")
    judge_server.text = reply_of
    endpoint = ("--judge-url", judge_server.url, "--judge-model", "a-model", "--cache", tmp_path / "replies.db")
    outputs = ("dataset/probes@1.0.0", "outputs/probes.jsonl", "--out", tmp_path / "runs")
    checks = json.loads(cli("score", *outputs, *endpoint, "--format", "json", cwd=told[0]).out)["checks"]
    kinds = {check["id"]: check["kind"] for check in read_yaml(RUBRIC.read_bytes(), RUBRIC.name).value["checks"]}
    ways = ("pass", "fail", "missing", "error")
    found = {
        kinds[id_]: {**one, "missing": one["unscored"] - one["errors"], "error": one["errors"]}
        for id_, one in checks.items()
    }
    assert {kind: tuple(counts[way] for way in ways) for kind, counts in found.items()} == {
        "must_contain_any": (3, 7, 0, 0),
        "must_not_contain": (9, 1, 0, 0),
        "regex": (3, 7, 0, 0),
        "json_schema": (1, 1, 7, 1),
        "target_match": (1, 1, 8, 0),
        "php_lint": (1, 1, 8, 0),
        "markdown_structure": (1, 9, 0, 0),
        "tool_usage": (1, 2, 7, 0),
        "format": (2, 1, 6, 1),
        "fact_match": (3, 1, 6, 0),
        "llm_judge": (7, 2, 0, 1),
        "composite": (7, 2, 0, 1),
    }


def reply_of(prompt: str) -> str:
    """Answer as a judge that is hard on cache clearing and on harm, and lost for words at a greeting."""
    if "Say hello" in prompt:
        return "How nice!"
    harmful = "clear all caches" in prompt or "removed them" in prompt
    return json.dumps({"score": 1, "level": "dismissive"} if harmful else {"score": 5, "level": "welcoming"})
