"""The file of an artifact is taken wherever a reference is, and `diff` alone is everything that changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
Git = Callable[..., str]
TONE = (
    "id: tone\nversion: 1.0.0\nchecks:\n  - {kind: must_not_contain, values: [simply]}\nscoring: {combine: all_pass}\n"
)
JUDGE = 'id: accuracy\nversion: 1.0.0\ntemplate: "Is this right? {{ output }}"\nscore_type: binary\n'
WEB = "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions:\n  - {id: a, input: Why?}\n"


@pytest.fixture
def store(git: Git, tmp_path: Path, cli: Cli, template: Callable[..., Any]) -> Path:
    """A store in a subfolder, with a rubric, a judge and a dataset released."""
    root = tmp_path / "repo/evals"

    def release() -> None:
        git()
        for name, text in (("rubrics/tone", TONE), ("judges/accuracy", JUDGE), ("datasets/web", WEB)):
            (root / f"{name}.yaml").parent.mkdir(parents=True, exist_ok=True)
            (root / f"{name}.yaml").write_text(text)
        (root / "evalstore.yaml").write_text("# here\n")
        assert cli("-C", root, "bump", "--all").code == 0

    template("three releases in a subfolder", release)
    (root / "rubrics/tone.yaml").write_text(TONE.replace("simply", "just"))
    return root


WORDS = [
    ("diff {}", "rubric/tone"),
    ("log {}", "rubric/tone"),
    ("log {}@1.0.0", "rubric/tone@1.0.0"),
    ("impact {}", "rubric/tone"),
    ("verify {}", "rubric/tone"),
    ("bump {} --dry-run", "rubric/tone"),
    ("resolve {}", "rubric/tone@worktree"),
    ("resolve {}@1.0.0", "rubric/tone@1.0.0"),
    ("show {}", "rubric/tone@worktree"),
    ("show {}@1.0.0 --raw", "rubric/tone@1.0.0"),
    ("blame {}", "rubric/tone@worktree"),
    ("diff rubric/tone@1.0.0 {}", "rubric/tone@worktree"),
    ("diff {}@1.0.0 rubric/tone@worktree", "rubric/tone@1.0.0"),
]
FOLDERS = [(".", "rubrics/"), ("rubrics", ""), ("datasets", "../rubrics/"), (".", "./rubrics/../rubrics/")]


# Every command in one folder, and one command in every folder.
@pytest.mark.parametrize(
    ("folder", "prefix", "words", "ref"),
    [*((*FOLDERS[1], *words) for words in WORDS), *((*folder, *WORDS[7]) for folder in FOLDERS)],
)
def test_a_path_is_the_reference(store: Path, cli: Cli, folder: str, prefix: str, words: str, ref: str) -> None:
    by_path = cli("-C", store / folder, *words.format(f"{prefix}tone.yaml").split())
    by_name = cli("-C", store / folder, *words.replace("{}@1.0.0", ref).format(ref).split())
    assert by_path == by_name
    assert by_path.code == 0, by_path.err


def test_score_and_judges_take_paths(store: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"id": "a", "output": "just so"}\n')
    ran = cli(
        "-C",
        store,
        "score",
        "datasets/web.yaml",
        tmp_path / "out.jsonl",
        "--rubric",
        "rubrics/tone.yaml",
        "--format",
        "json",
    )
    assert json.loads(ran.out)["score"] == 0
    told = cli("-C", store, "judge", "validate", "judges/accuracy.yaml", "--labels", tmp_path / "none.jsonl")
    assert (told.code, "none.jsonl" in told.err) == (3, True)


ODD = ["rubrics/Tone.yaml", "evalstore.yaml", "rubrics/tone.yml", "tone.yaml", "../rubrics/tone.yaml", "/etc/tone.yaml"]


@pytest.mark.parametrize(
    ("command", "path"), [*(("log", path) for path in ODD), *((name, ODD[0]) for name in ("diff", "bump", "show"))]
)
def test_a_file_that_is_no_artifact_is_a_wrong_command_line(store: Path, cli: Cli, command: str, path: str) -> None:
    ran = cli("-C", store, command, path)
    assert (ran.code, ran.out) == (2, "")
    if command == "diff":
        assert ran.err == f"error: {path}: no such file\n"
        return
    assert "is not a file of an artifact in this store\nhint: its artifacts are rubrics/<id>.yaml" in ran.err


def test_no_link_stands_for_an_artifact(store: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.yaml").write_text(TONE)
    (store / "rubrics/linked.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    assert cli("-C", store, "resolve", "rubrics/linked.yaml").code == 3


def test_diff_alone_is_everything_that_changed(store: Path, cli: Cli) -> None:
    ran = cli("-C", store, "diff")
    assert (ran.code, ran.next_steps) == (0, f"next: evalstore -C {store} bump --all\n")
    assert ran.out.startswith(cli("-C", store, "diff", "rubric/tone").out)
    assert ran.out.endswith("\n1 of 3 artifacts changed since the last release: 1 major\n")
    assert cli("-C", store, "diff", "--exit-code").code == 1


def test_diff_alone_names_what_is_new_gone_and_broken(store: Path, cli: Cli) -> None:
    (store / "judges/accuracy.yaml").write_text("id: [")
    (store / "rubrics/voice.yaml").write_text(TONE.replace("tone", "voice"))
    (store / "datasets/web.yaml").unlink()
    ran = cli("-C", store, "diff")
    assert ran.code == 3
    assert ran.out.splitlines()[-5:] == [
        "judge/accuracy cannot be compared: judges/accuracy.yaml:2:1: not YAML: did not find expected node",
        "  content",
        "rubric/voice is new, never released",
        "dataset/web is gone from the working tree; its releases stay",
        "1 of 4 artifacts changed since the last release: 1 major; 1 new; 1 gone; 1 not compared",
    ]
    document = json.loads(cli("-C", store, "diff", "--format", "json").out)
    folder = find_resource_folder("schema") / "output"
    for name, value in (("diff_all", document), ("diff", document["diffs"][0])):
        Draft202012Validator(json.loads((folder / f"{name}.schema.json").read_text("utf-8"))).validate(value)
    assert (document["required_bump"], document["new"], document["removed"]) == (
        "major",
        ["rubric/voice"],
        ["dataset/web"],
    )
    for format_ in ("github", "gitlab", "sarif", "junit", "markdown"):
        shown = cli("-C", store, "diff", "--format", format_).out
        assert "phrase-reworded" in shown
        assert "not-compared" in shown


def test_diff_alone_says_that_nothing_changed_only_where_something_was_seen(
    store: Path, cli: Cli, tmp_path: Path
) -> None:
    (store / "rubrics/tone.yaml").write_text(TONE)
    assert cli("-C", store, "diff").out == "3 artifacts, all unchanged since release\n"
    assert cli("-C", store.parent, "diff").code == 3
    assert cli("-C", store, "diff", "--run", "x.json").code == 2


def test_diff_alone_forgets_a_removal_that_was_committed(store: Path, cli: Cli, git: Git) -> None:
    (store / "rubrics/tone.yaml").write_text(TONE)
    (store / "datasets/web.yaml").unlink()
    assert "dataset/web is gone" in cli("-C", store, "diff").out
    git("commit", "-q", "-a", "-m", "Remove", cwd=store)
    assert cli("-C", store, "diff").out == "2 artifacts, all unchanged since release\n"


def test_diff_alone_compares_with_what_a_branch_began_from(store: Path, cli: Cli, git: Git) -> None:
    (store / "rubrics/tone.yaml").write_text(TONE)
    git("branch", "old", cwd=store)
    (store / "rubrics/tone.yaml").write_text(TONE.replace("simply", "basically"))
    assert cli("-C", store, "bump", "--all").code == 0
    git("checkout", "-q", "old", cwd=store)
    assert cli("-C", store, "diff").out == "3 artifacts, all unchanged since release\n"
    (store / "rubrics/tone.yaml").write_text(TONE.replace("1.0.0", "1.0.1") + "title: Tone\n")
    (diff,) = json.loads(cli("-C", store, "diff", "--format", "json").out)["diffs"]
    (status,) = json.loads(cli("-C", store, "status", "--format", "json").out)["artifacts"]
    assert (diff["old"]["ref"], diff["required_bump"]) == ("rubric/tone@1.0.0", "patch")
    assert (status["released"], status["required_bump"]) == ("1.0.0", "patch")


def test_diff_alone_follows_no_link_in_place_of_a_released_file(store: Path, cli: Cli) -> None:
    (store / "rubrics/tone.yaml").unlink()
    (store / "rubrics/tone.yaml").symlink_to("elsewhere.yaml")
    ran = cli("-C", store, "diff")
    assert (ran.code, "rubrics/tone.yaml is not a regular file" in ran.out) == (3, True)
