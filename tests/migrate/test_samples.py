"""Real files of every format: all are spoken of, come back equal as data, and leave a store without a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import MigrationOutcome, MigrationReport, export, list_formats, migrate
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.remainder import is_same_data
from tests.shared_data import SHARED, WHERE

SAMPLES = SHARED / "samples"
HERE = [name for name in list_formats() if (SAMPLES / name).is_dir()]
# What sources that hold no grader come to: questions, and nothing to score them with.
UNGRADED = {"dataset-unscored", "question-unscored"}
# What a migration cannot know: how well a judge agrees with people; and what it says itself, of checks no kind can say.
# What a prompt of the source could say better is no fault of its migration.
WORDING = {"criterion-doubled", "criterion-vague", "scale-unexplained", "level-unexplained", "phrase-short"}
EXPECTED = {"judge-unvalidated", "rubric-partial", *WORDING, *UNGRADED}

pytestmark = pytest.mark.skipif(not HERE, reason=f"there are no samples {WHERE}")


@pytest.mark.heavy
@pytest.mark.parametrize("format", HERE)
def test_what_holds_of_the_files_of_a_format(format: str, tmp_path: Path, git: Any, cli: Any) -> None:  # noqa: A002  # the word of the command line
    git()
    report = migrate([SAMPLES / format], into=tmp_path / "repo", format=format)
    hold_report(format, report)
    found = json.loads(cli("-C", tmp_path / "repo", "validate", "--format", "json").out)["findings"]
    assert [finding for finding in found if finding["rule"] not in EXPECTED] == []
    assert [finding for finding in found if finding["severity"] == "error"] == []
    hold_export(format, report, tmp_path / "repo", tmp_path / "out")


def hold_report(format_: str, report: MigrationReport) -> None:
    """Something is said about every file."""
    said = {entry.file for entry in report.entries} | {source.file for source in report.skipped}
    files = {path.relative_to(SAMPLES).as_posix() for path in (SAMPLES / format_).rglob("*.json*") if path.is_file()}
    assert files <= said
    assert all(entry.line and (entry.reason or entry.outcome is MigrationOutcome.MIGRATED) for entry in report.entries)


def hold_export(format_: str, report: MigrationReport, store: Path, out: Path) -> None:
    """Every file that was taken comes back equal as data."""
    taken = [source for source in report.sources if source.target]
    assert taken
    export(to=format_, store=store, out=out)
    for source in taken:
        given, original = (parse_whole((root / source.file).read_bytes(), source.file) for root in (out, SAMPLES))
        assert is_same_data(given.value, original.value), source.file
