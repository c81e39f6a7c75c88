"""A file of another tool is named as that tool's, with the next command; --as judges a file as its author says."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import LoadError

Run = Callable[..., Any]

LEGACY = Path(__file__).resolve().parents[1] / "cases/migrations"
FILES = {
    "agentevals": "required_points_are_not_gates/legacy/EVAL.yaml",
    "ai_agents_test": "a_group/legacy",
    "ai_best_practices": "every_check/legacy",
    "ai_eval": "a_target/legacy",
    "every_eval_ever": "samples_in_the_aggregate/legacy",
    "legal_eval_v1": "criteria_keep_their_ids/legacy/rows.jsonl",
    "openai_evals": "a_hosted_eval/legacy/eval.json",
    "openrubricrl": "one_judge/legacy/letters.json",
    "skill_creator": "statements_without_a_name/legacy/evals.json",
}
DRAFT = {"id": "draft", "version": "1.0.0", "checks": [{"kind": "format", "format": "text"}]}


def find_file(format_: str) -> Path:
    path = LEGACY / format_ / FILES[format_]
    return path if path.is_file() else next(file for file in sorted(path.rglob("*")) if file.is_file())


def pack_archive(data: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("evals.json", data)
    return archive.getvalue()


def list_findings(cli: Run, *argv: Any, at: Path | str = ".") -> tuple[int, list[dict[str, Any]]]:
    ran = cli("-C", at, "validate", *argv, "--format", "json")
    return ran.code, json.loads(ran.out)["findings"]


@pytest.mark.parametrize("format_", sorted(FILES))
def test_it_says_which_format_migrate_knows_it_to_be(cli: Run, tmp_path: Path, format_: str) -> None:
    file = find_file(format_)
    code, findings = list_findings(cli, file, at=tmp_path)
    assert (code, [finding["rule"] for finding in findings]) == (1, ["format-foreign"])
    (finding,) = findings
    assert finding["message"].startswith(f"is not an artifact: `migrate` knows it as {format_} (")
    assert finding["hint"].startswith(f"evalstore migrate {file}; ")
    assert finding["line"] is None  # the file as a whole
    assert cli("-C", tmp_path, "migrate", file, "--into", tmp_path / "store").code == 0


@pytest.mark.parametrize("format_", ["skill_creator", "openai_evals", "openrubricrl"])
@pytest.mark.parametrize("place", ["rubrics/suite.yaml", "datasets/suite.yaml", "rubrics/suite.json"])
def test_in_a_folder_of_artifacts_it_is_named_too(cli: Run, tmp_path: Path, format_: str, place: str) -> None:
    (tmp_path / "evalstore.yaml").write_text("{}\n")
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_bytes(find_file(format_).read_bytes())
    code, (finding,) = list_findings(cli, tmp_path)
    assert (code, finding["rule"]) == (1, "format-foreign")
    assert f"`migrate` knows it as {format_} (" in finding["message"]
    assert finding["hint"] == "move it out of the store, and from there `evalstore migrate FILE`"
    (tmp_path / place).write_text(json.dumps({"id": "suite", "checks": []}))
    _, findings = list_findings(cli, tmp_path)
    assert "format-foreign" not in {finding["rule"] for finding in findings}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"eval_id": 1, "prompt": "?", "assertions": ["It holds."]}, "this is the record of one run of a case"),
        ([{"user_input": "?", "retrieved_contexts": []}], "these are samples of Ragas"),
    ],
)
def test_it_names_what_migrate_does_not_take(cli: Run, tmp_path: Path, value: Any, said: str) -> None:
    (tmp_path / "eval_metadata.json").write_text(json.dumps(value))
    code, (finding,) = list_findings(cli, tmp_path / "eval_metadata.json")
    assert (code, finding["rule"]) == (1, "format-foreign")
    assert said in finding["message"]


@pytest.mark.parametrize(
    ("name", "pack", "said"),
    [
        ("suite.json.gz", gzip.compress, "packed by gzip"),
        ("suite.json", bz2.compress, "packed by bzip2"),  # whatever it is called
        ("suite.zip", pack_archive, "a zip archive"),
    ],
)
def test_a_packed_suite_is_named_as_packed(
    cli: Run, tmp_path: Path, name: str, pack: Callable[[bytes], bytes], said: str
) -> None:
    (tmp_path / name).write_bytes(pack(find_file("skill_creator").read_bytes()))
    code, (finding,) = list_findings(cli, tmp_path / name)
    assert (code, said in finding["message"], finding["hint"]) == (1, True, "unpack it first")
    assert said in (out := cli("migrate", tmp_path / name, "--into", tmp_path / "store").out)
    assert "; unpack it first" in out


# How files begin that are cut off in the middle, or whose end denies them.
BROKEN = {
    "Parquet": b"PAR1\x15\x00\x15\x02" + bytes(16) + b"PAR1",
    "Parquet, not text": b"PAR1" + b"\x15\x04\x15\x10" * 10,
    "a zip archive": pack_archive(b"{}" * 200)[:40],
    "packed by xz": lzma.compress(b"{}")[:20],
    "an SQLite database": b"SQLite format 3\0\x10\0",
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_named_as_what_it_is_and_as_broken(what: str) -> None:
    with pytest.raises(LoadError, match=f"is {what}") as caught:
        read_yaml(BROKEN[what], "file")
    assert caught.value.message.endswith("broken: it was damaged or cut off")
    assert caught.value.hint == "copy or write the file again"


def test_what_may_be_two_formats_asks_which(cli: Run, tmp_path: Path) -> None:
    cases = [{"prompt": "?", "assertions": ["is short"]}, {"prompt": "?", "must_contain_any": ["a"]}]
    file = tmp_path / "both.json"
    file.write_text(json.dumps({"evals": [{"id": number, **case} for number, case in enumerate(cases)]}))
    _, (finding,) = list_findings(cli, file)
    assert "--from decides" in finding["message"]
    assert finding["hint"].startswith(f"evalstore migrate {file} --from FORMAT; ")


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("other.yaml", "foo: 1\n", "kind-unknown"),
        ("rows.jsonl", '{"id": "a", "inptu": "?"}\n', "key-missing"),
        ("broken.json", "{", "document-malformed"),
    ],
)
def test_other_files_are_judged_as_before(cli: Run, tmp_path: Path, name: str, text: str, rule: str) -> None:
    (tmp_path / name).write_text(text)
    _, findings = list_findings(cli, tmp_path / name)
    assert rule in {finding["rule"] for finding in findings}
    assert "format-foreign" not in {finding["rule"] for finding in findings}


def test_a_draft_without_the_keys_of_its_kind_is_judged_as_its_author_says(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_text(json.dumps({"id": "draft", "version": "1.0.0", "chekcs": []}))
    _, unknown = list_findings(cli, tmp_path / "draft.json")
    assert [finding["rule"] for finding in unknown] == ["kind-unknown"]
    code, findings = list_findings(cli, "--as", "rubric", tmp_path / "draft.json")
    found = {(finding["rule"], finding["hint"]) for finding in findings}
    assert code == 1
    assert ("key-misspelt", "did you mean `checks`?") in found
    assert {rule for rule, _ in found} == {"key-missing", "key-misspelt"}
    whole = DRAFT | {"scoring": {"combine": "all_pass"}}
    (tmp_path / "draft.json").write_text(json.dumps(whole))
    assert list_findings(cli, "--as", "rubric", tmp_path / "draft.json") == (0, [])
    code, findings = list_findings(cli, "--as", "judge", tmp_path / "draft.json")
    assert (code, findings[0]["message"]) == (1, "`template` is missing")


def test_a_file_of_another_tool_is_judged_as_its_author_says(cli: Run) -> None:
    for format_, kind, key in (
        ("openrubricrl", "rubric", "checks"),
        ("skill_creator", "dataset", "questions` or `rows"),
    ):
        code, findings = list_findings(cli, "--as", kind, find_file(format_))
        assert code == 1
        assert f"`{key}` is missing" in {finding["message"] for finding in findings}
    code, findings = list_findings(cli, "--as", "dataset", find_file("legal_eval_v1"))
    assert {"`input` is missing"} <= {finding["message"] for finding in findings}


def test_references_of_a_draft_are_those_of_the_store_around_it(
    cli: Run, git: Callable[..., str], tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    (repo / "drafts").mkdir()
    (repo / "evalstore.yaml").write_text("{}\n")
    question = {"id": "a", "input": "?", "rubric_ref": "rubric/style@1.0.0"}
    (repo / "drafts/asked.yaml").write_text(json.dumps({"questions": [question]}))
    for options in ((), ("--as", "dataset")):
        code, findings = list_findings(cli, *options, "drafts/asked.yaml", at=repo)
        assert (code, [finding["rule"] for finding in findings]) == (1, ["reference-dangling"])


def test_as_takes_files(cli: Run, tmp_path: Path) -> None:
    for argv in ((), (tmp_path,)):
        ran = cli("validate", "--as", "rubric", *argv)
        assert (ran.code, ran.out) == (2, "")


@pytest.mark.process
@pytest.mark.parametrize("name", ["outputs.csv", "outputs.parquet", "rows.parquet"])
def test_outputs_are_named_as_what_score_takes(cli: Run, tmp_path: Path, name: str) -> None:
    row = {"sample_id" if name.startswith("rows") else "id": "q1", "output": "a: b, c"}
    if name.endswith(".parquet"):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / name)
    else:
        (tmp_path / name).write_text('id,output\nq1,"a: b, c"\n')
    code, (finding,) = list_findings(cli, name, at=tmp_path)
    assert (code, finding["rule"]) == (1, "format-foreign")
    assert "which `validate` does not check" in finding["message"]
    assert f"evalstore score DATASET {name}" in finding["hint"]
    migrated = cli("-C", tmp_path, "migrate", name, "--into", tmp_path / "store")
    assert "evalstore score DATASET FILE" in " ".join(migrated.out.split())
    assert "evalstore migrate" not in migrated.out  # which has just said no


@pytest.mark.parametrize(("name", "text"), [("a.json", ""), ("a.jsonl", "\n\n"), ("a.csv", "")])
def test_a_file_without_anything_is_no_file_of_outputs(cli: Run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    shown = cli("-C", tmp_path, "show", name)
    assert (shown.code, shown.err.strip()) == (3, f"error: {tmp_path / name}: holds no output")
    migrated = cli("-C", tmp_path, "migrate", name, "--into", tmp_path / "store")
    assert "it holds lines" not in migrated.out
