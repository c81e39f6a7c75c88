"""`init` writes what editors, CI systems, pre-commit and git need, where they look for it, and keeps what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstore.store.pipeline_files import write_github, write_gitlab

Cli = Callable[..., Any]
Git = Callable[..., str]
RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks:\n  - {kind: must_not_contain, values: [simply]}\nscoring: {combine: all_pass}\n"
)


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Path:
    git()
    return tmp_path / "repo"


def test_the_editor_finds_the_schemas_of_a_store_in_a_subfolder(repo: Path, cli: Cli) -> None:
    ran = cli("-C", repo, "init", "evals")
    mapped = json.loads((repo / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert not (repo / "evals/.vscode").exists()
    assert mapped["./evals/.evalstore/schema/rubric.schema.json"] == "evals/rubrics/*.yaml"
    assert all((repo / schema).is_file() for schema in mapped)
    assert "  wrote ../.vscode/settings.json\n" in ran.out
    # The line that it ends with adds everything.
    line = next(line for line in ran.next_steps.splitlines() if line.startswith("next: "))
    subprocess.run(["sh", "-c", line.removeprefix("next: ")], check=True)
    untracked = subprocess.run(
        ["git", "status", "--short"], cwd=repo, capture_output=True, text=True, check=True
    ).stdout
    assert "??" not in untracked


def test_settings_of_an_editor_keep_every_byte(repo: Path, cli: Cli) -> None:
    (repo / ".vscode").mkdir()
    mine = '// mine\n{\n    "editor.tabSize": 4, // four\n    "yaml.schemas": {"./x.json": "x/*.yaml"},\n}\n'
    (repo / ".vscode/settings.json").write_text(mine)
    ran = cli("-C", repo, "init")
    text = (repo / ".vscode/settings.json").read_text()
    assert ran.err == ""
    assert "  added to .vscode/settings.json\n" in ran.out
    assert text.startswith('// mine\n{\n    "editor.tabSize": 4, // four\n    "yaml.schemas": {"./x.json": "x/*.yaml",')
    assert '"./.evalstore/schema/rubric.schema.json": "rubrics/*.yaml"' in text
    assert cli("-C", repo, "init").out == f"{repo} is a store already; nothing changed\n"


@pytest.mark.parametrize("text", ["[]", '{"a": ', '{"yaml.schemas": 5}'])
def test_settings_that_nobody_can_add_to_are_kept_and_named(repo: Path, cli: Cli, text: str) -> None:
    (repo / ".vscode").mkdir()
    (repo / ".vscode/settings.json").write_text(text)
    ran = cli("-C", repo, "init")
    assert (ran.code, (repo / ".vscode/settings.json").read_text()) == (0, text)
    assert ran.err.startswith("kept .vscode/settings.json: ")
    assert "delete" not in ran.err


def test_jetbrains_files_only_when_asked(repo: Path, cli: Cli) -> None:
    cli("-C", repo, "init", "evals")
    assert not (repo / ".idea").exists()
    cli("-C", repo, "init", "evals", "--idea")
    text = (repo / ".idea/jsonSchemas.xml").read_text()
    assert '"evals/.evalstore/schema/judge.schema.json"' in text
    (repo / ".idea/jsonSchemas.xml").write_text("<mine/>")
    ran = cli("-C", repo, "init", "evals", "--idea")
    assert ran.err.startswith("kept ../.idea/jsonSchemas.xml: it differs from what init writes")
    assert (repo / ".idea/jsonSchemas.xml").read_text() == "<mine/>"


def test_own_settings_of_the_store_are_nobody_elses(repo: Path, cli: Cli) -> None:
    (repo / "evalstore.yaml").write_text("strict: true\n")
    assert cli("-C", repo, "init").err == ""
    assert (repo / "evalstore.yaml").read_text() == "strict: true\n"


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script of bash in the repository as a CI system does, with the real evalstore."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "evalstore").write_text(f'#!/bin/sh\nexec {sys.executable} -m evalstore "$@"\n')
    (folder / "evalstore").chmod(0o755)

    def run(script: str, **env: str) -> subprocess.CompletedProcess[str]:
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        known = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", **env}
        return subprocess.run(argv, cwd=tmp_path / "repo", env=known, capture_output=True, text=True, check=False)

    return run


def release(repo: Path, cli: Cli) -> None:
    (repo / "evals/rubrics/tone.yaml").write_text(RUBRIC)
    assert cli("-C", repo / "evals", "bump", "--all").code == 0


def test_pipelines_are_where_the_systems_look_and_know_the_branch(repo: Path, cli: Cli, git: Git) -> None:
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/1.0.x")
    for system in ("github", "gitlab"):
        cli("-C", repo, "init", "evals", "--ci", system)
    assert (repo / ".github/workflows/evalstore.yml").read_bytes() == write_github("evals/", "1.0.x")
    assert (repo / ".gitlab/evalstore.yml").read_bytes() == write_gitlab("evals/")
    assert yaml.safe_load((repo / ".gitlab-ci.yml").read_text()) == {"include": [{"local": ".gitlab/evalstore.yml"}]}


def test_a_pipeline_of_gitlab_that_is_there_is_named_with_the_line_to_add(repo: Path, cli: Cli) -> None:
    (repo / ".gitlab-ci.yml").write_text("test: {script: [make]}\n")
    ran = cli("-C", repo, "init", "--ci", "gitlab")
    assert ran.err == (
        "kept .gitlab-ci.yml: does not include the job; add below include:  - local: .gitlab/evalstore.yml\n"
    )
    assert (repo / ".gitlab-ci.yml").read_text() == "test: {script: [make]}\n"
    assert (repo / ".gitlab/evalstore.yml").exists()


@pytest.mark.process
def test_the_hook_of_pre_commit_is_the_gate(repo: Path, cli: Cli, shell: Any) -> None:
    mine = "# top\nrepos:\n  - repo: https://example.org/x\n    rev: v1\n    hooks:\n      - id: y  # why\n"
    (repo / ".pre-commit-config.yaml").write_text(mine)
    cli("-C", repo, "init", "evals", "--pre-commit")
    text = (repo / ".pre-commit-config.yaml").read_text()
    assert text.startswith(mine)
    (hook,) = yaml.safe_load(text)["repos"][-1]["hooks"]
    assert re.match(hook["files"], "evals/rubrics/tone.yaml")
    assert not re.match(hook["files"], "rubrics/tone.yaml")
    release(repo, cli)
    assert shell(hook["entry"]).returncode == 0
    (repo / "evals/rubrics/tone.yaml").write_text(RUBRIC.replace("must_not_contain", "must_not"))
    broken = shell(hook["entry"])
    assert (broken.returncode, "check-kind-unknown" in broken.stdout) == (1, True)
    assert cli("-C", repo, "init", "evals", "--pre-commit").out.endswith("nothing changed\n")


@pytest.mark.process
def test_the_diff_driver_shows_what_changed_in_a_ruler(repo: Path, cli: Cli, shell: Any, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.png binary")
    ran = cli("-C", repo, "init", "evals", "--diff-driver")
    assert (repo / ".gitattributes").read_text().splitlines()[:2] == [
        "*.png binary",
        "evals/rubrics/*.yaml diff=evalstore",
    ]
    assert "in every clone: evalstore init evals --diff-driver\n" in ran.out
    release(repo, cli)
    (repo / "evals/rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    assert "MAJOR" in shell("git --no-pager diff").stdout


def test_every_file_is_written_once(repo: Path, cli: Cli) -> None:
    words = ("--pre-commit", "--diff-driver", "--idea")
    for pipeline in ("github", "gitlab"):
        cli("-C", repo, "init", "my store", "--ci", pipeline, *words)
    before = {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()}
    for pipeline in ("github", "gitlab"):
        again = cli("-C", repo, "init", "my store", "--ci", pipeline, *words, "--format", "json")
        document = json.loads(again.out)
        assert (document["written"], document["merged"], document["kept"]) == ([], [], [])
    assert {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()} == before
    jobs = yaml.safe_load((repo / ".github/workflows/evalstore.yml").read_text())["jobs"]
    assert [job["env"]["STORE"] for job in jobs.values()] == ["my store"] * 2
    assert (repo / ".gitattributes").read_text().startswith('"my store/rubrics/*.yaml" diff=evalstore\n')
