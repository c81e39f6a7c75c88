"""The wheel carries its data and works away from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} <= {
        "evalstore",
        *(n.split("/")[0] for n in names if ".dist-info/" in n),
    }
    for needed in ("schema/rubric.schema.json", "migrations/ai_best_practices.yaml", "sample_repo/story.yaml"):
        assert f"evalstore/_data/{needed}" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_installed_command_finds_its_data(wheel: Path, demo: Any, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(wheel.with_name("site"))}
    argv = [sys.executable, "-c", "import evalstore; print(evalstore.__file__)"]
    found = subprocess.run(argv, cwd=tmp_path, env=env, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(wheel.parent)
    ran = run_installed(wheel, tmp_path, "demo", demo.folder)
    assert (ran.returncode, ran.stdout.split("\n")[0]) == (3, demo.text.split("\n")[0])  # it found its story
    legacy = demo.folder / "legacy/drupal-forms/evals.json"
    ran = run_installed(wheel, tmp_path, "migrate", legacy, "--dry-run")  # it finds its tables and schemas
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_the_installed_command_tells_the_whole_story(wheel: Path, demo: Any, tmp_path: Path) -> None:
    """Each step in a process of its own, from the wheel, says what the steps in one process said."""
    ran = run_installed(wheel, tmp_path, "demo", tmp_path / "store", "--all")
    assert ran.returncode == 0, ran.stderr
    said, expected = (
        re.sub(r"\b[0-9a-f]{7,64}\b", "…", text.replace(str(folder), "DIR")).rpartition("\nThe repository is yours")[0]
        for text, folder in ((ran.stdout, tmp_path / "store"), (demo.text, demo.folder))
    )
    assert said == expected


def run_installed(wheel: Path, folder: Path, *argv: str | Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(wheel.with_name("site"))}
    words = [sys.executable, "-m", "evalstore", *map(str, argv)]
    return subprocess.run(words, cwd=folder, env=env, check=False, capture_output=True, text=True)
