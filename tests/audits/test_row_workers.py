"""Outputs that several processes grade get what one gives them, in the same bytes, with its errors and notes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import row_workers
from tests.audits.conftest import Desk, Repo, Sample

pytestmark = pytest.mark.heavy

COMMANDS = [
    ("replay", "A", "--rubric", "rubric/answer_style@2.0.0"),
    ("replay", "B", "--rubric", "rubric/safe_markup@1.0.0"),
    ("history", "rubric/answer_style", "--run", "A", "--run", "B"),
    ("history", "dataset/web_answers", "--run", "A"),
]


def run_both(cli: Callable[..., Any], folder: Path, *words: str) -> Any:
    """Return what a command answers with two jobs, once it is known to be what it answers with one."""
    one, two = (cli(*words, "--format", "json", "--jobs", jobs, cwd=folder) for jobs in ("1", "2"))
    assert one == two
    return two


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_two_jobs_answer_what_one_does(
    words: tuple[str, ...], sample: Sample, cli: Callable[..., Any], worker_tasks: list[int]
) -> None:
    runs = {"A": str(sample.a.path), "B": str(sample.b.path)}
    assert run_both(cli, sample.root, *(runs.get(word, word) for word in words)).code == 0
    assert worker_tasks
    assert min(worker_tasks) > 1


@pytest.mark.process
@pytest.mark.slow
def test_two_processes_answer_what_one_does(sample: Sample, cli: Callable[..., Any]) -> None:
    for command in COMMANDS[1:3]:
        runs = {"A": str(sample.a.path), "B": str(sample.b.path)}
        assert run_both(cli, sample.root, *(runs.get(word, word) for word in command)).code == 0


def test_where_a_judge_has_a_part_one_process_grades(
    desk: Desk, cli: Callable[..., Any], worker_tasks: list[int]
) -> None:
    desk.judge("1.0.0")
    judged = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": "judge/acc@1.0.0"}
    said = {"id": "s", "kind": "format", "format": "text"}
    desk.rubric("1.0.0", said)
    desk.rubric("2.0.0", said, judged)
    desk.dataset("1.0.0", 4)
    run = str(desk.score("1.0.0", ["good"] * 4).path)
    # The run knows no judge, the second release asks one: the workers find that out.
    ran = run_both(cli, desk.repo.root, "history", "rubric/r", "--run", run)
    assert (ran.code, json.loads(ran.out)["calls"], len(worker_tasks)) == (0, 1, 1)
    assert run_both(cli, desk.repo.root, "history", "judge/acc", "--run", run).code == 0


def test_what_cannot_grade_is_told_as_one_process_tells_it(
    repo: Repo, answers: Callable[..., Path], cli: Callable[..., Any], worker_tasks: list[int]
) -> None:
    text = 'id: r\nversion: "{}"\nchecks:\n  - {{id: a, kind: format, format: text}}\nscoring: {}\n'
    repo.release("rubrics/r", text.format("1.0.0", "{combine: min}"))
    repo.release("rubrics/r", text.format("2.0.0", "[]"))
    repo.release(
        "datasets/d",
        'id: d\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/r@1.0.0}\nquestions:\n'
        + "".join(f"  - {{id: q{i}, input: x}}\n" for i in range(9)),
    )
    run = repo.score("dataset/d@1.0.0", answers("a", **{f"q{i}": "yes" for i in range(9)}))
    ran = run_both(cli, repo.root, "replay", str(run.path), "--rubric", "rubric/r@2.0.0")
    assert (ran.code, "cannot grade anything" in ran.err, worker_tasks) == (3, True, [5])


def test_a_version_that_is_found_elsewhere_is_noted_once(
    repo: Repo,
    answers: Callable[..., Path],
    cli: Callable[..., Any],
    worker_tasks: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = 'id: inner\nversion: "{}"\nchecks:\n  - {{id: a, kind: format, format: text, max_chars: {}}}\nscoring: {{combine: min}}\n'
    repo.release("rubrics/inner", inner.format("1.0.0", 9))
    repo.release(
        "rubrics/r",
        'id: r\nversion: "1.0.0"\nchecks:\n  - {id: c, kind: composite, rubric_ref: rubric/inner@1.0.0}\nscoring: {combine: min}\n',
    )
    repo.release(
        "datasets/d",
        'id: d\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/r@1.0.0}\nquestions: [{id: p, input: x}, {id: q, input: x}]\n',
    )
    run = repo.score("dataset/d@1.0.0", answers("a", p="yes", q="no"))
    repo.git("tag", "-d", "rubric/inner@1.0.0")
    monkeypatch.setattr(row_workers, "_MOST_ROWS", 1)
    ran = run_both(cli, repo.root, "replay", str(run.path), "--rubric", "rubric/r@1.0.0")
    notes = json.loads(ran.out)["notes"]
    assert (ran.code, len(worker_tasks)) == (0, 1)
    assert len([note for note in notes if note.startswith("rubric/inner@1.0.0 cannot be read")]) == 1
