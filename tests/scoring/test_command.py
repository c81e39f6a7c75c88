from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.places import find_resource_folder
from evalstore.runs import read_rows, read_run
from evalstore.store import ArtifactStore

Cli = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture
def repo(store: ArtifactStore) -> Path:
    assert store.root is not None
    return store.root


@pytest.mark.parametrize("name", ["output/score", "result"])
def test_the_document_is_what_its_schema_says(name: str, cli: Cli, repo: Path, write: Write) -> None:
    schema = json.loads((find_resource_folder("schema") / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    for outputs in (None, {"four": "x"}, {"one": "x", "stray": "y"}):
        path = write(outputs) if outputs else write()
        ran = cli("score", "dataset/small@1.0.0", path, "--format", "json", cwd=repo)
        assert ran.code == (outputs == {"four": "x"})  # nothing is scored
        assert list(Draft202012Validator(schema).iter_errors(json.loads(ran.out))) == []


def test_a_run_is_neither_written_nor_read_through_a_link_of_the_repository(
    cli: Cli, repo: Path, write: Write, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (repo / "runs").symlink_to(outside)
    for out in ("runs", "runs/deep", "runs/../runs"):
        ran = cli("score", "dataset/small@1.0.0", write(), "--out", out, cwd=repo)
        assert (ran.code, ran.out) == (3, "")
        assert "runs: is a link, and evalstore does not write through links" in ran.err
    assert not list(outside.iterdir())
    # The user's own link elsewhere is followed.
    (tmp_path / "mine").symlink_to(outside)
    assert cli("score", "dataset/small@1.0.0", write(), "--out", tmp_path / "mine", cwd=repo).code == 0
    samples = next(outside.glob("*.jsonl"))
    samples.rename(tmp_path / "secret")
    samples.symlink_to(tmp_path / "secret")
    ran = cli("score", "dataset/small@1.0.0", next(outside.glob("*.json")), "--out", "results", cwd=repo)
    assert ran.code == 3
    assert "is a link, but the rows of a run must be a file" in ran.err


def test_the_document_names_a_run_that_can_be_read(cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/small@1.0.0", write(), "--format", "json", cwd=repo)
    answer = json.loads(ran.out)
    assert answer["run"] == "runs/small-1.0.0-model_a.json"
    assert ran.err == "warning: 1 output has no score: the question lists no fact (four)\n"
    assert (answer["score"], answer["score_exact"], answer["pass_rate"]) == (0.888888888889, "8/9", 1.0)
    assert "pass_rate_exact" not in answer
    run = read_run(repo / answer["run"])
    assert (answer["questions"], answer["scored"], answer["unscored"]) == (run.questions, run.scored, run.unscored)
    assert answer["checks"]["sound"] == {
        "mean": None,
        "pass": 0,
        "fail": 0,
        "unscored": 1,
        "errors": 0,
        "error_ids": [],
    }


def test_the_text_is_calm_and_complete(cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/small@1.0.0", write(), "--out", "here", cwd=repo)
    assert ran.out == (
        "dataset/small@1.0.0   model_a\n"
        "\n"
        "score       88.89   mean of 3 scored questions, in points of 100\n"
        "pass rate  100.00\n"
        "coverage    88.89   8 of 9 gradings; sound had nothing to grade on any output\n"
        "unscored        1   counted in no mean\n"
        "\n"
        "check   mean  pass  fail  missing  error\n"
        "calm   50.00     1     1        0      0\n"
        "sound      -     0     0        1      0\n"
        "4 checks that every output passed: code/polite, fenced, short and 1 more\n"
        "\n"
        "run  here/small-1.0.0-model_a.json\n"
        "\n"
        "1 output did not pass\n"
        "  UNSCORED  -  four  sound: the question lists no fact\n"
    )
    assert ran.next_steps == "next: evalstore show here/small-1.0.0-model_a.json --failed\n"
    whole = cli("score", "dataset/small@1.0.0", write(), "--out", "here", "-v", cwd=repo).out
    assert "short        100.00     2     0        0      0\n" in whole


def test_warnings_go_to_stderr(cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/small", write({"one": "x", "\x1b[31m": "y"}), cwd=repo)
    assert ran.code == 0
    assert ran.err == (
        "warning: dataset/small floats: today it is dataset/small@1.0.0\n"
        "warning: questions of dataset/small without an output: 3 of 4\n"
        "warning: outputs without a question in dataset/small: 1 (the first is '\\x1b[31m')\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "defaults: {rubric_ref: rubric/nobody@1.0.0}\nquestions: [{id: one, input: x}]\n",
            "the question 'one' (line 4) names rubric/nobody@1.0.0: there is no rubric/nobody",
        ),
        ("questions: 5\n", "`questions` is not a list"),
    ],
)
def test_an_unsound_dataset_is_one_sentence_in_words_of_the_user(
    text: str, said: str, cli: Cli, repo: Path, write: Write
) -> None:
    (repo / "datasets/odd.yaml").write_text(f"id: odd\nversion: 1.0.0\n{text}")
    ran = cli("score", "dataset/odd@worktree", write({"one": "x"}), cwd=repo)
    assert (ran.code, ran.err.splitlines()[0]) == (3, f"error: {said}")


def test_run_elsewhere_it_answers_as_if_started_there(cli: Cli, repo: Path, write: Write, tmp_path: Path) -> None:
    write()
    ran = cli("-C", "repo", "score", "dataset/small@1.0.0", "../model_a.jsonl", "--format", "json", cwd=tmp_path)
    assert json.loads(ran.out)["run"] == "runs/small-1.0.0-model_a.json"
    assert (repo / "runs/small-1.0.0-model_a.json").is_file()


@pytest.mark.parametrize(
    ("argv", "code", "sentence"),
    [
        (["dataset/small@1.0.0"], 2, "OUTPUTS"),
        (["dataset/small@1.0.0", "nowhere.jsonl"], 3, "nowhere.jsonl: cannot be read: no such file"),
        (["dataset/small@1.0.0", "."], 3, "is a folder without a run"),
        (["dataset/small@9.9.9", "x.jsonl"], 3, "has no version 9.9.9"),
        (["dataset/smal@1.0.0", "x.jsonl"], 3, "did you mean dataset/small"),
        (["small", "x.jsonl"], 2, "is not a reference"),
        (["rubric/tone@1.0.0", "x.jsonl"], 3, "is a rubric, not a dataset"),
        (["dataset/small@1.0.0", "x.jsonl", "--format", "xml"], 2, "xml"),
    ],
)
def test_a_wrong_command_is_one_sentence(argv: list[str], code: int, sentence: str, cli: Cli, repo: Path) -> None:
    ran = cli("score", *argv, cwd=repo)
    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.err
    assert not (repo / "runs").exists()


def test_outside_a_repository_it_says_so(cli: Cli, tmp_path: Path, write: Write) -> None:
    ran = cli("score", "dataset/small@1.0.0", write(), cwd=tmp_path)
    assert ran.code == 3
    assert "not in a git repository" in ran.err


@pytest.mark.chaos
def test_killed_half_way_no_run_is_left_and_the_next_one_is_whole(
    cli: Cli, repo: Path, tmp_path: Path, store: ArtifactStore
) -> None:
    rows, runs = repo / "datasets" / "many.jsonl", repo / "runs"
    ids = [f"q{number}" for number in range(8_000)]
    rows.write_text("".join(f'{{"id": "{id_}", "input": "?"}}\n' for id_ in ids), encoding="utf-8")
    outputs = tmp_path / "model_a.jsonl"
    outputs.write_text("".join(f'{{"id": "{id_}", "output": "thanks"}}\n' for id_ in ids), encoding="utf-8")
    argv = [sys.executable, "-m", "evalstore", "score", "dataset/many@worktree", str(outputs)]
    process = subprocess.Popen(argv, cwd=repo, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(1000):
        if runs.exists() and any(path.stat().st_size for path in runs.iterdir()):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [path.suffix for path in runs.iterdir()] == [".tmp"]
    ran = cli("score", "dataset/many@worktree", outputs, "--format", "json", cwd=repo)
    run = read_run(repo / json.loads(ran.out)["run"])
    assert (run.path.name, run.questions) == ("many-worktree-model_a.json", 8_000)
    assert sum(1 for _ in read_rows(run)) == 8_000


def test_the_sample_store_scores_as_its_story_says(cli: Cli, release: Callable[..., Path], tmp_path: Path) -> None:
    source = find_resource_folder("sample_repo") / "history" / "02-own-rubrics"
    files = {str(path.relative_to(source)): path.read_text("utf-8") for path in sorted(source.glob("*/*.yaml"))}
    repo = release(files)
    outputs = find_resource_folder("sample_repo") / "outputs" / "model_a.jsonl"
    ran = cli("score", "dataset/web_answers@1.0.0", outputs, "--format", "json", cwd=repo)
    answer = json.loads(ran.out)
    assert (round(100 * answer["score"], 2), answer["questions"], answer["pass_rate_exact"]) == (80.36, 14, "11/14")


def test_help_has_examples(cli: Cli) -> None:
    ran = cli("score", "--help")
    assert ran.code == 0
    assert "evalstore score dataset/web_answers@1.0.0 outputs/model_a.jsonl" in ran.out
    # A gate of 0.8 points would pass everything, so that it is read as 80, and the help says so.
    assert "(below 1 a fraction: 0.8 is 80)" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 0, ""),
        (("--fail-under", "0.66"), 0, ""),
        (("--fail-under", "0.88", "--min-scored", "0.7"), 0, ""),
        (
            ("--fail-under", "0.88"),
            1,
            "it is 66.666666666667, below 88: --min-scored says how many may be left out\n",
        ),
        (("--fail-under", "0.9"), 1, "the score 88.888888888889 is below 90\n"),
        (
            ("--fail-under", "1"),
            2,
            "1 may mean one point of 100 or all of them: write 0.01 or 100\nhint: see evalstore score --help\n",
        ),
        (("--fail-under", "nan"), 2, "nan is not a number\nhint: see evalstore score --help\n"),
        (("--min-scored", "0.75"), 0, ""),
        (("--min-scored", "0.76"), 1, "3 of 4 questions have a score; --min-scored asks for 76 %\n"),
    ],
)
def test_a_gate_on_a_run(options: tuple[str, ...], code: int, said: str, cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/small@1.0.0", write(), *options, cwd=repo)
    assert (ran.code, ran.err.endswith(said)) == (code, True)


def test_a_run_in_which_nothing_is_scored_is_never_green(cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/small@1.0.0", write({"four": "x"}), cwd=repo)
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "nothing was scored")
    assert (repo / "runs/small-1.0.0-model_a.json").exists()


@pytest.mark.process
def test_outputs_and_rows_in_parquet_give_the_same_scores_and_an_audit(cli: Cli, repo: Path, write: Write) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in write().read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(rows), repo / "model_a.parquet")
    lines = cli("score", "dataset/small@1.0.0", write(), "--out", "a", cwd=repo)
    columns = cli("score", "dataset/small@1.0.0", "model_a.parquet", "--out", "b", cwd=repo)
    again = cli("score", "dataset/small@1.0.0", "b/small-1.0.0-model_a_samples.parquet", "--rows", "jsonl", cwd=repo)
    assert (lines.code, columns.code, again.code) == (0, 0, 0)
    paths = [repo / folder / "small-1.0.0-model_a.json" for folder in ("a", "b", "runs")]
    suffixes = [read_run(path).samples.suffix for path in paths]
    assert suffixes == [".jsonl", ".parquet", ".jsonl"]
    first, *others = (list(read_rows(read_run(path))) for path in paths)
    assert all(found == first for found in others)
    audit = cli("audit", paths[0], paths[1].with_name("small-1.0.0-model_a_samples.parquet"), cwd=repo)
    assert (audit.code, audit.err) == (0, "")
    shown = cli("show", "b/small-1.0.0-model_a_samples.parquet", "--failed", cwd=repo)
    assert "anything" in shown.out
    replays = [
        cli("history", path, "--rubric", "rubric/tone@1.0.0", "--format", "json", cwd=repo) for path in paths[:2]
    ]
    before, after = (json.loads(ran.out) | {"run": None} for ran in replays)
    assert before == after
