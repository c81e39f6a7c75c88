"""What the pages say of CI and git, done: their lines run in a real store, and their reports can be read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.rows import mark_slow

pytestmark = pytest.mark.process

PAGE = (Path(__file__).parents[2] / "docs/ci.md").read_text("utf-8")
RUBRIC = 'id: tone\nversion: "1.0.0"\nchecks:\n  - {kind: must_contain_any, values: [please]}\nscoring: {combine: all_pass}\n'


def section(title: str) -> str:
    """Return the text below a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def lines(value: Any) -> Iterator[str]:
    """Yield every text within a pipeline that runs evalstore."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(item, str) and item.startswith("evalstore "):
            yield item
        yield from lines(item)


def pipelines() -> list[Any]:
    """Return the pipelines of the page: GitHub's and GitLab's."""
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", section("In CI"), re.DOTALL)]


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
    git("status")
    repo = tmp_path / "repo"
    (repo / "rubrics").mkdir()
    (repo / "rubrics/tone.yaml").write_text(RUBRIC)
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    assert cli("-C", repo, "bump", "--all").code == 0
    return repo


@pytest.mark.parametrize("number", [mark_slow(0), 1], ids=["github", "gitlab"])
def test_a_pipeline_passes_and_stops_a_change_without_its_version(
    store: Path, shell: Callable[..., Any], number: int
) -> None:
    commands = list(lines(pipelines()[number]))
    assert len(commands) >= 4
    done = shell(commands[-1])
    assert done.returncode == 0, done.stderr
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    assert [shell(command).returncode for command in commands] == [0] * (len(commands) - 1) + [1]


@pytest.mark.slow
def test_what_gitlab_reads_can_be_read(store: Path, shell: Callable[..., Any]) -> None:
    gitlab = pipelines()[1]["evalstore"]
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    for command in lines(gitlab):
        shell(command)
    reports = gitlab["artifacts"]["reports"]
    found = json.loads((store / reports["codequality"]).read_text("utf-8"))
    assert [entry["severity"] for entry in found] == ["critical", "major"]
    assert ET.parse(store / reports["junit"]).getroot().tag == "testsuites"  # noqa: S314  # our own document


def test_git_is_set_up_as_told(store: Path, shell: Callable[..., Any]) -> None:
    for line in re.findall(r"^\$ (.*)$", section("In git"), re.MULTILINE):
        assert shell(line).returncode == 0
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    assert "MAJOR  must_contain_any also accepts 'thanks'" in shell("git diff").stdout
    assert "+      - thanks" in shell("git diff --no-ext-diff").stdout
