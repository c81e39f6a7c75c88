"""`show A B`: two runs side by side, what regressed first, with the edits behind each pair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits.records.pairs import read_pairs
from evalstore.places import find_resource_folder
from evalstore.store.remote import name_commit_pages
from tests.audits.conftest import Desk
from tests.audits.test_page import worsen
from tests.audits.test_records import write_rows


def test_pairs_are_found_in_any_order_and_under_other_ids(tmp_path: Path) -> None:
    a = write_rows(tmp_path / "a.jsonl", {"p": 1.0, "q": 0.0, "old": 1.0, "lost": 1.0})
    b = write_rows(tmp_path / "b.jsonl", {"new": 0.5, "q": 1.0, "more": 0.0, "p": 0.0})
    b.write_text(b.read_text().replace("What is new?", "What is old?"))
    reader = read_pairs(a, b)
    pairs = sorted(reader, key=lambda pair: pair.rank)
    assert [(pair.a.id, pair.b.id, float(pair.change)) for pair in pairs] == [
        ("p", "p", -1.0),
        ("old", "new", -0.5),
        ("q", "q", 1.0),
    ]
    assert reader.found == 3


def test_an_id_that_another_question_takes_is_no_pair(tmp_path: Path) -> None:
    a = write_rows(tmp_path / "a.jsonl", {"x": 1.0, "y": 0.0, "z": 1.0})
    b = write_rows(tmp_path / "b.jsonl", {"y": 0.0, "z": 1.0})
    b.write_text(b.read_text().replace("What is y?", "What is x?"))
    assert [(pair.a.id, pair.b.id) for pair in read_pairs(a, b)] == [("x", "y"), ("z", "z")]


def test_two_runs_are_shown_with_what_moved_each_pair(desk: Desk, cli: Callable[..., Any]) -> None:
    a, b = (str(run.path) for run in worsen(desk))
    ran = cli("show", a, b, cwd=desk.repo.root, COLUMNS="80", FORCE_COLOR="1", TERM="xterm")
    out = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert (ran.code, max(map(len, out.splitlines())) <= 80) == (0, True)
    changes = [float(found) for found in re.findall(r"^ *([-+]?[0-9.]+)  q[0-5]  ", out, re.MULTILINE)]
    assert len(changes) == 6
    assert re.search(r"^ +edit  -[0-9.]+ by .*ok", out, re.MULTILINE)
    assert "Bob" in out
    assert "[-good" in out
    document = json.loads(cli("show", a, b, "--format", "json", cwd=desk.repo.root).out)
    schema = json.loads((find_resource_folder("schema") / "output/show_pairs.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    audit = json.loads(cli("audit", a, b, "--format", "json", cwd=desk.repo.root).out)
    assert document["delta"] == pytest.approx(audit["delta"])
    commits = {edit["commit"] for pair in document["pairs"] for edit in pair["edits"]}
    assert commits
    desk.repo.git("remote", "add", "origin", "git@github.com:org/evals.git")
    page = cli("show", a, b, "--format", "html", cwd=desk.repo.root).out
    links = {*re.findall('href="(https:[^"]*)"', page)}
    assert links == {f"https://github.com/org/evals/commit/{commit}" for commit in commits}
    ranks = [
        ((pair["b"]["verdict"] == "pass") - (pair["a"]["verdict"] == "pass"), pair["change"])
        for pair in document["pairs"]
    ]
    assert ranks == sorted(ranks)
    one = json.loads(cli("show", a, b, "--question", "q1", "--format", "json", cwd=desk.repo.root).out)
    assert [pair["id"] for pair in one["pairs"]] == ["q1"]


def test_where_nothing_is_named_the_reason_is(desk: Desk, cli: Callable[..., Any], tmp_path: Path) -> None:
    a, b = (str(run.path) for run in worsen(desk))
    alone = cli("show", a, b, cwd=tmp_path).out
    assert "no edit is named: " in alone
    same = " ".join(cli("show", a, a, cwd=desk.repo.root).out.split())
    assert "the same rubrics, judges and questions graded both, so no edit of them moved anything" in same
    assert "the same output in both" in same


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--failed"], "--failed is for the outputs of one run"),
        (["--check", "no"], "--check is for the outputs of one run"),
        (["--format", "csv"], "a table has the outputs of one run"),
        (["--question", "q1", "--format", "html"], "the page of two runs has all pairs"),
    ],
)
def test_what_is_of_one_run_is_refused(
    desk: Desk, cli: Callable[..., Any], tmp_path: Path, argv: list[str], words: str
) -> None:
    a = write_rows(tmp_path / "a.jsonl", {"p": 1.0, "q": 0.0})
    ran = cli("show", a, a, *argv, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert cli("show", "rubric/r", "rubric/r", cwd=desk.repo.root).code == 2
    none = cli("show", a, a, "--question", "none", cwd=tmp_path)
    assert (none.code, "no pair of outputs to the question none" in none.err) == (3, True)


HOSTS = {
    "https://github.com/org/evals.git": "https://github.com/org/evals/commit/",
    "https://user:secret@gitlab.com/group/sub/evals": "https://gitlab.com/group/sub/evals/-/commit/",
    "ssh://git@git.drupalcode.org:22/project/evals.git": "https://git.drupalcode.org/project/evals/-/commit/",
    "git@bitbucket.org:org/evals.git": "https://bitbucket.org/org/evals/commits/",
    "https://github.com.example.org/org/evals": "",
    "https://example.org/github.com/evals": "",
    "/srv/github.com/org/evals": "",
    "https://github.com/org/evals?x='\"": "",
}


def test_commits_are_linked_where_the_host_is_known() -> None:
    assert {url: name_commit_pages(url) for url in HOSTS} == HOSTS
