"""Coverage: how many of the gradings that the rubrics ask for were made; absence passes no bar."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from evalstore.runs import CheckSummary, Run, read_run
from evalstore.store import ArtifactStore

RULERS = {
    "rubrics/agent.yaml": """\
id: agent
version: 1.0.0
checks:
  - {id: calm, kind: must_not_contain, values: ["!"]}
  - {id: tools, kind: tool_usage, tools: [{name: search}]}
scoring: {combine: weighted_avg}
""",
    "rubrics/outer.yaml": """\
id: outer
version: 1.0.0
checks: [{id: inner, kind: composite, rubric_ref: rubric/agent@1.0.0}]
scoring: {combine: weighted_avg}
""",
    "datasets/d.yaml": """\
id: d
version: 1.0.0
defaults: {rubric_ref: rubric/agent@1.0.0}
questions: [{id: q0, input: a}, {id: q1, input: b}]
""",
    "datasets/nested.yaml": """\
id: nested
version: 1.0.0
defaults: {rubric_ref: rubric/outer@1.0.0}
questions: [{id: q0, input: a}, {id: q1, input: b}]
""",
}
RECORDED, BARE = {"tool_calls": [{"name": "search"}]}, dict[str, Any]()


@pytest.fixture
def store(release: Callable[..., Path]) -> Any:
    with ArtifactStore.open(release(RULERS)) as opened:
        yield opened


@pytest.fixture
def outputs(write: Callable[..., Path]) -> Callable[..., Path]:
    """Write one output to each question, each with its record of calls, or without any."""

    def run(*records: dict[str, Any]) -> Path:
        return write([{"id": f"q{number}", "output": "x", **one} for number, one in enumerate(records)])

    return run


def test_a_run_counts_the_gradings_that_were_asked_for_and_made(
    scored: Callable[..., Run], outputs: Callable[..., Path]
) -> None:
    half, none = scored("dataset/d@1.0.0", outputs(RECORDED, BARE)), scored("dataset/d@1.0.0", outputs(BARE, BARE))
    assert (half.score, half.coverage, half.empty_checks) == (1, (3, 4), ())
    assert (none.score, none.coverage, none.empty_checks) == (1, (2, 4), ("tools",))
    assert none.checks["tools"].coverage == (0, 2)
    assert read_run(none.path).coverage == (2, 4)
    assert [row.coverage for row in half.rows()] == [(2, 2), (1, 2)]


def test_a_composite_without_a_check_of_its_rubric_is_no_whole_grading(
    scored: Callable[..., Run], outputs: Callable[..., Path]
) -> None:
    run = scored("dataset/nested@1.0.0", outputs(RECORDED, BARE))
    assert run.checks["inner"] == CheckSummary(mean=run.score, scored=2, fail=0, unscored=0, hollow=1)
    assert read_run(run.path).checks["inner"].hollow == 1
    assert run.coverage == (1, 2)
    assert [check.inner_missing for row in run.rows() for check in row.checks] == [(), ("tools",)]


@pytest.fixture
def score(cli: Any, store: ArtifactStore, outputs: Callable[..., Path], tmp_path: Path) -> Callable[..., Any]:
    def run(records: list[dict[str, Any]], *options: str) -> Any:
        argv = ("score", "dataset/d@1.0.0", outputs(*records), "--out", tmp_path / "runs", *options)
        return cli(*argv, cwd=store.root)

    return run


def test_coverage_stands_beside_the_mean(score: Any, cli: Any, store: ArtifactStore) -> None:
    ran = score([BARE, BARE])
    assert "coverage    50.00   2 of 4 gradings; tools had nothing to grade on any output\n" in ran.out
    path = ran.out.split()[-1]
    shown = cli("show", path, cwd=store.root).out
    assert "Coverage: 2 of 4 gradings; tools had nothing to grade on any output." in " ".join(shown.split())
    found = json.loads(score([BARE, RECORDED], "--format", "json").out)
    assert found["coverage"] == {"graded": 3, "asked": 4}
    assert found["empty_checks"] == []
    page = cli("show", path, "--format", "html", cwd=store.root).out
    assert "2 of 4 gradings" in page


@pytest.mark.parametrize(
    ("records", "options", "code", "words"),
    [
        ([BARE, BARE], ["--fail-under", ".9"], 1, "tools had nothing to grade on any output; --min-scored"),
        ([BARE, BARE], ["--fail-under", ".9", "--min-scored", "0"], 0, ""),
        ([BARE, BARE], ["--min-scored", ".6"], 1, "2 of 4 gradings were made; --min-scored asks for 60 %"),
        ([RECORDED, BARE], ["--min-scored", ".6"], 0, ""),
        ([RECORDED, BARE], ["--fail-under", ".9", "--min-scored", "1"], 1, "3 of 4 gradings were made"),
        ([RECORDED, BARE], ["--fail-under", ".9"], 0, ""),
        ([BARE, BARE], [], 0, ""),
    ],
)
def test_no_bar_is_passed_by_absence(
    score: Any, records: list[dict[str, Any]], options: list[str], code: int, words: str
) -> None:
    ran = score(records, *options)
    assert (ran.code, words in ran.err) == (code, True)


JUDGED = {
    "evalstore.yaml": "rules: {judge-unvalidated: off}\n",
    "judges/drug.yaml": 'id: drug\nversion: 1.0.0\ntemplate: "{{ output }}"\nmodel: {id: m}\nscore_type: binary\n',
    "rubrics/safe.yaml": """\
id: safe
version: 1.0.0
checks:
  - {id: calm, kind: must_not_contain, values: ["!"]}
  - {id: dose, kind: llm_judge, judge_prompt_ref: judge/drug@1.0.0}
scoring: {combine: weighted_avg}
""",
    "datasets/judged.yaml": """\
id: judged
version: 1.0.0
defaults: {rubric_ref: rubric/safe@1.0.0}
questions: [{id: q0, input: a}, {id: q1, input: b}]
""",
}


def test_a_judge_that_is_not_applicable_is_missing_and_its_tokens_are_counted(
    release: Callable[..., Path], outputs: Callable[..., Path], judge_server: Any, cli: Any
) -> None:
    repo = release(JUDGED)
    replies = cycle(['{"verdict": "n/a", "reason": "It names no drug."}', '{"verdict": "pass"}'])
    judge_server.text = lambda _: next(replies)
    judge_server.cost = 0.002
    path = outputs({"output": "no drug"}, {"output": "a drug"})
    argv = ("score", "dataset/judged@1.0.0", path, "--judge-url", judge_server.url)
    found = json.loads(cli(*argv, "--format", "json", cwd=repo).out)
    assert (found["score"], found["failed_gradings"], found["coverage"]) == (1, 0, {"graded": 3, "asked": 4})
    assert found["replies"] == {"asked": 2, "kept": 0, "prompt_tokens": 14, "completion_tokens": 6, "cost": 0.004}
    shown = " ".join(cli("show", repo / found["run"], cwd=repo).out.split())
    assert "Replies of its judges: 14 tokens read, 6 written; cost 0.004." in shown
    assert "not applicable: It names no drug." in shown
    again = cli(*argv, cwd=repo).out
    assert "14 tokens read, 6 written\n" in again
    fresh = cli(*argv, "--fresh", cwd=repo).out
    assert "replies         2   0 kept from before, 2 asked now\n                    14 tokens read" in fresh
