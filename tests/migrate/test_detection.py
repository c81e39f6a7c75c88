"""Signs are weighed over all cases of a file; a single odd case decides nothing, and a tie is for the user to decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import MigrationOutcome, MigrationReport, migrate

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


@pytest.mark.parametrize("rows", [[RESULT], [RESULT, RESULT, {"id": "a", "assertions": ["x"], "input": "?"}]])
def test_rows_with_times_and_scores_are_no_suite(rows: list[Any], tmp_path: Path) -> None:
    source = tmp_path / "a.baseline.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = migrate(source, into=tmp_path / "store", dry_run=True)
    assert [(entry.outcome, entry.pointer) for entry in report.entries] == [(MigrationOutcome.UNMAPPED, "")]
    assert "results of a run" in report.entries[0].reason
    assert not report.files


def test_a_suite_by_name_is_named_where_no_format_takes_it(tmp_path: Path) -> None:
    folder = tmp_path / "tree/a"
    folder.mkdir(parents=True)
    (folder / "evals.json").write_text('{"things": []}')
    (folder / "other.json").write_text('{"things": []}')
    report = migrate(tmp_path / "tree", into=tmp_path / "store", dry_run=True)
    assert [Path(entry.file).name for entry in report.entries] == ["evals.json"]
    assert [Path(source.file).name for source in report.skipped] == ["other.json"]
