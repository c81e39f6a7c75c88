"""The wheel carries its data and works away from the checkout."""

from __future__ import annotations

import email
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalstore.about import VERSION
from tests.distributions import build_distributions

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
IN_SDIST = {"evalstore", "schema", "migrations", "sample_repo", "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md"}


def list_tracked(*folders: str) -> set[str]:
    words = ["git", "ls-files", "-z", *folders]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return {name for name in listed if name and (ROOT / name).is_file()}


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    data = list_tracked("schema", "migrations", "sample_repo") - {"schema/schemastore.json"}
    assert names == list_tracked("evalstore") | {f"evalstore/_data/{name}" for name in data}


def test_the_wheel_says_what_an_index_shows(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    said = email.message_from_string(archive.read(name).decode())
    assert (said["Name"], said["Version"], said["License-Expression"]) == ("evalstore", VERSION, "MIT")
    assert (said["Metadata-Version"], said["Requires-Python"]) == ("2.4", ">=3.11")
    assert "Typing :: Typed" in said.get_all("Classifier", [])
    assert f"{name.partition('/')[0]}/licenses/LICENSE" in archive.namelist()
    assert said.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_the_sdist_gives_the_wheel_of_the_repository_byte_for_byte(wheel: Path, tmp_path: Path) -> None:
    """What an index serves can be built again by anybody: the same bytes from other files of the same content."""
    sdist = next(wheel.parent.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert {path.name for path in source.iterdir()} == {*IN_SDIST, "PKG-INFO", "pyproject.toml", ".gitignore"}
    again = build_distributions(source, tmp_path)
    assert [path.read_bytes() for path in again] == [sdist.read_bytes(), wheel.read_bytes()]


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
    # Where a command goes on in the next line depends on how long the folder's name is.
    assert said.replace("\\\n", " ").split() == expected.replace("\\\n", " ").split()


def run_installed(wheel: Path, folder: Path, *argv: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command that the wheel installs."""
    env = {**os.environ, "PYTHONPATH": str(wheel.with_name("site"))}
    words = [str(wheel.with_name("site") / "bin/evalstore"), *map(str, argv)]
    return subprocess.run(words, cwd=folder, env=env, check=False, capture_output=True, text=True)


def list_one_liners() -> list[list[str]]:
    """Return the lines of the README by which another program runs evalstore without installing it."""
    readme = (ROOT / "README.md").read_text("utf-8")
    return [shlex.split(line, comments=True) for line in re.findall(r"^\$ ((?:uvx|pipx) .*)$", readme, re.MULTILINE)]


def find_launcher(name: str) -> str:
    """Return where `make sockets` or this machine has a program, or skip the test."""
    here = ROOT / ".venv/sockets/bin" / name
    found = str(here) if here.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed: `make sockets` does")


@pytest.mark.slow
@pytest.mark.parametrize("source", [".", "wheel"])
@pytest.mark.parametrize("words", list_one_liners(), ids=lambda words: words[0])
def test_one_line_runs_the_demo(words: list[str], source: str, wheel: Path, tmp_path: Path) -> None:
    """What the README says first, in a clone, and with the built wheel in place of it; libraries come from an index."""
    argv = [find_launcher(words[0]), *(str(wheel) if word == "." and source == "wheel" else word for word in words[1:])]
    env = {**os.environ, "TMPDIR": str(tmp_path), "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}
    ran = subprocess.run(argv, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "The score fell by 6.79 points" in ran.stdout
