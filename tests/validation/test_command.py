"""The real command: exit codes, JSON by its schema, stores, folders, files and standard input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/cases/validation"
GOOD = "id: good\nversion: 1.0.0\nchecks: [{kind: format}]\nscoring: {combine: min}\n"
JUDGED = "id: {id}\nversion: 1.0.0\nchecks: [{{kind: llm_judge, judge_prompt_ref: judge/{ref}}}]\nscoring: {{combine: min}}\n"
JUDGE = "id: fair\nversion: {version}\ntemplate: '{{{{ output }}}}'\nvalidation: {{tpr: 1, tnr: 1, validated_at: 2999-01-01}}\n"

Command = Callable[..., Any]


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    """A store with judge/fair released as 1.0.0 and 1.1.0, and 1.2.0 in the working tree."""
    repo = tmp_path / "repo"
    git()
    for folder in ("rubrics", "judges"):
        (repo / folder).mkdir()
    for version in ("1.0.0", "1.1.0"):
        (repo / "judges/fair.yaml").write_text(JUDGE.format(version=version))
        git("add", "-A")
        git("commit", "-qm", version)
        git("tag", "-am", version, f"judge/fair@{version}")
    (repo / "judges/fair.yaml").write_text(JUDGE.format(version="1.2.0"))
    return repo


def found(ran: Any) -> list[tuple[str, str, int]]:
    return [(one["rule"], one["file"], one["line"]) for one in json.loads(ran.out)["findings"]]


def test_a_good_store_is_silent_and_answers_0(store: Path, cli: Command) -> None:
    (store / "rubrics/good.yaml").write_text(GOOD)
    ran = cli("validate", "--strict", cwd=store)
    assert (ran.code, ran.out, ran.err) == (0, "2 files: no findings\n", "")


def test_a_rename_of_the_wrong_form_is_shown_the_right_one(store: Path, cli: Command) -> None:
    text = "renames: {dataset/web: site}\ntargets: {help: {dataset: dataset/web@1.0.0, strict: 1}}\n"
    (store / "evalstore.yaml").write_text(text)
    words = " ".join(cli("validate", "evalstore.yaml", cwd=store).out.split())
    assert "`dataset/web` must be a mapping, not the string 'site'" in words
    assert "as in {old_id: new_id}: evalstore explain renames " in words
    # A name that the user chose is in no catalogue.
    for key in ("renames", "targets.strict"):
        assert f"evalstore explain {key} " in words
        assert cli("explain", key).code == 0


def test_files_are_looked_up_in_their_own_store_wherever_the_command_runs(
    store: Path, cli: Command, tmp_path: Path
) -> None:
    (store / "rubrics/gone.yaml").write_text(JUDGED.format(id="gone", ref="fair@1.3.0"))
    (store / "evalstore.yaml").write_text("strict: true\n")
    for path in (store, store / "rubrics", store / "rubrics/gone.yaml"):
        ran = cli("validate", path, "--format", "json", cwd=tmp_path)
        assert (ran.code, [rule for rule, *_ in found(ran)]) == (1, ["reference-dangling"])


@pytest.mark.parametrize(
    ("name", "hint"), [("Good", "name the file good.yaml"), ("other", "name the file good.yaml, or write id: other")]
)
def test_the_hint_for_a_file_of_another_name_never_asks_for_what_is_no_id(
    store: Path, cli: Command, name: str, hint: str
) -> None:
    (store / f"rubrics/{name}.yaml").write_text(GOOD)
    ran = cli("validate", f"rubrics/{name}.yaml", "--format", "json", cwd=store)
    assert [one["hint"] for one in json.loads(ran.out)["findings"]] == [hint]


def test_references_are_looked_up_among_the_releases(store: Path, cli: Command) -> None:
    pins = {"old": "fair@1.0.0", "next": "fair@1.2.0", "gone": "fair@1.3.0", "near": "fare@1.0.0", "free": "fair@^1"}
    for id_, ref in pins.items():
        (store / f"rubrics/{id_}.yaml").write_text(JUDGED.format(id=id_, ref=ref))
    ran = cli("validate", "--format", "json", cwd=store)
    findings = json.loads(ran.out)["findings"]
    assert [(one["rule"], one["file"]) for one in findings] == [
        ("reference-floating", "rubrics/free.yaml"),
        ("reference-dangling", "rubrics/gone.yaml"),
        ("reference-dangling", "rubrics/near.yaml"),
    ]
    assert "fair@1.1.0" in findings[0]["hint"]
    assert all(version in findings[1]["hint"] for version in ("1.0.0", "1.1.0"))
    assert "judge/fair" in findings[2]["hint"]
    assert ran.code == 1


def test_one_file_of_a_store_is_checked_against_the_whole_store(store: Path, cli: Command) -> None:
    (store / "rubrics/next.yaml").write_text(JUDGED.format(id="next", ref="fair@1.2.0"))
    (store / "rubrics/broken.yaml").write_text("a: [")
    for where, path in (
        (store, "rubrics/next.yaml"),
        (store / "rubrics", "next.yaml"),
        (ROOT, store / "rubrics/next.yaml"),
    ):
        ran = cli("-C", store, "validate", path, cwd=where) if where == ROOT else cli("validate", path, cwd=where)
        assert (ran.code, ran.out) == (0, "1 file: no findings\n")


@pytest.mark.parametrize(
    ("case", "arguments", "code"),
    [
        ("silent-rows", [], 0),
        ("keys", [], 1),
        ("ignored-files", [], 0),
        ("ignored-files", ["--strict"], 1),
        ("strict", [], 1),
        ("targets", [], 1),
        ("references-forbidden", [], 1),
        ("versions", [], 1),
        ("unreadable", [], 1),
        ("unreadable", ["--quiet"], 1),
    ],
)
def test_exit_codes_and_documents(case: str, arguments: list[str], code: int, cli: Command) -> None:
    files = CASES / case / "files"
    ran = cli("validate", files, *arguments)
    assert (ran.code, ran.err, ran.out == "") == (code, "", "--quiet" in arguments)
    schema = json.loads((ROOT / "schema/output/validate.schema.json").read_text())
    document = json.loads(cli("validate", files, "--format", "json", *arguments).out)
    assert [*compile_schema(schema).find_violations(document)] == []


def test_text_names_every_place_and_counts(cli: Command) -> None:
    ran = cli("validate", "files", cwd=CASES / "weights")
    lines = ran.out.splitlines()
    assert "files/rubrics/named.yaml:10:13  warning  weight-without-check" in lines
    assert "    `weights` names an unknown check: `sond`" in lines
    assert "    hint: did you mean sound?" in lines
    assert lines[-1] == "3 files: 6 findings (2 errors, 4 warnings)"


def test_standard_input_is_one_document_of_the_kind_that_its_keys_tell(
    store: Path, cli: Command, tmp_path: Path
) -> None:
    assert cli("validate", "-", cwd=tmp_path, stdin=GOOD).out == "1 file: no findings\n"
    ran = cli("validate", "-", "--format", "json", cwd=store, stdin=JUDGED.format(id="any", ref="fair@9.0.0"))
    assert found(ran) == [("reference-dangling", "<stdin>", 3)]
    ran = cli("validate", "-", "--format", "json", cwd=tmp_path, stdin="hello: world\n")
    assert (found(ran), ran.code) == ([("kind-unknown", "<stdin>", 1)], 1)


def test_outside_any_repository(tmp_path: Path, cli: Command) -> None:
    shutil.copytree(CASES / "references-outside-a-store/files", tmp_path / "mine")
    ran = cli("validate", "mine", "--format", "json", cwd=tmp_path)
    assert found(ran) == [("references-unchecked", "mine/refs.yaml", 5), ("reference-malformed", "mine/refs.yaml", 7)]
    assert ran.code == 1
    ran = cli("validate", cwd=tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert "not in a git repository" in ran.err


def test_a_folder_outside_the_store_knows_only_itself(store: Path, tmp_path: Path, cli: Command) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics/away.yaml").write_text(JUDGED.format(id="away", ref="fair@1.0.0"))
    ran = cli("validate", tmp_path / "rubrics", "--format", "json", cwd=store)
    assert [rule for rule, *_ in found(ran)] == ["references-unchecked"]


def test_broken_settings_are_a_finding_among_the_others(store: Path, cli: Command) -> None:
    (store / "rubrics/bad.yaml").write_text(GOOD)
    (store / "evalstore.yaml").write_text("strict: [\n")
    ran = cli("validate", "--format", "json", cwd=store)
    assert found(ran) == [("document-malformed", "evalstore.yaml", 2), ("id-not-file-name", "rubrics/bad.yaml", 1)]
    (store / "evalstore.yaml").write_text("tag_prefix: ..\n")
    ran = cli("validate", "--format", "json", cwd=store)
    assert found(ran)[0] == ("value-malformed", "evalstore.yaml", 1)


def test_what_is_not_there_is_a_finding(store: Path, cli: Command) -> None:
    ran = cli("validate", "rubrics/none.yaml", "judges/fair.yaml", "--format", "json", cwd=store)
    assert found(ran) == [("file-unreadable", "rubrics/none.yaml", None)]
    assert (ran.code, json.loads(ran.out)["files"]) == (1, 2)


def test_a_file_that_is_named_twice_is_one_file(cli: Command) -> None:
    ran = cli("validate", "files", "files/rubrics/zero.yaml", "files", cwd=CASES / "weights")
    assert ran.out.endswith("3 files: 6 findings (2 errors, 4 warnings)\n")


def test_a_bare_repository_is_refused(store: Path, git: Callable[..., str], cli: Command, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", str(store), str(tmp_path / "bare.git"))
    ran = cli("-C", tmp_path / "bare.git", "validate")
    assert (ran.code, "bare" in ran.err) == (3, True)


def test_a_wrong_option_is_a_wrong_command_line(cli: Command) -> None:
    assert cli("validate", "--strickt").code == 2
    assert cli("validate", "--format", "yaml").code == 2


def test_what_is_wrong_within_a_schema_is_told_at_its_line(cli: Command) -> None:
    file = "rubrics/schemas.yaml"
    ran = cli("validate", file, "--strict", "--format", "json", cwd=CASES / "check-problems/files")
    assert ran.code == 1
    told = {one["line"]: (one["pointer"], one["message"]) for one in json.loads(ran.out)["findings"]}
    assert told[8] == (
        "/checks/0/schema/properties/route/$ref",
        "the schema refers to 'https://example.com/route.json'",
    )
    assert told[18][0] == "/checks/1/schema/patternProperties/("
    assert set(told) == {8, 9, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24}
