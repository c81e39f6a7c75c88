"""Gradings of skill-creator are runs: what its grader said of each statement, and no output to grade again."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.errors import LoadError
from evalstore.model import Verdict
from evalstore.places import find_resource_folder
from evalstore.runs import MissingOutput, Run, read_outputs
from evalstore.runs.records import open_record, read_record
from evalstore.runs.run_search import iterate_runs
from evalstore.runs.values import SeriesMean

SCHEMA = json.loads((find_resource_folder("schema") / "output/audit_records.schema.json").read_text("utf-8"))
Cli = Callable[..., Any]

NAMED = {"text": "Names the river", "passed": True, "evidence": "Line 2: the Elbe"}
SUMMED = {"text": "Has a sum", "passed": False, "evidence": "There is no sum."}
GRADING = {"expectations": [NAMED, SUMMED], "summary": {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}}


def graded(id_: Any, *passed: Any, configuration: str = "with_skill", **more: Any) -> dict[str, Any]:
    texts = ("Names the river", "Has a sum")
    statements = [{"text": text, "passed": one, "evidence": "…"} for text, one in zip(texts, passed, strict=False)]
    return {"eval_id": id_, "configuration": configuration, "result": {}, "expectations": statements, **more}


def benchmark(folder: Path, *runs: Any, **metadata: Any) -> Path:
    path = folder / "benchmark.json"
    head = {"skill_name": "rivers", "executor_model": "m-1", "timestamp": "2026-01-15T10:30:00Z"}
    path.write_text(json.dumps({"metadata": head | metadata, "runs": list(runs), "run_summary": {}, "notes": []}))
    return path


def write_grading(folder: Path, value: Any = GRADING) -> Path:
    folder.mkdir(parents=True)
    path = folder / "grading.json"
    path.write_text(json.dumps(value))
    return path


def count(run: Run) -> tuple[Fraction | None, int, int, int]:
    return run.score, run.scored, run.unscored, run.outputs


def test_a_benchmark_is_a_run_with_a_check_for_each_statement(tmp_path: Path) -> None:
    run = read_record(benchmark(tmp_path, graded(1, True, True), graded(2, True, False), graded("x", True, "?")))
    assert (run.name, run.model, run.at, run.dataset) == ("rivers", "m-1", "2026-01-15T10:30:00Z", None)
    assert count(run) == (Fraction(5, 6), 3, 0, 3)
    assert {id_: (check.mean, check.fail, check.errors) for id_, check in run.checks.items()} == {
        "Names the river": (1, 0, 0),
        "Has a sum": (Fraction(1, 2), 1, 1),
    }
    rows = [one.row for one in open_record(run.path, None)[1] if not one.is_stored]
    assert [(row.id, row.score, row.verdict) for row in rows] == [
        ("1", 1, Verdict.PASS),
        ("2", Fraction(1, 2), Verdict.FAIL),
        ("x", 1, Verdict.PASS),
    ]
    assert [check.verdict for check in rows[2].checks] == [Verdict.PASS, Verdict.UNSCORED]


def test_configurations_are_told_apart_and_runs_of_one_are_samples(tmp_path: Path) -> None:
    runs = (graded(1, True, True), graded(1, True, False), graded(1, False, False, configuration="without_skill"))
    run = read_record(benchmark(tmp_path, *runs))
    assert count(run) == (None, 2, 0, 3)
    assert run.series == (
        SeriesMean("with_skill", Fraction(3, 4), 1, Fraction(3, 4), 1, only={"configuration": "with_skill"}),
        SeriesMean("without_skill", Fraction(0), 1, is_baseline=True, only={"configuration": "without_skill"}),
    )
    rows = [one.row for one in open_record(run.path, None)[1]]
    assert [(row.id, row.sample) for row in rows] == [("1/with_skill", 0), ("1/with_skill", 1), ("1/without_skill", 0)]


def test_each_configuration_has_a_mean_of_its_own(cli: Cli, tmp_path: Path) -> None:
    arms = [graded(id_, True, True) for id_ in (1, 2)] + [
        graded(id_, False, id_ == 3, configuration="without_skill") for id_ in (1, 3)
    ]
    path = benchmark(tmp_path, *arms)
    run = read_record(path)
    assert run.score is None
    assert [(one.name, one.score, one.questions, one.difference, one.common) for one in run.series] == [
        ("with_skill", 1, 2, 1, 1),
        ("without_skill", Fraction(1, 4), 2, None, 0),
    ]
    assert "of 2 configurations" in repr(run)
    shown = cli("show", path).out
    assert "with_skill: 100.00 over 2 questions, 100.00 points above without_skill on the 1 that both have.\n" in shown
    assert "without_skill: 25.00 over 2 questions.\n" in shown
    assert "62.50" not in shown
    found = json.loads(cli("show", path, "--format", "json").out)
    assert (found["score"], [one["score"] for one in found["series"]]) == (None, [1, 0.25])
    assert "without_skill" in cli("show", path, "--format", "html").out


def test_two_benchmarks_are_compared_configuration_by_configuration(cli: Cli, tmp_path: Path) -> None:
    paths = []
    for name, holds in (("a", False), ("b", True)):
        (tmp_path / name).mkdir()
        arms = [graded(1, True, holds), graded(1, False, False, configuration="without_skill")]
        paths.append(benchmark(tmp_path / name, *arms))
    told = cli("audit", *paths).out
    assert told.startswith("with_skill rose by 50.00 points on 1 pair of recorded answers.")
    assert "without_skill did not move on 1 pair" in " ".join(told.split())
    assert "change with_skill" in told
    found = json.loads(cli("audit", *paths, "--format", "json").out)
    assert [(one["name"], one["pairs"], one["delta"]) for one in found["series"]] == [
        ("with_skill", 1, 0.5), ("without_skill", 1, 0)
    ]  # fmt: skip


def test_the_configurations_of_one_file_are_held_against_its_baseline(cli: Cli, tmp_path: Path) -> None:
    arms = [
        graded(id_, holds, holds and id_ < 9, configuration=name)
        for id_ in range(1, 11)
        for name, holds in (("with_skill", True), ("without_skill", False), ("with_hints", id_ % 2 == 0))
    ]
    path = benchmark(tmp_path, *arms)
    ran = cli("audit", path, "--fail-on", "delta<0", "--verbose")
    assert ran.code == 0, ran.err
    first, second = ran.out.split("\n\n")[:2]
    assert " ".join(first.split()) == (
        "with_skill scored 90.00 points above without_skill on 10 pairs of recorded answers. That is more than chance."
    )
    assert second.startswith("with_hints scored 45.00 points above without_skill on 10 pairs")
    rows = [line.split()[:3] for line in ran.out.splitlines()]
    assert ["without_skill", "0.00", "0.00"] in rows
    assert rows.count(["without_skill", "0.00", "0.00"]) == 1
    assert ["with_hints", "45.00", "40.00"] in rows
    found = json.loads(cli("audit", path, "--format", "json").out)
    Draft202012Validator(SCHEMA).validate(found)
    assert (found["names"], found["delta"]) == (["without_skill", "with_skill"], 0.9)
    assert [(one["names"][1], one["delta"]) for one in found["others"]] == [("with_hints", 0.45)]
    assert "Configurations of one file" in cli("audit", path, "--format", "html").out
    # --only narrows them, and one alone has nothing to be held against.
    narrow = cli("audit", path, "--only", "configuration=with_*", "--fail-on", "delta<0")
    assert (narrow.code, narrow.out.split(" on ")[0]) == (1, "with_hints scored 45.00 points below with_skill")
    alone = cli("audit", path, "--only", "configuration=with_hints")
    assert (alone.code, "holds one configuration of configuration 'with_hints'" in alone.err) == (3, True)
    assert cli("audit", path, "--question", "1").code == 2


@pytest.mark.parametrize(
    ("folder", "id_"),
    [("eval-7/with_skill/run-1", "7"), ("iteration-2/ocean/without_skill/run-1", "ocean"), ("elsewhere", "grading")],
)
def test_a_grading_is_of_the_eval_that_its_folders_name(tmp_path: Path, folder: str, id_: str) -> None:
    run = read_record(write_grading(tmp_path / folder))
    (row,) = [one.row for one in open_record(run.path, None)[1]]
    assert (row.id, row.score, run.score) == (id_, Fraction(1, 2), Fraction(1, 2))
    assert [(check.id, check.reason) for check in row.checks] == [
        ("Names the river", "Line 2: the Elbe"),
        ("Has a sum", "There is no sum."),
    ]


def test_show_has_the_evidence_the_worst_first(cli: Cli, tmp_path: Path) -> None:
    path = benchmark(tmp_path, graded(1, True, True), graded(2, True, False))
    ran = cli("show", path)
    assert ran.code == 0
    assert ran.out.splitlines()[:5] == [
        "rivers   m-1",
        "The mean score is 75.00 over 2 questions, and 50.00 % of them pass.",
        "",
        "FAIL       50.00  2",
        "  pass    100.00  Names the river  …",
    ]
    told = json.loads(cli("show", path, "--failed", "--check", "Has a sum", "--format", "json").out)
    assert [row["id"] for row in told["rows"]] == ["2"]
    assert "answered" not in cli("show", path, "--question", "2").out


def test_there_is_nothing_to_grade_again(cli: Cli, git: Callable[..., str], tmp_path: Path) -> None:
    path = benchmark(tmp_path, graded(1, True))
    (missing,) = read_outputs(path)
    assert isinstance(missing, MissingOutput)
    assert missing.reason == "a grading of skill-creator has no output: score the answers themselves"
    git()
    repo = tmp_path / "repo"
    (repo / "datasets").mkdir()
    (repo / "datasets/d.yaml").write_text('id: d\nversion: "1.0.0"\nquestions:\n  - {id: "1", input: "?"}\n')
    ran = cli("-C", repo, "score", "dataset/d@worktree", path)
    assert ran.code == 3
    assert "score the answers themselves" in ran.err


def test_a_folder_of_gradings_has_runs(tmp_path: Path) -> None:
    for number in (1, 2):
        write_grading(tmp_path / f"eval-{number}/with_skill/run-1")
    (tmp_path / "evals.json").write_text('{"skill_name": "rivers", "evals": []}')
    assert [found.score for _, found in iterate_runs(tmp_path) if isinstance(found, Run)] == [Fraction(1, 2)] * 2


@pytest.mark.parametrize(
    "value",
    [
        {"runs": [1], "run_summary": {}},
        {"runs": [{"configuration": "with_skill"}], "run_summary": {}},
        {"expectations": "all", "summary": {}},
        {"expectations": ["all"], "summary": {}},
    ],
)
def test_a_run_of_another_shape_is_one_row_that_cannot_be_read(tmp_path: Path, value: Any) -> None:
    run = read_record(write_grading(tmp_path / "a", value))
    assert (run.unread_rows, run.score, run.outputs) == (1, None, 0)
    assert "cannot be read" in next(iter(run.missing_outputs.values()))


def test_runs_that_are_no_list_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="its `runs` are not a list of runs"):
        read_record(write_grading(tmp_path / "a", {"runs": {}, "run_summary": {}}))


def test_a_summary_alone_is_not_passed_off_as_a_question(tmp_path: Path) -> None:
    alone = {"metadata": {"tests_run": ["a", "b"]}, "run_summary": {"gpt": {"pass_rate": {"mean": 0.75, "stddev": 0}}}}
    run = read_record(write_grading(tmp_path / "a", alone))
    assert (run.score, run.scored) == (Fraction(3, 4), 1)
    assert run.notes == ("it has no runs, only a summary: what counts as one question is the mean of all evals",)


def test_a_grading_without_a_verdict_is_unscored(tmp_path: Path) -> None:
    run = read_record(write_grading(tmp_path / "a", {"expectations": [{"text": "t"}, {"text": "t"}], "summary": {}}))
    assert count(run) == (None, 0, 1, 1)
    (row,) = [one.row for one in open_record(run.path, None)[1]]
    assert [check.id for check in row.checks] == ["t", "t (2)"]
    assert row.reason == "its grader gave no verdict"
