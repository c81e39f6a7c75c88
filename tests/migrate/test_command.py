"""`evalstore migrate` and `evalstore export`, as people and machines call them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema

ROOT = Path(__file__).resolve().parents[2]
LEGACY = ROOT / "sample_repo/history/01-inherited-suite/legacy"
Suite = Callable[..., Path]
Run = Callable[..., Any]


def valid(name: str, text: str) -> Any:
    document = json.loads(text)
    schema = json.loads((ROOT / f"schema/output/{name}.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    return document


def test_it_says_what_became_of_each_source(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite(
        {"must_contain_any": ["a"]},
        {},
        {"must_contain_any": "xyz"},
        {"must_not_contain": None},
        {"note": 1},
        {"note": 2},
    )
    ran = cli("-C", tmp_path, "migrate", "legacy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "FORMAT             FILES  ENTRIES  MIGRATED  LOSSY  UNMAPPED  REFUSED",
        "ai_best_practices      1        6         4      1         0        1",
        "recognised as ai_best_practices (agentskills): its cases have a key that only this grader reads",
        "",
        "legacy/forms/evals.json -> datasets/forms.yaml  6 entries",
        "  note     lines 11, 25 and 30  no check: any answer that is not empty passes, as the runner had it",
        "  lossy    line 15              must_contain_any is a text where a list belongs: the legacy grader",
        "                                took each character by itself",
        "  refused  line 20              must_not_contain is null, which crashes the legacy grader",
        "  note     lines 25 and 30      no grader reads 'note': kept as data",
        "",
        "3 files written, 0 unchanged",
    ]


@pytest.mark.heavy
def test_the_document_is_the_published_one(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite({"must_contain_any": ["a"]}, {"must_not_contain": None})
    for extra in ((), ("--dry-run",)):
        ran = cli("-C", tmp_path, "migrate", "legacy", "--format", "json", *extra)
        document = valid("migrate", ran.out)
        assert document["format"] == "ai_best_practices"
        assert document["totals"] == {"migrated": 1, "lossy": 0, "unmapped": 0, "refused": 1}
        assert bool(document["written"]) == (not extra)
        assert str(tmp_path) not in ran.out
        if not extra:
            assert cli("-C", tmp_path, "migrate", "legacy", "--report", "r.json", "--quiet").out == ""
            assert valid("migrate", (tmp_path / "r.json").read_text())["entries"] == document["entries"]


@pytest.mark.parametrize(
    ("case", "code", "strict"),
    [({"must_contain_any": ["a"]}, 0, 0), ({"must_contain_any": "a"}, 0, 1), ({"must_contain_any": None}, 1, 1)],
)
def test_exit_codes(cli: Run, suite: Suite, tmp_path: Path, case: dict[str, Any], code: int, strict: int) -> None:
    path = suite(case)
    assert cli("migrate", path, "--into", tmp_path / "a").code == code
    assert cli("migrate", path, "--into", tmp_path / "b", "--strict").code == strict


def test_strict_is_not_green_where_nothing_was_seen(cli: Run, suite: Suite, tmp_path: Path) -> None:
    path = suite({"must_contain_any": ["a"]})
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "notes.json").write_text('{"a": 1}', "utf-8")
    assert cli("migrate", folder, "--into", tmp_path / "a").code == 0
    assert cli("migrate", folder, "--into", tmp_path / "a", "--strict").code == 1
    # A suite whose cases are all gone is one.
    path.write_text('{"skill_name": "a", "evals": []}', "utf-8")
    assert cli("migrate", path, "--into", tmp_path / "a", "--strict").code == 0


def test_what_cannot_be_done_is_one_line_and_a_hint(cli: Run, suite: Suite, tmp_path: Path) -> None:
    path = suite({"must_contain_any": ["a"]})
    assert cli("migrate").code == 2
    assert cli("migrate", path, "--from", "nothing").code == 2
    gone = cli("migrate", tmp_path / "gone.json", "--format", "json")
    assert gone.code == 3
    assert "no such file" in json.loads(gone.out)["error"]["message"]
    assert cli("migrate", path, "--into", tmp_path / "store", "--force", "--keep").code == 2


def test_a_conflict_answers_1_and_shows_both_sides(cli: Run, suite: Suite, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert cli("migrate", suite({"must_contain_any": ["a"]}), "--share", "cases", "--into", store).code == 0
    rubric = store / "rubrics/forms_b01.yaml"
    rubric.write_text(rubric.read_text().replace("- a\n", "- ours\n"))
    path = suite({"must_contain_any": ["theirs"]})
    dry = cli("migrate", path, "--share", "cases", "--into", store, "--dry-run")
    ran = cli("migrate", path, "--share", "cases", "--into", store)
    for answer in (dry, ran):
        assert (answer.code, answer.err) == (1, "")
        assert "-      - ours\n+      - theirs\n" in answer.out
        assert "run again with --force for the source's side, with --keep for yours" in " ".join(answer.out.split())
    assert "dry run, nothing written: 2 files, 1 conflict, 1 unchanged" in dry.out
    assert "0 files written, 1 unchanged: 1 conflict" in ran.out
    document = valid("migrate", cli("migrate", path, "--share", "cases", "--into", store, "--format", "json").out)
    assert [(file["state"], bool(file["reason"]), "diff" in file) for file in document["files"]] == [
        ("unchanged", False, False),
        ("conflict", True, True),
    ]
    assert (
        "- conflict `rubrics/forms_b01.yaml`: it was changed"
        in cli("migrate", path, "--share", "cases", "--into", store, "--format", "markdown").out
    )
    assert cli("migrate", path, "--share", "cases", "--into", store, "--force").code == 0
    assert cli("migrate", path, "--share", "cases", "--into", store, "--strict").code == 0


def test_a_dialect_of_another_format_is_not_passed_over(cli: Run, suite: Suite, tmp_path: Path) -> None:
    path = suite({"must_contain_any": ["a"]})
    ran = cli("migrate", path, "--into", tmp_path / "store", "--dialect", "D3")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: D3 is a dialect of agentevals, and no source was taken for that\n"
        "hint: leave the dialect out, or take the sources for that with --from agentevals\n"
    )
    assert not (tmp_path / "store").exists()
    (path.parent / "more.json").write_text('{"evalcases": [{"id": "a", "input": "?", "expected_outcome": "b"}]}')
    assert cli("migrate", path.parent, "--into", tmp_path / "store", "--dialect", "D1").code == 0


def test_text_of_a_stranger_cannot_act_on_the_terminal(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite({"\x1b[31mred\u202e": 1, "must_contain_any": ["\x1b]0;title\x07"], "id": "\x1b[2J"}, name="a\x1b[0m")
    for extra in ((), ("--dry-run",), ("--verbose",), ("--format", "json"), ("--format", "markdown")):
        ran = cli("-C", tmp_path, "migrate", "legacy", *extra)
        assert ran.code == 0
        assert not any(char in ran.out + ran.err for char in "\x1b\x07\u202e")


def test_it_writes_to_the_store_around_the_directory(
    cli: Run, git: Callable[..., str], suite: Suite, tmp_path: Path
) -> None:
    path = suite({"must_contain_any": ["a"]})
    git()
    (tmp_path / "repo/deep/er").mkdir(parents=True)
    assert cli("-C", tmp_path / "repo/deep/er", "migrate", path).code == 0
    assert (tmp_path / "repo/datasets/forms.yaml").is_file()
    (tmp_path / "repo/deep/evalstore.yaml").touch()
    assert cli("-C", tmp_path / "repo/deep/er", "migrate", path).code == 0
    assert (tmp_path / "repo/deep/datasets/forms.yaml").is_file()


@pytest.mark.heavy
def test_the_sample_suite_comes_back_key_by_key(cli: Run, tmp_path: Path) -> None:
    source = shutil.copytree(LEGACY, tmp_path / "in/legacy")  # out of this repository, from whose top it would be named
    assert cli("migrate", source, "--share", "cases", "--into", tmp_path / "store", "--strict").code == 0
    tmp_path /= "store"
    one = cli("-C", tmp_path, "export", "--to", "ai_best_practices")
    original = (LEGACY / "drupal-forms/evals.json").read_text("utf-8")
    assert json.dumps(json.loads(one.out)) == json.dumps(json.loads(original))
    assert one.err == ""
    document = valid("export", cli("-C", tmp_path, "export", "--to", "ai_best_practices", "--format", "json").out)
    assert document["files"][0]["text"] == one.out
    ran = cli("-C", tmp_path, "export", "--to", "ai_best_practices", "--out", "back", "dataset/drupal_forms")
    assert ran.out == f"wrote {tmp_path}/back/legacy/drupal-forms/evals.json from dataset/drupal_forms@1.0.0\n"
    assert (tmp_path / "back/legacy/drupal-forms/evals.json").read_text("utf-8") == one.out


def test_a_dataset_of_two_files_goes_to_a_folder(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text("prompts: ['{{q}}']\nproviders: [echo]\ntests: tests.csv\n")
    (tmp_path / "tests.csv").write_text("q,__expected\nSum?,equals: 6\n")
    assert cli("-C", tmp_path, "migrate", tmp_path / "promptfooconfig.yaml").code == 0
    ran = cli("-C", tmp_path, "export", "--to", "promptfoo")
    assert (ran.code, ran.err) == (2, "error: 2 files cannot go to stdout\nhint: name a folder with --out\n")
    assert cli("-C", tmp_path, "export", "--to", "promptfoo", "--out", "back").code == 0
    assert (tmp_path / "back/tests.csv").read_text() == (tmp_path / "tests.csv").read_text()


@pytest.mark.parametrize("report", ["legacy/forms/evals.json", "legacy/link.json", "datasets/forms.yaml"])
def test_a_report_overwrites_no_source_and_no_artifact(cli: Run, suite: Suite, tmp_path: Path, report: str) -> None:
    suite({"must_contain_any": ["a"]})
    (tmp_path / "legacy/link.json").symlink_to("forms/evals.json")
    assert cli("-C", tmp_path, "migrate", "legacy").code == 0
    before = (tmp_path / report).read_bytes()
    ran = cli("-C", tmp_path, "migrate", "legacy", "--report", report)
    said = "is a link" if "link" in report else "which is not a report"
    assert (ran.code, said in ran.err) == (3, True)
    assert (tmp_path / report).read_bytes() == before


def test_a_report_is_written_through_no_link_of_the_store(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite({"must_contain_any": ["a"]})
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "reports").symlink_to(outside)
    (tmp_path / "report.json").symlink_to(outside / "report.json")
    for report in ("reports/report.json", "report.json"):
        ran = cli("-C", tmp_path, "migrate", "legacy", "--report", report)
        said = " ".join(ran.err.split())
        assert (ran.code, "is a link, and evalstore does not write through links" in said) == (3, True)
        assert f"it leads to {outside}" in said
    assert not list(outside.iterdir())
    assert not (tmp_path / "datasets").exists()
    (outside / "mine").symlink_to(outside)  # a link elsewhere is the user's own
    assert cli("-C", tmp_path, "migrate", "legacy", "--report", outside / "mine/report.json").code == 0
    assert (outside / "report.json").is_file()
    ran = cli("-C", tmp_path, "export", "--to", "ai_best_practices", "--out", "reports/deep")
    assert (ran.code, "is a link" in ran.err) == (3, True)
    assert not (outside / "deep").exists()


def test_a_report_among_the_sources_is_written_again(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite({"must_contain_any": ["a"]})
    for _ in range(2):
        assert cli("-C", tmp_path, "migrate", "legacy", "--report", "legacy/report.json").code == 0
    assert json.loads((tmp_path / "legacy/report.json").read_text())["written"] == []


def test_an_empty_path_is_not_the_folder_one_is_in(cli: Run, suite: Suite, tmp_path: Path) -> None:
    suite({"must_contain_any": ["a"]})
    assert cli("-C", tmp_path, "migrate", "").code == 2
    assert not (tmp_path / "datasets").exists()
