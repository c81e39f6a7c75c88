"""What a migration says of itself: never silent, however much there is, and calm all the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli import progress
from evalstore.languages.schemas import compile_schema
from evalstore.migration import FormatGuess, migrate
from evalstore.migration.detect import detect_format
from evalstore.migration.table import load_tables
from evalstore.report import render

ROOT = Path(__file__).resolve().parents[2]
Suite = Callable[..., Path]
Run = Callable[..., Any]


@pytest.fixture
def many(suite: Suite, tmp_path: Path) -> Path:
    """A tree of many suites, one of which has very much to say."""
    for number in range(30):
        suite({"must_contain_any": [f"word {number}"]}, name=f"quiet_{number}")
    suite(*({"must_contain_any": ["a"], f"note_{number}": 1} for number in range(60)), name="loud")
    (tmp_path / "legacy/package.json").write_text("{}")
    (tmp_path / "legacy/rows.jsonl").write_text('{"a": 1}\n')
    return tmp_path / "legacy"


@pytest.mark.heavy
def test_a_long_report_says_what_it_leaves_out(cli: Run, many: Path, tmp_path: Path) -> None:
    ran = cli("migrate", many, "--into", tmp_path / "store")
    lines = ran.out.splitlines()
    assert len(lines) < 40
    assert "ai_best_practices     31       90        90      0         0        0" in lines
    assert "  and 40 more remarks; --verbose shows all of it, and so does --format json" in lines
    assert "30 sources more without remarks" in lines
    steps = [line.split("evalstore ")[1] for line in ran.next_steps.splitlines()]
    assert steps == [f"-C {tmp_path / 'store'} {words}" for words in ("validate .", "bump --all")]
    assert cli(*steps[0].split()).code == 0
    assert lines[-2:] == [
        "32 files written, 0 unchanged",
        "2 other files skipped; --verbose names them",
    ]


@pytest.mark.heavy
def test_what_many_sources_have_to_say_is_said_once(suite: Suite, cli: Run, tmp_path: Path) -> None:
    for number in range(30):
        cases = ({"must_contain_any": ["a"], "note": 1}, {"must_contain_any": ["a"], f"own_{number}": 1})
        suite(*cases, name=f"suite_{number:02}")
    suite({"must_contain_any": "abc"}, name="text")
    ran = cli("migrate", tmp_path / "legacy", "--into", tmp_path / "store", "--report", tmp_path / "report.md")
    lines = ran.out.splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 100
    said = [" ".join(line.split()) for line in lines]
    start = said.index("OUTCOME ENTRIES FILES WHY, AND WHERE FIRST")
    assert said[start + 1].startswith("lossy 1 1 ")  # the worst first
    first = said.index("legacy/text/evals.json:4") + 1
    assert said[first : first + 2] == [
        "note 30 30 no grader reads 'note': kept as data",
        "legacy/suite_00/evals.json:4",
    ]
    assert "note 30 30 30 more sentences" in said
    assert "this concerns 31 of 31 sources; --verbose has a line for every entry, --report FILE keeps them all" in said
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "| note | 30 | 30 | no grader reads 'note': kept as data |" in page


@pytest.mark.heavy
def test_verbose_has_a_line_for_every_entry_and_every_file(cli: Run, many: Path, tmp_path: Path) -> None:
    out = cli("migrate", many, "--into", tmp_path / "store", "--verbose").out
    assert sum(" migrated " in line for line in out.splitlines()) == 90
    entry = next(line for line in out.splitlines() if "/evals/59" in line)
    assert entry.split()[:4] == ["legacy/loud/evals.json:476", "/evals/59", "migrated", "datasets/loud.yaml#B60"]
    assert "skipped: legacy/package.json, it is empty: there is no case in it to migrate" in out
    assert "skipped: legacy/rows.jsonl, this is not a format that evalstore migrates" in out
    assert cli("migrate", many / "quiet_1", "--into", tmp_path / "other", "--verbose", "--quiet").out == ""


@pytest.mark.heavy
def test_a_dry_run_is_a_plan_that_can_be_read(cli: Run, many: Path, suite: Suite, tmp_path: Path) -> None:
    store = tmp_path / "store"
    cli("migrate", many / "quiet_1", "--share", "cases", "--into", store)
    changed = store / "rubrics/quiet_1_b01.yaml"
    changed.write_text(changed.read_text("utf-8").replace("- word 1", "- ours"), encoding="utf-8")
    plan = cli("migrate", many, "--share", "cases", "--into", store, "--dry-run").out
    assert len(plan.splitlines()) < 110
    assert next(line for line in plan.splitlines() if "quiet_1_b01.yaml" in line).split()[0] == "kept"
    assert "it was changed here, not at the source" in plan
    assert "+id: quiet_2" not in plan
    assert {"  new  30 files in datasets/", "  new  30 files in rubrics/"} <= set(plan.splitlines())
    assert "60 files not shown line by line; --verbose shows all of it, and so does --format json" in plan
    assert "dry run, nothing written: 62 files, 1 kept, 60 new, 1 unchanged" in plan
    whole = cli("migrate", many, "--share", "cases", "--into", store, "--dry-run", "--verbose").out
    assert "+id: quiet_2" in whole
    alone = cli("migrate", many / "quiet_2", "--into", tmp_path / "other", "--verbose").out
    assert [text for text in (plan, whole, alone) if "\n\n\n" in text] == []
    assert "+id: quiet_2" in cli("migrate", many / "quiet_2", "--share", "cases", "--into", store, "--dry-run").out


def test_a_folder_without_such_a_file_is_told(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/package.json").write_text("{}")
    ran = cli("migrate", tmp_path / "notes", "--into", tmp_path / "store")
    assert ran.out.splitlines() == [
        "no file has a format that evalstore migrates: nothing to do",
        "1 other file skipped; --verbose names them",
    ]


def test_totals_are_by_format(tmp_path: Path, suite: Suite) -> None:
    suite({"must_contain_any": ["a"]})
    rubric = {"name": "r", "version": "1.0.0", "scale": {"min": 0, "max": 1}, "criteria": {}}
    (tmp_path / "legacy/rubric.json").write_text(json.dumps(rubric))
    (tmp_path / "legacy/trigger.json").write_text('[{"query": "?", "should_trigger": true}]')
    text = render(migrate([tmp_path / "legacy"], into=tmp_path / "store"), "text")
    assert [line.split()[0] for line in text.splitlines()[1:5]] == ["ai_best_practices", "no", "openrubricrl", "all"]


def test_what_else_a_file_looks_like_is_said(suite: Suite, tmp_path: Path) -> None:
    tables = load_tables("ai_best_practices")
    value = {"evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}]}
    match = detect_format(value, [*tables, *tables])
    guess = FormatGuess("ai_best_practices", 0.95, "its cases have a key that only this grader reads")
    assert match.also == (guess,)
    report = migrate([suite({"must_contain_any": ["a"]})], into=tmp_path / "store")
    told = render(_with_guess(report, guess), "text")
    assert (
        "also looks like ai_best_practices, 95% sure: its cases have a key that only this grader reads; "
        "--from ai_best_practices reads it as that"
    ) in " ".join(told.split())


def _with_guess(report: Any, guess: FormatGuess) -> Any:
    from dataclasses import replace

    return replace(report, sources=tuple(replace(source, also=(guess,)) for source in report.sources))


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["--dialect", "agentskill"], "did you mean agentskills?"),
        (["--dialect", "x", "--from", "ai_best_practices"], "the dialects are agentskills, legacy"),
        (["--dialect", "whole", "--from", "ai_best_practices"], "the dialects are agentskills, legacy"),
    ],
)
def test_a_dialect_that_there_is_not_is_a_wrong_command_line(
    cli: Run, suite: Suite, tmp_path: Path, argv: list[str], hint: str
) -> None:
    ran = cli("migrate", suite({"must_contain_any": ["a"]}), "--into", tmp_path / "store", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err


@pytest.mark.parametrize("suffix", [".json", ".md", ".txt", ".out"])
def test_a_report_is_written_as_its_name_says(cli: Run, suite: Suite, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"report{suffix}"
    source = suite({"must_contain_any": "abc"}, {"must_contain_any": ["a"]})
    assert cli("migrate", source, "--into", tmp_path / "store", "--report", file).code == 0
    text = file.read_text("utf-8")
    if suffix in {".json", ".out"}:
        schema = json.loads((ROOT / "schema/output/migrate.schema.json").read_text("utf-8"))
        assert list(compile_schema(schema).find_violations(json.loads(text))) == []
    else:
        assert text.startswith("### evalstore migrate" if suffix == ".md" else "FORMAT")
        assert ("| lossy | line 4 |" if suffix == ".md" else "/evals/1") in text
    gone = cli("migrate", source, "--into", tmp_path / "store", "--report", tmp_path / "none/report.json")
    assert (gone.code, "cannot be written" in gone.err) == (3, True)


HOSTILE = ("| a | b |", "<script>alert(1)</script>", "![x](https://evil.example)", "@everyone", "`", "a\n\n# b")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_from_outside_is_words(suite: Suite, tmp_path: Path, text: str) -> None:
    report = migrate([suite({"must_contain_any": ["a"], text: 1})], into=tmp_path / "store", dry_run=True)
    told = render(report, "markdown")
    assert sum(line.startswith("| --- |") for line in told.splitlines()) == 2
    row = told.splitlines()[[line.startswith("| outcome") for line in told.splitlines()].index(True) + 2]
    assert row.replace("\\|", "").count("|") == 4
    assert not re.search(r"(?<!\\)(<script|\]\(|@everyone)|\n# b", told)


def test_a_bar_is_drawn_on_a_terminal_and_nowhere_else(
    cli: Run, suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        suite({"must_contain_any": ["word"]}, name=f"suite_{number}")
    many = tmp_path / "legacy"
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    assert cli("migrate", many, "--into", tmp_path / "a").err == ""
    monkeypatch.setattr(progress, "can_show_bars", lambda **_: True)
    shown = cli("migrate", many, "--into", tmp_path / "b")
    assert "reading" in shown.err
    assert "planning" in shown.err
    assert "reading  [" not in shown.out


def test_a_second_migration_tells_the_changes_first(cli: Any, tmp_path: Path) -> None:
    source = tmp_path / "in/forms/evals.json"
    source.parent.mkdir(parents=True)

    def migrate_phrase(phrase: str) -> list[str]:
        case = {"id": 1, "prompt": "?", "must_contain_any": [phrase], "note": 1}
        source.write_text(json.dumps({"skill_name": "forms", "evals": [case]}))
        lines: list[str] = cli("-C", tmp_path, "migrate", "in").out.splitlines()
        return lines

    first, again = migrate_phrase("a"), migrate_phrase("b")
    assert first[0].startswith("FORMAT")
    assert first[2].startswith("recognised as ai_best_practices")
    assert again[0].split() == ["updated", "datasets/forms.yaml"]
    assert not [line for line in again if "recognised" in line]
