"""`score --worktree`: grading with files that have no release yet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from evalstore import api
from evalstore.cli.score import command
from evalstore.errors import RefError, UsageError
from evalstore.model import WorktreePins
from evalstore.runs import read_run
from tests.conftest import Ran
from tests.scoring.conftest import FILES, JUDGED, OUTPUTS

CASES = Path(__file__).resolve().parents[1] / "cases"
Cli = Callable[..., Ran]
Git = Callable[..., str]


@pytest.fixture
def fresh(git: Git, tmp_path: Path) -> Path:
    """A repository with files of every kind, of which nothing is released and nothing is committed."""
    git()
    repo = tmp_path / "repo"
    for name, text in {**FILES, **JUDGED}.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text, encoding="utf-8")
    lines = (json.dumps({"id": id_, "output": text}) for id_, text in OUTPUTS.items())
    (repo / "model_a.jsonl").write_text("\n".join(lines) + "\n")
    (repo / "rows.jsonl").write_text('{"id": "a", "output": "thanks"}\n{"id": "b", "output": "!"}\n')
    return repo


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# The command


def test_the_first_store_is_edited_and_scored_without_a_release_or_a_commit(cli: Cli, git: Git, tmp_path: Path) -> None:
    assert cli("init", "repo", "--example", cwd=tmp_path).code == 0
    repo = tmp_path / "repo"
    words = ("score", "dataset/help_desk", "outputs/model_a.jsonl")
    refused = cli(*words, cwd=repo)
    assert refused.code == 3
    assert "score with `worktree` (--worktree)" in refused.err
    before = cli(*words, "--worktree", cwd=repo)
    assert (before.code, before.err) == (0, "")
    assert before.out.startswith("dataset/help_desk@worktree   model_a   unreleased\n\nscore       81.25 ")
    assert "\nunreleased          1 dataset and 1 rubric\n" in before.out
    edit(repo / "rubrics/answer_style.yaml", "because, so that", "because, so that, you get")
    after = cli(*words, "--worktree", cwd=repo)
    assert "\nscore       93.75 " in after.out
    assert git("for-each-ref") == ""
    # What was tried is released as it is: the audit knows the content again.
    assert cli("bump", "--all", cwd=repo).code == 0
    assert cli("score", "dataset/help_desk@1.0.0", "outputs/model_a.jsonl", cwd=repo).code == 0
    runs = (f"runs/help_desk-{name}.json" for name in ("worktree-model_a-3", "1.0.0-model_a"))
    audited = json.loads(cli("audit", *runs, "--format", "json", cwd=repo).out)
    assert (audited["delta"], [one for one in audited["factors"] if one["changed"]]) == (0, [])
    assert any("its content is that of rubric/answer_style@1.0.0" in note for note in audited["notes"])


def test_a_migrated_suite_is_scored_before_anything_is_committed(cli: Cli, git: Git, fresh: Path) -> None:
    legacy = CASES / "migrations/ai_best_practices/every_check/legacy"
    assert cli("migrate", legacy, "--into", fresh, cwd=fresh).code == 0
    with api.Store.open(fresh) as store:
        name = "dataset/drupal_forms"
        ids = [question.id for question in store.read_questions(f"{name}@worktree")]
    (fresh / "answers.jsonl").write_text("".join(json.dumps({"id": id_, "output": "x"}) + "\n" for id_ in ids))
    ran = cli("score", name, "answers.jsonl", "--worktree", cwd=fresh)
    assert (ran.code, "   unreleased\n" in ran.out) == (0, True), ran.err
    assert git("for-each-ref") == ""


def test_the_value_follows_the_option_only_after_an_equals_sign(cli: Cli, fresh: Path) -> None:
    for words in (
        ["--worktree", "dataset/small"],
        ["dataset/small", "--worktree"],
        ["--worktree=all", "dataset/small"],
    ):
        assert cli("score", *words, "model_a.jsonl", cwd=fresh).code == 0
    for words in (["--worktree=some"], ["--worktree="], ["--worktree", "all"]):
        assert cli("score", *words, "dataset/small", "model_a.jsonl", cwd=fresh).code == 2
    assert cli("score", "--", "--worktree", "model_a.jsonl", cwd=fresh).code == 2


def test_the_choices_are_those_of_a_store() -> None:
    (option,) = (option for option in command.params if option.name == "worktree")
    assert isinstance(option.type, click.Choice)
    assert [*option.type.choices] == [*WorktreePins]


def test_every_way_to_look_at_the_run_says_that_it_is_unreleased(cli: Cli, fresh: Path) -> None:
    ran = cli("score", "dataset/small", "model_a.jsonl", "--worktree", "--format", "json", cwd=fresh)
    document = json.loads(ran.out)
    assert document["unreleased"] is True
    assert [pinned["ref"] for pinned in document["rubrics"]] == [
        f"rubric/{name}@worktree" for name in ("code", "factual", "tone")
    ]
    shown = cli("show", document["run"], cwd=fresh).out
    sentence = "Unreleased: it was graded by dataset/small@worktree, rubric/code@worktree, rubric/factual@worktree and"
    assert sentence in " ".join(shown.split())
    assert json.loads(cli("show", document["run"], "--format", "json", cwd=fresh).out)["unreleased"] is True
    run = api.Run.read(fresh / document["run"])
    assert run.unreleased
    assert ", unreleased," in repr(run)
    assert run.to_dict()["unreleased"] is True  # type: ignore[attr-defined]
    assert cli("bump", "--all", cwd=fresh).code == 0
    released = cli("score", "dataset/small@1.0.0", "model_a.jsonl", "--format", "json", cwd=fresh)
    assert json.loads(released.out)["unreleased"] is False
    runs = ("--run", document["run"], "--run", json.loads(released.out)["run"])
    history = cli("history", "rubric/tone", *runs, cwd=fresh)
    assert "model_a (small-worktree-model_a.json, unreleased)" in history.out
    assert "model_a (small-1.0.0-model_a.json)" in history.out
    listed = json.loads(cli("history", "rubric/tone", *runs, "--format", "json", cwd=fresh).out)
    # The content is that of the release by now, and the run still says what it was then.
    assert (listed["unreleased"], listed["recorded"]) == ([True, False], ["1.0.0", "1.0.0"])
    assert cli("site", "pages", "--runs", "runs", cwd=fresh).code == 0
    assert "small@worktree, unreleased" in (fresh / "pages/index.html").read_text()
    assert any("Unreleased: it was graded by" in path.read_text() for path in (fresh / "pages/runs").iterdir())


def test_the_other_options_are_as_always(cli: Cli, fresh: Path) -> None:
    words = ("score", "dataset/small", "model_a.jsonl", "--worktree")
    plan = cli(*words, "--dry-run", cwd=fresh)
    assert (plan.code, (fresh / "runs").exists()) == (0, False)
    assert plan.out == "judge calls to make: 0\n"
    low = cli(*words, "--fail-under", "0.99", "--out", "kept", cwd=fresh)
    assert low.code == 1
    assert read_run(fresh / "kept/small-worktree-model_a.json").unreleased
    named = cli("score", "dataset/small", "model_a.jsonl", "--worktree", "--rubric", "rubric/code", cwd=fresh)
    assert named.code == 0
    (rubric,) = read_run(fresh / "runs/small-worktree-model_a.json").rubrics
    assert rubric.ref == "rubric/code@worktree"


# What is read from where


def test_a_pin_with_a_release_means_the_release_and_an_edit_of_its_file_is_said(
    cli: Cli, git: Git, fresh: Path
) -> None:
    assert cli("bump", "rubric/tone", cwd=fresh).code == 0
    edit(fresh / "rubrics/tone.yaml", "[please, thanks]", "[never]")
    words = ("score", "dataset/many", "rows.jsonl")
    mixed = cli(*words, "--worktree", cwd=fresh)
    assert mixed.err == (
        "warning: rubrics/tone.yaml differs from rubric/tone@1.0.0, which graded: --worktree=all grades with the file\n"
    )
    run = read_run(fresh / "runs/many-worktree-rows.json")
    assert [pinned.ref for pinned in run.rubrics] == ["rubric/tone@1.0.0"]
    assert run.unreleased  # the dataset is
    whole = cli(*words, "--worktree=all", cwd=fresh)
    assert whole.err == ""
    assert [pinned.ref for pinned in read_run(fresh / "runs/many-worktree-rows-2.json").rubrics] == [
        "rubric/tone@worktree"
    ]
    assert mixed.out != whole.out


def test_an_edit_of_rows_is_said_and_one_of_a_title_is_not(cli: Cli, fresh: Path) -> None:
    assert cli("bump", "--all", cwd=fresh).code == 0
    words = ("score", "dataset/many@1.0.0", "rows.jsonl", "--worktree")
    edit(fresh / "rubrics/tone.yaml", "version: 1.0.0\n", "version: 1.0.0\ntitle: Tone\n")
    assert cli(*words, cwd=fresh).err == ""
    edit(fresh / "datasets/many.jsonl", "B?", "C?")
    assert cli(*words, cwd=fresh).err == (
        "warning: datasets/many.jsonl differs from dataset/many@1.0.0, which graded: "
        "--worktree=all grades with the file\n"
    )


def test_the_next_version_is_tried_before_its_release(cli: Cli, fresh: Path) -> None:
    assert cli("bump", "--all", cwd=fresh).code == 0
    edit(fresh / "rubrics/tone.yaml", "version: 1.0.0", "version: 1.1.0")
    edit(fresh / "datasets/many.yaml", "rubric/tone@1.0.0", "rubric/tone@1.1.0")
    edit(fresh / "datasets/many.yaml", "version: 1.0.0", "version: 1.1.0")
    refused = cli("score", "dataset/many@1.1.0", "rows.jsonl", cwd=fresh)
    assert (refused.code, "score with `worktree` (--worktree)" in refused.err) == (3, True)
    assert cli("score", "dataset/many@1.1.0", "rows.jsonl", "--worktree", cwd=fresh).code == 0
    run = read_run(fresh / "runs/many-worktree-rows.json")
    assert [(pinned.ref, pinned.version) for pinned in run.rubrics] == [("rubric/tone@worktree", "1.1.0")]


@pytest.mark.parametrize(
    ("pin", "message"),
    [
        ("1.4.0", "rubrics/tone.yaml has version 1.0.0"),
        ("^2", "rubrics/tone.yaml has version 1.0.0"),
    ],
)
def test_a_file_of_another_version_is_not_what_a_pin_means(cli: Cli, fresh: Path, pin: str, message: str) -> None:
    edit(fresh / "datasets/many.yaml", "rubric/tone@1.0.0", f"rubric/tone@{pin}")
    refused = cli("score", "dataset/many", "rows.jsonl", "--worktree", cwd=fresh)
    assert (refused.code, message in refused.err) == (3, True)
    assert cli("score", "dataset/many", "rows.jsonl", "--worktree=all", cwd=fresh).code == 0


@pytest.mark.parametrize("pin", ["", "@latest", "@1.0", "@^1", "@1.0.0", "@worktree"])
def test_each_pin_of_the_version_in_the_file_means_the_file(cli: Cli, fresh: Path, pin: str) -> None:
    edit(fresh / "datasets/many.yaml", "rubric/tone@1.0.0", f"rubric/tone{pin}")
    (fresh / "evalstore.yaml").write_text("unpinned: forbid\n")
    ran = cli("score", f"dataset/many{pin}", "rows.jsonl", "--worktree", cwd=fresh)
    assert (ran.code, ran.err) == (0, "")


def test_a_file_that_is_broken_or_missing_is_said(cli: Cli, fresh: Path) -> None:
    (fresh / "rubrics/tone.yaml").write_text("id: tone\nversion: [\n")
    broken = cli("score", "dataset/many", "rows.jsonl", "--worktree", cwd=fresh)
    assert (broken.code, "rubrics/tone.yaml:" in broken.err) == (3, True)
    (fresh / "rubrics/tone.yaml").unlink()
    for choice in ("unreleased", "all"):
        gone = cli("score", "dataset/many", "rows.jsonl", f"--worktree={choice}", cwd=fresh)
        assert (gone.code, "tone" in gone.err) == (3, True)


def test_rows_beside_a_dataset_are_read_from_disk_by_any_number_of_processes(cli: Cli, fresh: Path) -> None:
    with api.Store.open(fresh) as store:
        assert store.with_worktree().artifacts.worktree is WorktreePins.UNRELEASED
        run = api.score("dataset/many", fresh / "rows.jsonl", store=store, out=fresh / "a", worktree="unreleased")
    assert run.dataset is not None
    assert re.fullmatch("[0-9a-f]{64}", run.dataset.rows or "")
    assert read_run(run.path).dataset == run.dataset
    (fresh / "datasets/many.jsonl").write_text((fresh / "datasets/many.jsonl").read_text().replace("B?", "C?"))
    with api.Store.open(fresh) as store:
        other = api.score("dataset/many", fresh / "rows.jsonl", store=store, out=fresh / "a", worktree="all")
    assert other.dataset is not None
    assert (other.dataset.digest, other.dataset.rows != run.dataset.rows) == (run.dataset.digest, True)


def test_judges_juries_and_composites_are_read_from_their_files(
    cli: Cli, fresh: Path, judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSTORE_JUDGE_MODEL", "small")
    outputs = fresh / "three.jsonl"
    outputs.write_text("".join(json.dumps({"id": id_, "output": id_}) + "\n" for id_ in ("one", "two", "three")))
    words = ("score", "dataset/three", outputs, "--judge-url", judge_server.url)
    for choice, name in (("--worktree", "three-worktree-three"), ("--worktree=all", "three-worktree-three-2")):
        assert cli(*words, choice, cwd=fresh).code == 0
        run = read_run(fresh / f"runs/{name}.json")
        assert [pinned.ref for pinned in run.judges] == [f"judge/{id_}@worktree" for id_ in ("accuracy", "fact", "own")]
        assert [pinned.ref for pinned in run.rubrics] == ["rubric/sound@worktree", "rubric/whole@worktree"]
        assert run.unscored == 0


# From Python


def test_a_store_reads_files_for_whoever_asks_it(fresh: Path) -> None:
    with api.Store.open(fresh) as store:
        with pytest.raises(RefError, match="has no release yet"):
            store.load("rubric/tone@1.0.0")
        trial = store.with_worktree()
        assert isinstance(trial, api.Store)
        assert trial.load("rubric/tone@1.0.0") == store.load("rubric/tone@worktree")
        assert trial.resolve("rubric/tone@1.0.0").ref == "rubric/tone@worktree"
        assert trial.with_worktree(None).artifacts.worktree is None
        assert api.evaluate("rubric/tone", "please", store=store, worktree="unreleased").score == 1
        assert api.evaluate("rubric/tone@1.0.0", "please", store=trial).score == 1
        for wrong in ("some", ""):
            with pytest.raises(UsageError, match="worktree must be 'unreleased', 'all' or None"):
                store.with_worktree(wrong)
            with pytest.raises(UsageError, match="worktree must be 'unreleased', 'all' or None"):
                api.score("dataset/small", fresh / "model_a.jsonl", store=store, worktree=wrong)
        with pytest.raises(UsageError, match="worktree needs a store"):
            api.evaluate({}, "please", worktree="all")
