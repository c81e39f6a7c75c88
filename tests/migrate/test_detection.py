"""Signs are weighed over all cases of a file; a single odd case decides nothing, and a tie is for the user to decide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import FileState, MigrationOutcome, MigrationReport, list_formats, migrate
from evalstore.migration.table import load_tables

RECIPE = {"prompt": "?", "mode": "recipe", "must_not_contain": ["Drush"]}
LINTED = {"prompt": "?", "check_php_lint": True, "must_not_contain": ["Drush"]}
RESULT = {"timestamp": "2026-01-01T00:00:00Z", "test_id": "a", "score": 1, "scores": [], "assertions": []}


def migrate_cases(folder: Path, *cases: dict[str, Any], **options: Any) -> MigrationReport:
    source = folder / "evals.json"
    source.write_text(json.dumps({"evals": [{"id": n, **case} for n, case in enumerate(cases, start=1)]}))
    return migrate(source, into=folder / "store", dry_run=True, **options)


def test_one_case_of_a_mode_is_no_dialect(tmp_path: Path) -> None:
    report = migrate_cases(tmp_path, RECIPE, LINTED, LINTED, LINTED)
    assert report.sources[0].dialect == "agentskills"
    assert "no grader reads 'mode'" in report.entries[0].reason
    diffs = "".join(file.diff for file in report.files)
    assert "kind: php_lint" in diffs
    assert "case_sensitive: true" not in diffs


def test_most_cases_of_a_mode_are_the_dialect(tmp_path: Path) -> None:
    report = migrate_cases(tmp_path, RECIPE, RECIPE, {"prompt": "?"})
    assert report.sources[0].dialect == "module_docs"


def test_about_as_many_for_both_are_asked_for(tmp_path: Path) -> None:
    report = migrate_cases(tmp_path, RECIPE, LINTED)
    (entry,) = report.entries
    assert entry.outcome is MigrationOutcome.REFUSED
    assert "module_docs (its cases have the modes of module documentation: 1 of 2)" in entry.reason
    assert "agentskills (a key of check_markdown_structure, check_php_lint: 1 of 2)" in entry.reason
    assert "--dialect decides" in entry.reason
    assert migrate_cases(tmp_path, RECIPE, LINTED, dialect="module_docs").sources[0].dialect == "module_docs"


STATED = {"prompt": "?", "assertions": ["It greets"]}
PHRASED = {"prompt": "?", "must_contain_any": ["a"]}


@pytest.mark.parametrize(
    ("cases", "format_"),
    [
        ([STATED] * 19 + [PHRASED], "skill_creator"),
        ([PHRASED] * 19 + [STATED], "ai_best_practices"),
        ([{"prompt": "?", "expectations": ["a"]}] * 9 + [PHRASED], "skill_creator"),
        ([{"prompt": "?", "expected_output": "a"}] * 19 + [PHRASED], "skill_creator"),
        # What no grader reads speaks for nothing, whatever its number.
        ([{"prompt": "?"}] * 9 + [PHRASED], "ai_best_practices"),
    ],
)
def test_one_odd_case_makes_no_other_format(cases: list[dict[str, Any]], format_: str, tmp_path: Path) -> None:
    assert migrate_cases(tmp_path, *cases).sources[0].format == format_
    assert migrate_cases(tmp_path, *reversed(cases)).sources[0].format == format_


@pytest.mark.parametrize("number", [1, 4])
def test_two_formats_of_about_the_same_weight_are_asked_for(number: int, tmp_path: Path) -> None:
    report = migrate_cases(tmp_path, *[STATED, PHRASED] * number)
    (entry,) = report.entries
    assert (entry.outcome, report.sources[0].format) == (MigrationOutcome.REFUSED, None)
    assert f"ai_best_practices (its cases have a key that only this grader reads: {number} of" in entry.reason
    assert f"skill_creator (its cases have a prompt and statements about the answer: {number} of" in entry.reason
    assert entry.reason.endswith("--from decides")
    assert [guess.format for guess in report.sources[0].also] == ["ai_best_practices", "skill_creator"]
    taken = migrate_cases(tmp_path, STATED, PHRASED, format="skill_creator")
    assert taken.sources[0].format == "skill_creator"


def test_a_list_beside_a_longer_one_makes_no_other_format(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps({"evals": [STATED] * 9, "tests": [{"input": "?", "criteria": "polite"}]}))
    assert migrate(source, into=tmp_path / "store", dry_run=True).sources[0].format == "skill_creator"


def test_one_odd_test_makes_no_other_dialect(tmp_path: Path) -> None:
    plain = {"criteria": "polite", "input": "?", "assertions": ["greets"]}
    tests = [{"id": str(number), **plain} for number in range(9)]
    source = tmp_path / "a.json"
    source.write_text(json.dumps({"tests": [*tests, {"id": "odd", "vars": {"a": "b"}, "assert": []}]}))
    report = migrate(source, into=tmp_path / "store", dry_run=True)
    assert report.sources[0].dialect == "D3"
    assert "vars speaks for D4" in "".join(entry.reason for entry in report.entries)
    source.write_text(json.dumps({"tests": [tests[0], {"id": "odd", "vars": {"a": "b"}, "criteria": "?"}]}))
    asked = migrate(source, into=tmp_path / "store", dry_run=True)
    assert [entry.outcome for entry in asked.entries] == [MigrationOutcome.REFUSED]
    assert "D4 (vars: 1 of 2) or D3 (assertions: 1 of 2); --dialect decides" in asked.entries[0].reason


@pytest.mark.parametrize(
    ("config", "choices"),
    [
        (
            {
                "tests": [
                    {"input": "?", "criteria": "?", "assertions": ["greets"]},
                    {"vars": {"a": "b"}, "input": "?", "criteria": "?"},
                ]
            },
            ("D3",),
        ),
        (
            {
                "prompts": ["{{ w }}"],
                "providers": ["echo"],
                "tests": [{"vars": {"w": "b"}, "assert": [{"type": "contains-all", "value": '"b, c", d'}]}],
            },
            ("0.121", "0.118"),
        ),
    ],
)
def test_a_dialect_that_was_chosen_stays_until_another_is(
    config: dict[str, Any], choices: Sequence[str], tmp_path: Path
) -> None:
    source, store = tmp_path / "a.json", tmp_path / "store"
    source.write_text(json.dumps(config))
    assert "--dialect" in migrate(source, into=store).entries[0].reason
    for choice in choices:
        migrate(source, into=store, dialect=choice)
        again = migrate(source, into=store)
        assert again.sources[0].dialect == choice
        assert [file.state for file in again.files if file.state is not FileState.UNCHANGED] == []
        said = [line for entry in again.entries for line in (*entry.reasons, *entry.remarks)]
        assert any("--dialect" in line for line in said)


def test_every_format_declares_its_signs_with_a_sentence() -> None:
    tables = load_tables()
    assert all(sign.because and 0 < sign.confidence < 1 for table in tables for sign in (*table.signs, *table.against))
    assert {table.format for table in tables if table.against} == set(list_formats())


@pytest.mark.parametrize("rows", [[RESULT], [RESULT, RESULT, {"id": "a", "assertions": ["x"], "input": "?"}]])
def test_rows_with_times_and_scores_are_no_suite(rows: list[Any], tmp_path: Path) -> None:
    source = tmp_path / "a.baseline.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = migrate(source, into=tmp_path / "store", dry_run=True)
    assert [(entry.outcome, entry.pointer) for entry in report.entries] == [(MigrationOutcome.UNMAPPED, "")]
    assert "results of AgentV" in report.entries[0].reason
    assert not report.files


def test_a_suite_by_name_is_named_where_no_format_takes_it(tmp_path: Path) -> None:
    folder = tmp_path / "tree/a"
    folder.mkdir(parents=True)
    (folder / "evals.json").write_text('{"things": []}')
    (folder / "other.json").write_text('{"things": []}')
    report = migrate(tmp_path / "tree", into=tmp_path / "store", dry_run=True)
    assert [Path(entry.file).name for entry in report.entries] == ["evals.json"]
    assert [Path(source.file).name for source in report.skipped] == ["other.json"]


@pytest.mark.parametrize("asks", ["prompt", "query", "input", "question"])
def test_a_behavior_is_expected_of_what_is_asked(asks: str, tmp_path: Path) -> None:
    case = {"expected_behavior": ["It greets"]}
    assert migrate_cases(tmp_path, case | {asks: "?"}).sources[0].format == "skill_creator"
    (entry,) = migrate_cases(tmp_path, case | {"user_input": "?"}).entries
    assert entry.reason.startswith("probably not skill_creator")
