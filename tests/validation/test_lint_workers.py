"""Files that several processes look through have the findings that one finds, in the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.status import lint_workers

CASES = Path(__file__).resolve().parents[1] / "cases" / "validation"
RUBRIC = "id: {0}\nversion: 1.0.0\nchecks:\n  - {{id: a, kind: {1}, format: text}}\nscoring: {{combine: min}}\n"

pytestmark = pytest.mark.heavy


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    """Return a store with broken and sound rubrics, and rows with every fault that a line, or two of them, can have."""
    git("status")
    root = tmp_path / "repo"
    for number in range(6):
        write(root / f"rubrics/r{number}.yaml", RUBRIC.format(f"r{number}", "format" if number % 2 else "formatt"))
    write(root / "rubrics/torn.yaml", "id: [\n")
    write(root / "rubrics/other.yml", "id: other\n")
    write(root / "evalstore.yaml", "rules: {file-ignored: off, row-malformd: off}\n")
    write(root / "datasets/d.yaml", "id: d\nversion: 1.0.0\nrows: d.jsonl\n")
    rows = [
        {"id": f"q{i}", "input": "x", **({"rubric_ref": "rubric/r1@worktree"} if i % 3 else {})} for i in range(150)
    ]
    rows[5]["expecteed_facts"] = rows[30]["expecteed_facts"] = ["a"]
    lines = ["", *map(json.dumps, rows), "{torn", "[]", json.dumps({"id": 3})]
    write(root / "datasets/d.jsonl", "\n".join(lines))
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def run_both(cli: Callable[..., Any], folder: Path, *words: str, jobs: str = "3") -> Any:
    """Return what validation answers with several jobs, once it is known to be what it answers with one."""
    one, more = (cli("validate", *words, "--format", "json", "--jobs", count, cwd=folder) for count in ("1", jobs))
    assert one == more
    return json.loads(more.out)


def test_three_jobs_find_what_one_does(store: Path, cli: Callable[..., Any], worker_tasks: list[int]) -> None:
    found = {finding["rule"] for finding in run_both(cli, store)["findings"]}
    assert {"row-malformed", "question-unscored", "document-malformed"} <= found
    assert len(found) > 5
    run_both(cli, store, "datasets/d.jsonl", "--strict")
    # Two lines with one id, far apart: no worker has both.
    with (store / "datasets/d.jsonl").open("a") as file:
        file.write('\n{"id": "q0", "input": "again"}\n')
    assert "question-id-duplicate" in {finding["rule"] for finding in run_both(cli, store)["findings"]}
    assert min(worker_tasks) > 2


def test_what_a_worker_cannot_do_this_process_does(
    store: Path, cli: Callable[..., Any], worker_tasks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("not here")

    monkeypatch.setattr(lint_workers, "_lint_unit", refuse)
    assert run_both(cli, store)["findings"]
    assert worker_tasks


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_every_case_is_the_same_with_three_jobs(
    case: str, git: Callable[..., str], cli: Callable[..., Any], worker_tasks: list[int], tmp_path: Path
) -> None:
    git("status")
    shutil.copytree(CASES / case / "files", tmp_path / "repo", dirs_exist_ok=True, symlinks=True)
    run_both(cli, tmp_path / "repo")


@pytest.mark.process
@pytest.mark.slow
def test_two_processes_find_what_one_does(store: Path, cli: Callable[..., Any]) -> None:
    assert run_both(cli, store, jobs="2")["findings"]
