"""The commands as a user runs them: `inspect eval`, `inspect score`, and `evalstore score` on the log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.runs import read_rows, read_run
from tests.integrations.conftest import of_inspect
from tests.rows import mark_slow

pytestmark = pytest.mark.process

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'evalstore[inspect]'")

TASK = Path(__file__).with_name("task.py")
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
SCORES = {"one": "1", "two": "1/3", "three": "2/3"}


@pytest.fixture
def inspect() -> Callable[..., str]:
    """Run the `inspect` command in a separate process and return what it shows."""

    def run(*argv: str | Path, cwd: Path, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", *map(str, argv), "--display", "plain"],
            cwd=cwd,
            env={**os.environ, "NO_COLOR": "1", **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(params=["here", mark_slow("process")])
def log(
    request: pytest.FixtureRequest,
    repo: Path,
    tmp_path: Path,
    inspect: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The log of a task that lies in its store's folder and is run from elsewhere: Inspect takes seconds to start."""
    shutil.copy(TASK, repo / "task.py")
    if request.param == "here":
        from inspect_ai import eval as run_eval

        monkeypatch.chdir(tmp_path)
        with of_inspect():
            run_eval("repo/task.py", model="mockllm/model", log_dir="logs", log_format="json", display="none")
    else:
        argv = ("eval", "repo/task.py", "--model", "mockllm/model", "--log-dir", "logs", "--log-format", "json")
        assert "pass_rate" in inspect(*argv, cwd=tmp_path)
    (found,) = (tmp_path / "logs").glob("*.json")
    return found


def scores(log: Path, scorer: str = "rubric_scorer") -> dict[str, Any]:
    return {sample["id"]: sample["scores"][scorer] for sample in json.loads(log.read_text("utf-8"))["samples"]}


def test_a_log_says_what_evalstore_says_of_it(log: Path, repo: Path, tmp_path: Path, cli: Callable[..., Any]) -> None:
    assert {id_: score["metadata"]["score"] for id_, score in scores(log).items()} == SCORES
    done = cli("-C", repo, "score", "dataset/small@1.0.0", log, "--out", tmp_path / "runs", "--format", "json")
    assert done.code == 0, done.err
    again = {row.id: row for row in read_rows(read_run(Path(json.loads(done.out)["run"])))}
    for id_, score in scores(log).items():
        details, row = score["metadata"], again[id_]
        assert (details["score"], details["verdict"]) == (str(row.score), row.verdict)
        assert (details["rubric"], details["rubric_digest"]) == (row.rubric, row.rubric_digest)
        assert [(check["id"], check["score"], check["reason"], check["engine"]) for check in details["checks"]] == [
            (check.id, str(check.score), check.reason, check.engine) for check in row.checks
        ]


@pytest.mark.slow
def test_inspect_finds_the_scorer_by_its_name(
    log: Path, repo: Path, tmp_path: Path, inspect: Callable[..., str]
) -> None:
    (repo / "task.py").unlink()  # it would make the scorer known, too
    # The entry point as it will be installed, beside an installation that may be older than it.
    group = "inspect_ai"
    points = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["entry-points"][group]
    installed = tmp_path / "path" / "pointing-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: pointing\nVersion: 1\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    argv = ("--scorer", "evalstore/rubric_scorer", "-S", "ref=rubric/form@1.0.0", "-S", f"store={repo}", "--overwrite")
    inspect("score", log, *argv, "--action", "append", cwd=tmp_path, PYTHONPATH=str(installed.parent))
    again = scores(log, "rubric_scorer1")
    assert [again[id_]["metadata"]["rubric"] for id_ in SCORES] == ["rubric/form@1.0.0"] * 3
