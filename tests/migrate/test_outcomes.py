"""An entry that asks a judge is migrated only if prompt, inputs and the reading of the reply are the legacy grader's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import MigrationEntry, MigrationOutcome, migrate
from evalstore.migration.outcome import JudgeFacts, find_judge_loss
from evalstore.report.migrate import document

LEGAL = {
    "schema_version": "legal_eval_v1",
    "id": "1",
    "dataset": "d",
    "task_type": "rubric_qa",
    "prompt": "And then?",
    "rubric": [{"id": "a", "title": "Names the article"}],
}
TURNS = [
    {"role": "user", "content": "First?"},
    {"role": "assistant", "content": "So."},
    {"role": "user", "content": "And then?"},
]
EARLIER = "the earlier turns of the conversation"
CRITERIA = [{"name": "c", "description": "Right?", "weight": 1.0}]
CASES: dict[str, Any] = {
    "legal": ([LEGAL], "another prompt: it is evalstore's own"),
    "legal_turns": (
        [LEGAL | {"messages": TURNS, "attachments": [{"path": "a.pdf"}]}],
        f"another prompt: it is evalstore's own, and it does not see {EARLIER} and the attached files",
    ),
    "openrubricrl": (
        {"name": "r", "version": "1.0.0", "scale": {"min": 0, "max": 10}, "criteria": CRITERIA},
        "another prompt: it is evalstore's own",
    ),
    "skill_creator": (
        {"skill_name": "s", "evals": [{"id": 1, "prompt": "?", "assertions": ["It holds."]}]},
        "another prompt: it is evalstore's own, and it does not see the files of a run",
    ),
    "ai_eval_target": (
        {"id": "t", "graders": ["relevance_grader"], "dataset_ref": "d"},
        "another prompt: it is evalstore's own",
    ),
    "ai_eval_row": (
        {"questions": [{"id": "q", "input": "?", "criteria": "c", "must_not_contain": ["x"]}]},
        "must_not_contain: the program caps the grade of accuracy where one occurs, which nothing here does",
    ),
    "agentevals": (
        {"tests": [{"id": "t", "input": "?", "criteria": "right", "assertions": ["It is right."]}]},
        "another prompt: it is evalstore's own",
    ),
}


def migrate_one(value: Any, folder: Path) -> MigrationEntry:
    source = folder / "source.json"
    source.write_text(json.dumps(value))
    (entry,) = migrate(source, into=folder, dry_run=True).entries
    return entry


@pytest.mark.parametrize("name", CASES)
def test_a_judge_of_ours_is_a_loss_in_every_format(name: str, tmp_path: Path) -> None:
    value, reason = CASES[name]
    entry = migrate_one(value, tmp_path)
    assert (entry.outcome, entry.reasons[0]) == (MigrationOutcome.LOSSY, reason)


def test_only_a_judge_that_differs_in_nothing_is_the_graders() -> None:
    same = JudgeFacts(prompt="")
    assert find_judge_loss([same], []) == ""
    assert find_judge_loss([], ["the files"]) == ""
    assert find_judge_loss([same], ["the files"]) == "another prompt: it does not see the files"
    assert find_judge_loss([same, JudgeFacts("", "it rounds")], []) == "another prompt: it rounds"
    assert find_judge_loss([JudgeFacts()], []) == "another prompt: it is evalstore's own"


def test_one_line_says_three_reasons_and_the_report_all(tmp_path: Path) -> None:
    statements = [{"type": kind, "text": "It holds."} for kind in ("tone", "style", "depth")]
    source = tmp_path / "source.json"
    source.write_text(json.dumps({"evals": [{"id": 1, "prompt": "?", "assertions": statements}]}))
    (entry,) = document(migrate(source, into=tmp_path, dry_run=True))["entries"]
    assert len(entry["reasons"]) > 3
    assert entry["reason"].split("; ")[:3] == entry["reasons"][:3]
    assert entry["reason"].endswith(f"; and {len(entry['reasons']) - 3} more")


def test_a_second_case_of_one_id_is_no_loss(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    row = LEGAL | {"task_type": "reference_qa", "reference_answers": ["a"]}
    del row["rubric"]
    source.write_text(json.dumps([row, row]))
    first, second = migrate(source, into=tmp_path, dry_run=True).entries
    assert second.reasons == (*first.reasons, "1 is also the case at /0; here it is 1_2")


def test_strict_lets_through_the_losses_that_are_named(cli: Any, tmp_path: Path) -> None:
    judged = {"id": 1, "prompt": "?", "assertions": ["It greets"]}
    source = tmp_path / "in/evals.json"
    source.parent.mkdir()
    source.write_text(json.dumps({"skill_name": "forms", "evals": [judged]}))

    def run(*options: str) -> Any:
        return cli("migrate", source, "--into", tmp_path / "store", "--dry-run", *options)

    assert run("--strict").code == 1
    assert run("--strict", "--allow", "unmapped,lossy").code == 1
    assert run("--strict", "--allow", "another-prompt").code == 0
    source.write_text(json.dumps({"skill_name": "forms", "evals": [judged, "nothing"]}))
    assert run("--strict", "--allow", "another-prompt").code == 1
    assert run("--strict", "--allow", "another-prompt, unmapped,refused").code == 0
    wrong = run("--strict", "--allow", "other-prompt")
    assert (wrong.code, "did you mean another-prompt?" in wrong.err) == (2, True)
    assert run("--allow", "lossy").code == 2


UNSCORED: dict[str, tuple[Any, str]] = {
    "promptfoo": (
        {
            "prompts": ["{{q}}"],
            "providers": ["openai:gpt-4"],
            "tests": [{"vars": {"q": "?"}, "assert": [{"type": "python", "value": "grade(output)"}]}] * 2,
        },
        "code decides",
    ),
    "skill_creator": (
        {"evals": [{"id": 1, "prompt": "?", "expectations": [{"type": "file_exists", "path": "x"}]}]},
        "a statement of file_exists",
    ),
    "module_docs": (
        {"module": "m", "evals": [{"id": "e", "mode": "execution", "prompt": "Do it.", "verify": "v.sh"}]},
        "a script decides",
    ),
}


@pytest.mark.parametrize("name", UNSCORED)
def test_a_suite_that_only_code_grades_is_refused_and_leaves_no_dataset(name: str, tmp_path: Path) -> None:
    value, why = UNSCORED[name]
    (tmp_path / "source.json").write_text(json.dumps(value))
    report = migrate(tmp_path / "source.json", into=tmp_path / "store")
    (entry,) = report.entries
    assert entry.outcome is MigrationOutcome.REFUSED
    assert f"can be said here ({why}" in (entry.reason or "")
    assert report.written == ()
