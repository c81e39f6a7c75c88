"""A store whose checks an earlier release numbered: the source's names come in as a rename, and no edit is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evalstore.migration import export
from evalstore.migration.extraction import parse_whole

Git = Callable[..., str]
Run = Callable[..., Any]
Edit = tuple[str, str]

BEFORE = Path(__file__).parent / "old_names"
EXPLODED = ("legacy/quality.json", "--from", "openrubricrl", "--dialect", "exploded")
RENAMED = "its checks have the names of the source now: "
TENANCY = "criterion_1 is cites_statute, criterion_2 is clear_conclusion, criterion_3 is invents_case"
KEPT = (
    f"it was changed here and not at the source; its checks keep the names that an earlier release gave them ({TENANCY}): "
    "--merge gives them those of the source"
)


@pytest.fixture
def store(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a store that an earlier release migrated, and its sources as they were then."""
    git("status")
    repo = tmp_path / "repo"
    shutil.copytree(BEFORE / "store", repo, dirs_exist_ok=True)
    shutil.copytree(BEFORE / "legacy", repo / "legacy")
    git("add", ".")
    git("commit", "-m", "Migrate")
    monkeypatch.chdir(repo)
    return repo


def migrate_again(cli: Run, *options: str) -> dict[str, tuple[str, str]]:
    document = json.loads(cli("migrate", *(options or ["legacy/law.jsonl"]), "--format", "json").out)
    return {file["path"]: (file["state"], file["reason"]) for file in document["files"] if file["state"] != "unchanged"}


def edit(path: Path, *edits: Edit) -> None:
    text = path.read_text("utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text("utf-8"))


def list_ids(path: Path) -> list[str]:
    return [check["id"] for check in read(path)["checks"]]


def test_names_come_in_as_a_rename_once(cli: Run, store: Path, tmp_path: Path) -> None:
    assert migrate_again(cli, "legacy/law.jsonl", "legacy/pdf") == {
        "rubrics/law_notice.yaml": ("updated", f"{RENAMED}criterion_1 is names_the_days"),
        "rubrics/law_tenancy.yaml": ("updated", f"{RENAMED}{TENANCY}"),
        "rubrics/pdf_1.yaml": (
            "updated",
            f"{RENAMED}statement_1 is the_output_includes_a_chart, statement_2 is the_chart_has_labels",
        ),
        "rubrics/pdf_the_output_includes_a.yaml": ("updated", f"{RENAMED}statement_1 is the_output_includes_a_table"),
    }
    assert migrate_again(cli, *EXPLODED) == {
        "rubrics/code_quality.yaml": ("updated", f"{RENAMED}criterion_1 is correctness, criterion_2 is style_form")
    }
    tenancy = read(store / "rubrics/law_tenancy.yaml")
    assert tenancy["scoring"]["weights"] == {"cites_statute": 2}
    assert list_ids(store / "rubrics/law_tenancy.yaml") == ["cites_statute", "clear_conclusion", "invents_case"]
    assert list_ids(store / "rubrics/code_quality.yaml") == ["correctness", "style_form"]
    assert migrate_again(cli, "legacy/law.jsonl", "legacy/pdf") == migrate_again(cli, *EXPLODED) == {}
    export(to="legal_eval_v1", store=store, out=tmp_path / "out")
    given, source = tmp_path / "out/legacy/law.jsonl", store / "legacy/law.jsonl"
    assert parse_whole(given.read_bytes(), "law.jsonl").value == parse_whole(source.read_bytes(), "law.jsonl").value


def test_a_rename_needs_a_minor_release_as_no_score_moves(cli: Run, store: Path) -> None:
    assert cli("bump", "--all").code == 0
    assert "rubrics/law_tenancy.yaml" in migrate_again(cli)
    found = json.loads(cli("diff", "rubric/law_tenancy", "--format", "json").out)
    assert {finding["rule"] for finding in found["findings"]} == {"check-renamed", "metadata-changed"}
    assert found["required_bump"] == "minor"
    assert cli("bump", "--all").code == 0
    assert migrate_again(cli) == {}
    assert read(store / "rubrics/law_tenancy.yaml")["version"] == "1.1.0"


def test_an_edit_stays_and_merge_renames_around_it(cli: Run, store: Path) -> None:
    path = store / "rubrics/law_tenancy.yaml"
    edit(path, ("threshold: 0.7", "threshold: 0.9  # as Mia asked"), ("criterion_1: 2", "criterion_1: 3"))
    before = path.read_bytes()
    for _ in range(2):
        assert migrate_again(cli)[f"rubrics/{path.name}"] == ("kept", KEPT)
    assert path.read_bytes() == before
    reason = f"it was changed here and not at the source; {RENAMED}{TENANCY}"
    assert migrate_again(cli, "legacy/law.jsonl", "--merge") == {f"rubrics/{path.name}": ("updated", reason)}
    assert list_ids(path) == ["cites_statute", "clear_conclusion", "invents_case"]
    assert read(path)["scoring"] | {"weights": {"cites_statute": 3}, "threshold": 0.9} == read(path)["scoring"]
    assert "# as Mia asked" in path.read_text()
    assert migrate_again(cli) == {f"rubrics/{path.name}": ("kept", "it was changed here and not at the source")}


def test_both_sides_merge_under_the_names_of_the_source(cli: Run, store: Path) -> None:
    path = store / "rubrics/law_tenancy.yaml"
    edit(path, ("threshold: 0.7", "threshold: 0.9"))
    edit(store / "legacy/law.jsonl", ('"title":"Invents a case"', '"title":"Invents a case or a statute"'))
    state, reason = migrate_again(cli)[f"rubrics/{path.name}"]
    assert (state, reason.partition(":")[0]) == ("conflict", "it was changed at the source and here")
    assert migrate_again(cli, "legacy/law.jsonl", "--merge")[f"rubrics/{path.name}"][0] == "updated"
    merged = read(path)
    assert merged["checks"][2]["variables"] == {"criterion": "Invents a case or a statute"}
    assert (merged["checks"][2]["id"], merged["scoring"]["threshold"]) == ("invents_case", 0.9)
    # The next merge goes by the parts that this one noted.
    edit(store / "legacy/law.jsonl", ("Names the days", "Names the days of notice"), ("Cites the statute", "Cites it"))
    assert migrate_again(cli, "legacy/law.jsonl", "--merge")[f"rubrics/{path.name}"][0] == "updated"
    assert read(path)["scoring"]["threshold"] == 0.9
    assert read(path)["checks"][0]["variables"] == {"criterion": "Cites it"}


@pytest.mark.parametrize("side", ["--force", "--keep"])
def test_a_conflict_is_decided_once(cli: Run, store: Path, side: str) -> None:
    path = store / "rubrics/law_tenancy.yaml"
    edit(path, ("threshold: 0.7", "threshold: 0.9"))
    edit(store / "legacy/law.jsonl", ('"title":"Invents a case"', '"title":"Invents a statute"'))
    state, reason = migrate_again(cli, "legacy/law.jsonl", side)[f"rubrics/{path.name}"]
    assert state == ("updated" if side == "--force" else "kept")
    assert reason.endswith(f"{RENAMED}{TENANCY}")
    assert list_ids(path) == ["cites_statute", "clear_conclusion", "invents_case"]
    assert read(path)["scoring"]["threshold"] == (0.7 if side == "--force" else 0.9)
    after = path.read_bytes()
    assert f"rubrics/{path.name}" not in {
        path for path, (state, _) in migrate_again(cli).items() if state in {"updated", "conflict"}
    }
    assert path.read_bytes() == after


def test_what_was_removed_stays_removed_under_either_name(cli: Run, store: Path) -> None:
    path = store / "rubrics/law_tenancy.yaml"
    assert cli("bump", "--all").code == 0
    path.unlink()
    assert migrate_again(cli)[f"rubrics/{path.name}"][0] == "kept"
    assert migrate_again(cli, "legacy/law.jsonl", "--force")[f"rubrics/{path.name}"][0] == "new"
    assert list_ids(path) == ["cites_statute", "clear_conclusion", "invents_case"]
    assert migrate_again(cli) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scoring:", "  - id: names_the_days\n    kind: format\n    format: text\nscoring:"),
        ("scoring:", "  - kind: format\n    format: text\nscoring:"),
        ("checks:", "checks: none\nx_checks:"),
    ],
)
def test_what_cannot_be_renamed_is_a_conflict_and_stays(cli: Run, store: Path, old: str, new: str) -> None:
    path = store / "rubrics/law_notice.yaml"
    edit(path, (old, new))
    before = path.read_bytes()
    assert migrate_again(cli)[f"rubrics/{path.name}"][0] == "kept"
    assert migrate_again(cli, "legacy/law.jsonl", "--merge")[f"rubrics/{path.name}"][0] == "conflict"
    assert path.read_bytes() == before
