"""The wheel carries its data and works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    argv = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(out),
        str(ROOT),
    ]
    subprocess.run(argv, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} <= {
        "evalstore",
        *(n.split("/")[0] for n in names if ".dist-info/" in n),
    }
    for needed in ("schema/rubric.schema.json", "migrations/ai_best_practices.yaml", "sample_repo/story.yaml"):
        assert f"evalstore/_data/{needed}" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_installed_command_tells_the_whole_story(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    argv = [sys.executable, "-c", "import evalstore; print(evalstore.__file__)"]
    found = subprocess.run(argv, cwd=tmp_path, env=env, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "evalstore", "demo", "play"],
        cwd=tmp_path,
        env=env,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "play/.git").is_dir()
