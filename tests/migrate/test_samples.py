"""Real files of every format: all are spoken of, come back equal as data, and leave a store without a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import MigrationOutcome, export, list_formats, migrate
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.remainder import is_same_data

SAMPLES = Path(__file__).resolve().parents[3] / "shared/samples"
HERE = [name for name in list_formats() if (SAMPLES / name).is_dir()]
# What sources that hold no grader come to: questions, and nothing to score them with.
UNGRADED = {"dataset-unscored", "question-unscored"}
# What a migration cannot know: how well a judge agrees with people; and what it says itself, of checks no kind can say.
EXPECTED = {"judge-unvalidated", "rubric-partial", *UNGRADED}

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
each_format = pytest.mark.parametrize("format", HERE)


@pytest.mark.heavy
@each_format
def test_they_come_back_equal_as_data(format: str, tmp_path: Path) -> None:  # noqa: A002  # the word of the command line
    report = migrate([SAMPLES / format], into=tmp_path / "store", format=format)
    taken = [source for source in report.sources if source.target]
    assert taken
    export(to=format, store=tmp_path / "store", out=tmp_path / "out")
    for source in taken:
        given, original = (
            parse_whole((root / source.file).read_bytes(), source.file) for root in (tmp_path / "out", SAMPLES)
        )
        assert is_same_data(given.value, original.value), source.file


@pytest.mark.heavy
@each_format
def test_every_file_is_said_something_about(format: str, tmp_path: Path) -> None:  # noqa: A002
    report = migrate([SAMPLES / format], into=tmp_path, dry_run=True)
    said = {entry.file for entry in report.entries} | {source.file for source in report.skipped}
    files = {path.relative_to(SAMPLES).as_posix() for path in (SAMPLES / format).rglob("*.json*") if path.is_file()}
    assert files <= said
    assert all(entry.line and (entry.reason or entry.outcome is MigrationOutcome.MIGRATED) for entry in report.entries)


@pytest.mark.heavy
@each_format
def test_the_store_has_no_fault(format: str, tmp_path: Path, git: Any, cli: Any) -> None:  # noqa: A002
    git("status")
    migrate([SAMPLES / format], into=tmp_path / "repo", format=format)
    found = json.loads(cli("-C", tmp_path / "repo", "validate", "--format", "json").out)["findings"]
    assert [finding for finding in found if finding["rule"] not in EXPECTED] == []
