"""What the pages say of CI and git, done: their lines run in a real store, and their reports can be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstore.store.pipeline_files import write_github

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
COMPONENT = next(yaml.safe_load_all((ROOT / "templates/evalstore.yml").read_text("utf-8")))
RUBRIC = 'id: tone\nversion: "1.0.0"\nchecks:\n  - {kind: must_contain_any, values: [please]}\nscoring: {combine: all_pass}\n'


def section(title: str) -> str:
    """Return the text below a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a line of sh in the repository, in which `evalstore` is the real command."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "evalstore").write_text(f'#!/bin/sh\nexec {sys.executable} -m evalstore "$@"\n')
    (folder / "evalstore").chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    env |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "BASE": "HEAD", "base": "--base HEAD"}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        argv = ["sh", "-e", "-c", line]
        return subprocess.run(argv, cwd=tmp_path / "repo", env=env, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def store(git: Callable[..., str], cli: Callable[..., Any], tmp_path: Path) -> Path:
    git()
    repo = tmp_path / "repo"
    (repo / "rubrics").mkdir()
    (repo / "rubrics/tone.yaml").write_text(RUBRIC)
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    assert cli("-C", repo, "bump", "--all").code == 0
    return repo


def test_the_gate_passes_and_stops_a_change_without_its_version(store: Path, shell: Callable[..., Any]) -> None:
    (line,) = re.findall(r"^\$ (.*)$", section("In CI"), re.MULTILINE)
    assert shell(line).returncode == 0
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    assert shell(line).returncode == 1


def test_the_pages_pipelines_are_yaml_and_pin_what_they_use() -> None:
    github, gitlab = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", section("In CI"), re.DOTALL))
    written = yaml.safe_load(write_github("", "main"))
    assert github[True] == written[True]
    assert github["jobs"]["gate"]["permissions"] == written["jobs"]["gate"]["permissions"]
    assert github["jobs"]["gate"]["steps"][0] == written["jobs"]["gate"]["steps"][0]
    assert set(github["jobs"]["gate"]["steps"][1]["with"]) <= set(ACTION["inputs"])
    assert set(gitlab["include"][0]["inputs"]) <= set(COMPONENT["spec"]["inputs"])


def test_git_is_set_up_as_told(store: Path, shell: Callable[..., Any]) -> None:
    for line in re.findall(r"^\$ (.*)$", section("In git"), re.MULTILINE):
        assert shell(line).returncode == 0
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    assert "MAJOR  must_contain_any also accepts 'thanks'" in shell("git diff").stdout
    assert "+      - thanks" in shell("git diff --no-ext-diff").stdout
