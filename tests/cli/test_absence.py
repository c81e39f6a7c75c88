"""Never green by absence: a command that judges and saw nothing says so and answers 3, or 1 where it is a finding."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks: [{kind: must_not_contain, values: [simply]}]\nscoring: {combine: all_pass}\n"
)
GATES = (
    ("status", "--check"),
    ("status",),
    ("validate", "--strict"),
    ("verify",),
    ("lock",),
    ("lock", "--check"),
    ("bump", "--all"),
)

Git = Callable[..., str]
Run = Callable[..., Any]


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Path:
    git("status")
    return tmp_path / "repo"


def released(repo: Path, git: Git, cli: Run, folder: str = "evals") -> Path:
    """Make a store in a folder of the repository, and a release in it."""
    root = repo / folder
    (root / "rubrics").mkdir(parents=True)
    (root / "rubrics/tone.yaml").write_text(RUBRIC)
    (root / "evalstore.yaml").write_text("")
    assert cli("bump", "rubric/tone", cwd=root).code == 0
    return root


@pytest.mark.parametrize("gate", GATES, ids=" ".join)
def test_without_a_store_every_gate_answers_3(gate: tuple[str, ...], repo: Path, cli: Run) -> None:
    ran = cli(*gate, cwd=repo)
    assert (ran.code, ran.out) == (3, "")
    assert "there is no store in" in ran.err
    assert sorted(path.name for path in repo.iterdir()) == [".git"]


@pytest.mark.parametrize("gate", GATES, ids=" ".join)
def test_the_store_that_lies_elsewhere_is_named(gate: tuple[str, ...], repo: Path, git: Git, cli: Run) -> None:
    released(repo, git, cli, "deep/evals")
    ran = cli(*gate, cwd=repo)
    assert (ran.code, ran.out) == (3, "")
    assert "evalstore -C deep/evals" in ran.err
    assert cli(*gate, cwd=repo / "deep/evals").code != 3


def test_artifacts_in_an_unmarked_folder_are_named_with_the_way_to_mark_it(repo: Path, cli: Run) -> None:
    (repo / "evals/rubrics").mkdir(parents=True)
    (repo / "evals/rubrics/tone.yaml").write_text(RUBRIC)
    assert "evalstore init evals" in cli("status", cwd=repo).err


@pytest.mark.parametrize("gate", GATES, ids=" ".join)
def test_releases_without_an_artifact_are_never_green(gate: tuple[str, ...], repo: Path, git: Git, cli: Run) -> None:
    root = released(repo, git, cli)
    shutil.rmtree(root / "rubrics")
    ran = cli(*gate, cwd=root)
    assert (ran.code, ran.out) == (3, "")
    assert "1 release is tagged, and there is no artifact" in ran.err


@pytest.mark.parametrize("gate", [("status", "--check"), ("verify",), ("bump", "--all")], ids=" ".join)
def test_a_clone_without_tags_is_never_green(
    gate: tuple[str, ...], repo: Path, git: Git, cli: Run, tmp_path: Path
) -> None:
    released(repo, git, cli)
    git("clone", "-q", "--no-tags", str(repo), str(tmp_path / "clone"))
    assert cli(*gate, cwd=tmp_path / "clone/evals").code != 0


def test_a_bump_commits_the_settings_that_it_judged_by(repo: Path, git: Git, cli: Run, tmp_path: Path) -> None:
    root = released(repo, git, cli)
    (root / "evalstore.yaml").write_text("unpinned: allow\n")
    (root / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    assert cli("bump", "rubric/tone", cwd=root).code == 0
    git("clone", "-q", str(repo), str(tmp_path / "clone"))
    assert (tmp_path / "clone/evals/evalstore.yaml").read_text() == "unpinned: allow\n"
    assert git("status", "--porcelain") == ""


def test_the_ledgers_mark_a_store_whose_settings_are_gone(repo: Path, git: Git, cli: Run) -> None:
    root = released(repo, git, cli)
    (root / "evalstore.yaml").unlink()
    assert cli("status", "--check", cwd=root / "rubrics").code == 0


def test_a_second_store_of_a_repository_gets_a_prefix_of_its_own(repo: Path, git: Git, cli: Run) -> None:
    released(repo, git, cli)
    ran = cli("init", "more evals", cwd=repo)
    assert 'tag_prefix: "more-evals/"' in (repo / "more evals/evalstore.yaml").read_text()
    assert "next: git -C" in ran.out
    (repo / "more evals/rubrics/tone.yaml").write_text(RUBRIC)
    assert cli("bump", "rubric/tone", cwd=repo / "more evals").code == 0
    assert git("tag", "--list").split() == ["more-evals/rubric/tone@1.0.0", "rubric/tone@1.0.0"]
    for folder in ("evals", "more evals"):
        assert cli("verify", cwd=repo / folder).code == 0
