"""The sample store's judges and gold answers, released in a separate repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstore.places import find_resource_folder

OWN = "history/02-own-rubrics"
FILES = ("evalstore.yaml", "judges/accuracy.yaml", "judges/tone.yaml", "datasets/gold_answers.yaml")
# What two people said of the six gold answers, and what a judge that is fooled once says.
GOLD = {
    "gold_alt_text": ("pass", "pass"),
    "gold_hide_field": ("fail", "fail"),
    "gold_update_core": ("pass", "pass"),
    "gold_flexbox_gap": ("pass", "pass"),
    "gold_sql_in_module": ("fail", "fail"),
    "gold_jquery": ("fail", "pass"),
}


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with everything released, at version 1.0.0."""
    repo = tmp_path_factory.mktemp("released") / "repo"
    for name in FILES:
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(find_resource_folder("sample_repo") / OWN / name, repo / name)
    home = {"HOME": str(repo.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    (repo.parent / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for argv in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "."],
        ["git", "commit", "-qm", "rubrics"],
        [sys.executable, "-m", "evalstore", "bump", "--all", "-q"],
    ):
        subprocess.run(argv, cwd=repo, env={**os.environ, **home}, check=True)
    return repo


@pytest.fixture
def store(released: Path, tmp_path: Path) -> Path:
    """Return a copy of that repository, where the fixture `git` works."""
    return Path(shutil.copytree(released, tmp_path / "repo"))


@pytest.fixture
def rows() -> Callable[..., list[dict[str, str]]]:
    """Return the gold rows, with the verdicts of a judge or without."""
    return gold


@pytest.fixture
def labelled(store: Path) -> Callable[..., Path]:
    """Write rows beside the store; without any, the gold answers with the verdicts of a judge."""

    def write(rows: Iterable[Mapping[str, Any] | str] | None = None) -> Path:
        rows = gold(verdicts=True) if rows is None else rows
        path = store / "labels.jsonl"
        path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
        return path

    return write


def gold(*, verdicts: bool) -> list[dict[str, str]]:
    return [
        {"id": id_, "output": f"Answer to {id_}.", "label": label, **({"verdict": verdict} if verdicts else {})}
        for id_, (label, verdict) in GOLD.items()
    ]
