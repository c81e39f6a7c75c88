"""Case folders: legacy files, the store that comes of them, and what is reported; whatever else must hold of each."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration import FileState, MigrationOutcome, MigrationReport, export, list_formats, migrate
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.planned_writes import render_rows
from evalstore.migration.remainder import is_same_data
from evalstore.model import parse_ref
from evalstore.report.migrate import document
from tests.rows import thin

CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
FOLDERS = sorted(path for path in CASES.glob("*/*") if path.is_dir())


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_every_format_has_cases() -> None:
    assert sorted(path.name for path in CASES.iterdir()) == list_formats()


def test_every_quirk_that_was_seen_has_a_case() -> None:
    numbers = {f"d{number:02}" for number in range(1, 22)} | {f"o{number:02}" for number in range(1, 31)}
    assert {case.name.split("_")[1] for case in FOLDERS if case.name.startswith("quirk_")} == numbers


@pytest.mark.parametrize("case", thin(FOLDERS, 2), ids=lambda case: f"{case.parent.name}/{case.name}")
def test_what_holds_of_every_case(case: Path, tmp_path: Path) -> None:
    """A dry run writes nothing, the files and the report are those of the case, a second run changes nothing, and back."""
    # Copied, as a file of a repository is named from the top of that.
    case = Path(shutil.copytree(case, tmp_path / "cases" / case.parent.name / case.name))
    run = tmp_path / "run"
    run.mkdir()
    hold_dry_run(case, run / "store")
    first = migrate([case / "legacy"], into=run / "store")
    hold_files(case, run / "store", first)
    hold_second_run(case, run / "store", first)
    hold_export(case, run / "store", run / "out", first)


def hold_dry_run(case: Path, store: Path) -> None:
    report = migrate([case / "legacy"], into=store, dry_run=True)
    assert list(store.parent.iterdir()) == []
    assert report.written == ()
    plan = {file.path: file.diff for file in report.files}
    assert plan.keys() == tree(case / "expected").keys()
    for path, diff in plan.items():
        added = [line[1:] for line in diff.splitlines()[3:]]
        assert added == (case / "expected" / path).read_text("utf-8").splitlines()


def hold_files(case: Path, store: Path, report: MigrationReport) -> None:
    assert tree(store) == tree(case / "expected")
    told = document(report)
    assert {"entries": told["entries"], "skipped": told["skipped"]} == json.loads((case / "report.json").read_text())
    assert sorted(report.written) == sorted(tree(store))
    check_every_question_names_a_rubric_that_is_there(report.entries, tree(store))


def hold_second_run(case: Path, store: Path, first: MigrationReport) -> None:
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    second = migrate([case / "legacy"], into=store)
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before
    assert second.written == ()
    assert second.entries == first.entries
    assert {file.state for file in second.files} <= {FileState.UNCHANGED}


def hold_export(case: Path, store: Path, out: Path, report: MigrationReport) -> None:
    taken = [source for source in report.sources if source.target]
    if taken:
        export(to=case.parent.name, store=store, out=out)
    sources = {source.file for source in taken}
    assert sources <= tree(out).keys()
    for name in tree(out).keys() - sources:  # a table of a suite, which is no source by itself
        assert tree(out)[name] == (case / name).read_bytes()
    for source in taken:
        given = parse_whole((out / source.file).read_bytes(), source.file).value
        original = parse_whole((case / source.file).read_bytes(), source.file).value
        assert is_same_data(given, original)
        assert list(given) == list(original)
        if not isinstance(given, dict):
            continue
        for one, other in zip(_cases(given), _cases(original), strict=True):
            assert list(one) == list(other)


def _cases(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [case for cases in value.values() if isinstance(cases, list) for case in cases if isinstance(case, dict)]


def check_every_question_names_a_rubric_that_is_there(entries: Iterable[Any], files: dict[str, bytes]) -> None:
    for entry in entries:
        made = entry.outcome in {MigrationOutcome.MIGRATED, MigrationOutcome.LOSSY}
        if entry.target is None and entry.remarks:
            continue  # a note on a part of a case, which moves no verdict
        assert (entry.target is not None) == made
        assert entry.rubric is None or made  # a question may have none: a target grades it
        if entry.rubric:
            assert f"rubrics/{parse_ref(entry.rubric).id}.yaml" in files
        assert entry.reason or made


def test_other_line_ends_change_nothing(tmp_path: Path) -> None:
    legacy = CASES / "every_eval_ever/quirk_o24_labels_that_lie/legacy"
    for path in migrate([legacy], into=tmp_path).written:
        (tmp_path / path).write_bytes((tmp_path / path).read_bytes().replace(b"\n", b"\r\n"))
    assert {file.state for file in migrate([legacy], into=tmp_path).files} == {FileState.UNCHANGED}
    there = '{"id":"a","input":"x"}\r\n'
    text = render_rows([{"id": "a", "input": "x"}], there, FileState.UPDATED)
    assert (text.new, text.state) == (there, FileState.UNCHANGED)


@pytest.mark.heavy
def test_a_larger_suite_keeps_its_rows_beside_it(tmp_path: Path) -> None:
    value = {
        "skill_name": "big",
        "evals": [{"id": n, "prompt": "p" * 1000, "must_contain_any": ["a"]} for n in range(300)],
    }
    source = tmp_path / "big/evals.json"
    source.parent.mkdir()
    source.write_text(json.dumps(value))
    report = migrate([source], into=tmp_path / "store")
    assert [path.split("/")[1] for path in report.written] == ["big.jsonl", "big.yaml", "big.yaml"]
    assert (tmp_path / "store/datasets/big.yaml").read_text().count("\n") < 20
    given = export(to="ai_best_practices", store=tmp_path / "store").files[0]
    assert json.loads(given.text) == value
    assert migrate([source], into=tmp_path / "store").written == ()


def test_what_is_nested_too_deep_for_a_store_is_kept_as_a_text(tmp_path: Path) -> None:
    deep: object = "bottom"
    for _ in range(800):
        deep = [deep]
    source = tmp_path / "evals.json"
    plain = {"prompt": "?", "must_contain_any": ["a"]}
    source.write_text(json.dumps({"evals": [{"id": 1, **plain, "deep": deep}, {"id": 2, **plain}]}))
    report = migrate([source], into=tmp_path / "store")
    assert report.complete
    assert "deep is nested deeper than 32 levels: kept as data" in report.entries[0].reasons
    (given,) = export(to="ai_best_practices", store=tmp_path / "store").files
    assert json.loads(given.text) == json.loads(source.read_text())


@pytest.mark.slow
def test_a_label_used_very_often_costs_no_more_than_others(tmp_path: Path) -> None:
    source = tmp_path / "evals.json"
    source.write_text(json.dumps({"evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}] * 20_000}))
    start = time.process_time()
    report = migrate([source], into=tmp_path, dry_run=True)
    assert report.entries[-1].target == "datasets/evals.yaml#B01_20000"
    assert time.process_time() - start < 60  # quadratic, it would be minutes
