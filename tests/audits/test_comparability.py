from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.audits.conftest import Desk
from tests.audits.test_acceptance import JUDGED

Cli = Callable[..., Any]

RUBRIC = """\
id: tone
version: 1.0.0
checks:
- {id: polite, kind: must_contain_any, values: [please]}
- {id: plain, kind: must_not_contain, values: [synergy]}
scoring: {combine: weighted_avg, weights: {polite: 3}}
"""
STRICTER = RUBRIC.replace("weights: {polite: 3}", "weights: {polite: 4}")
TITLED = RUBRIC + "title: Tone\n"
DATASET = """\
id: mail
version: 1.0.0
defaults: {rubric_ref: rubric/tone}
questions:
- {id: a, input: one}
- {id: b, input: two}
- {id: c, input: three}
"""


@pytest.fixture
def top(template: Callable[..., Any], git: Callable[..., str], cli: Cli, tmp_path: Path) -> Path:
    """A store with three releases of a rubric: 1.0.0, a title (1.0.1), another weight (2.0.0); a run under each end."""
    repo = tmp_path / "repo"

    def build() -> None:
        git()
        for name, text in (("rubrics/tone.yaml", RUBRIC), ("datasets/mail.yaml", DATASET), ("evalstore.yaml", "")):
            (repo / name).parent.mkdir(exist_ok=True)
            (repo / name).write_text(text, "utf-8")
        lines = [{"id": id_, "output": "please"} for id_ in "abc"]
        (repo / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        (repo / "two.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:2]), "utf-8")
        git("add", ".")
        git("commit", "-qm", "start")
        _release(cli, repo)
        _score(cli, repo, "all", "first")
        for text in (TITLED, STRICTER):
            (repo / "rubrics/tone.yaml").write_text(text.replace("1.0.0", "1.0.1" if text == STRICTER else "1.0.0"))
            _release(cli, repo)
        _score(cli, repo, "all", "last")
        _score(cli, repo, "two", "less")

    template("comparability", build)
    return repo


def _release(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "bump", "--all")
    assert ran.code == 0, ran.err


def _score(cli: Cli, repo: Path, outputs: str, model: str) -> None:
    ran = cli("-C", repo, "score", "dataset/mail", f"{outputs}.jsonl", "--model", model)
    assert ran.code == 0, ran.err


def _answer(cli: Cli, top: Path, a: str, b: str) -> dict[str, Any]:
    ran = cli("-C", top, "comparable", a, b, "--format", "json")
    document: dict[str, Any] = json.loads(ran.out)
    assert ran.code == (document["answer"] != "yes"), ran.err
    return document


def test_versions_are_comparable_where_no_score_moves_and_bounded_where_one_does(cli: Cli, top: Path) -> None:
    assert _answer(cli, top, "rubric/tone@1.0.0", "rubric/tone@1.0.1")["answer"] == "yes"
    moved = _answer(cli, top, "rubric/tone@1.0.0", "rubric/tone@2.0.0")
    # The weights' total variation: 3/4 and 1/4 became 4/5 and 1/5.
    assert (moved["answer"], moved["bound"], moved["bound_after"]) == ("yes, after scoring again", 0.05, 0)
    assert "check-weight-changed" in moved["parts"][0]["reason"]


def test_a_file_stands_for_what_it_holds_now(cli: Cli, top: Path) -> None:
    path = top / "rubrics/tone.yaml"
    path.write_text(path.read_text("utf-8") + "description: how it reads\n", "utf-8")
    assert _answer(cli, top, "rubric/tone@2.0.0", "rubrics/tone.yaml")["answer"] == "yes"


def test_commits_answer_for_each_artifact(cli: Cli, top: Path) -> None:
    moved = _answer(cli, top, "git:HEAD~1", "git:HEAD")
    assert {part["name"]: part["answer"] for part in moved["parts"]} == {
        "dataset/mail": "yes",
        "rubric/tone": "yes, after scoring again",
    }
    assert _answer(cli, top, "git:HEAD~2", "git:HEAD~1")["answer"] == "yes"


def test_runs_are_held_against_each_other_by_questions_and_rulers(cli: Cli, top: Path) -> None:
    runs = {name: f"runs/mail-1.0.0-{name}.json" for name in ("first", "last", "less")}
    same = _answer(cli, top, runs["first"], runs["first"])
    assert (same["answer"], same["bound"], same["dataset"]) == ("yes", 0, None)
    again = _answer(cli, top, runs["first"], runs["last"])
    assert (again["answer"], again["bound"], again["dataset"]) == (
        "yes, after scoring again",
        0.05,
        "dataset/mail@1.0.0",
    )
    # One of three questions is in one run alone: its score can move that mean by a third.
    fewer = _answer(cli, top, runs["last"], runs["less"])
    assert (fewer["answer"], fewer["bound_exact"]) == ("bounded", "1/3")
    ran = cli("-C", top, "comparable", runs["first"], runs["less"])
    assert "within 33.33 points once one side is graded as the other was" in " ".join(ran.out.split())
    assert ran.next_steps == f"next: evalstore -C {top} score dataset/mail@1.0.0 {runs['first']}\n"


def test_what_is_said_to_do_next_works_for_runs_that_are_named_by_their_folders(cli: Cli, top: Path) -> None:
    assert cli("-C", top, "score", "dataset/mail", "all.jsonl", "--out", "runs/last").code == 0
    (top / "rubrics/tone.yaml").write_text(RUBRIC.replace("1.0.0", "2.0.0"), "utf-8")
    _release(cli, top)
    assert cli("-C", top, "score", "dataset/mail", "runs/last", "--out", "runs/again").code == 0
    ran = cli("-C", top, "comparable", "runs/last", "runs/again")
    assert ran.next_steps == f"next: evalstore -C {top} score dataset/mail@1.0.0 runs/last\n"
    assert cli("-C", top, "score", "dataset/mail@1.0.0", "runs/last").code == 0


def test_nothing_is_next_where_no_release_graded_the_second_run(cli: Cli, top: Path) -> None:
    (top / "rubrics/tone.yaml").write_text(RUBRIC.replace("1.0.0", "2.0.0"), "utf-8")
    assert cli("-C", top, "score", "dataset/mail", "all.jsonl", "--worktree=all", "--out", "runs/tried").code == 0
    ran = cli("-C", top, "comparable", "runs/mail-1.0.0-last.json", "runs/tried")
    assert "once one side is graded as the other was" in " ".join(ran.out.split())
    assert ran.next_steps == ""


def test_what_is_not_of_one_kind_is_a_wrong_command_line(cli: Cli, top: Path) -> None:
    ran = cli("-C", top, "comparable", "rubric/tone@1.0.0", "git:HEAD")
    assert (ran.code, "are a commit and version" in ran.err) == (2, True)


def test_a_judge_that_says_otherwise_of_one_answer_is_no_yes(desk: Desk, cli: Cli) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED)
    desk.dataset("1.0.0", 4)
    texts = ["good", "good good", "x", "ok"]
    a = desk.score("1.0.0", texts, "a")
    others = desk.score("1.0.0", [f"{text} so" for text in texts], "b")
    again = desk.score("1.0.0", [*texts[:3], "foo"], "c")
    desk.repo.forget()
    desk.server.text = lambda _: '{"score": 0.25}'
    moved = desk.score("1.0.0", texts, "d")
    told = [cli("comparable", a.path, run.path, cwd=desk.repo.root) for run in (others, again, moved)]
    said = [" ".join(ran.out.split()) for ran in told]
    assert [ran.code for ran in told] == [0, 0, 1]
    assert "no answer was judged in both runs, so nothing shows whether the judge changed" in said[0]
    assert "all 3 answers that both runs have were judged the same" in said[1]
    assert (
        "replies of judges: yes, after scoring again (4 of 4 answers that both runs have were judged differently"
        in said[2]
    )
    assert "hosted judge" not in said[2]
