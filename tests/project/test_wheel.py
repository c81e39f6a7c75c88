"""The wheel carries its data and works away from the checkout."""

from __future__ import annotations

import os
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


def test_the_installed_command_tells_the_whole_story(wheel: Path, demo: Any, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(wheel.with_name("site"))}
    argv = [sys.executable, "-c", "import evalstore; print(evalstore.__file__)"]
    found = subprocess.run(argv, cwd=tmp_path, env=env, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(wheel.parent)
    assert (demo.folder / ".git").is_dir()  # its commands were those of the wheel
    argv = [sys.executable, "-m", "evalstore", "demo", str(demo.folder)]
    again = subprocess.run(argv, cwd=tmp_path, env=env, check=False, capture_output=True, text=True)
    assert (again.returncode, again.stdout.split("\n")[0]) == (3, demo.text.split("\n")[0])  # it found its story
