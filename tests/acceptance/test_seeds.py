"""Sentences of the five documents that the project was created from, each by what a user sees (tests/project/seeds.yaml)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator

from evalstore import evaluate
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.runs import read_outputs, read_run
from evalstore.runs.read import read_bare_rows
from tests.shared_data import list_shared

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ROOT / "tests/runs/versions"

Cli = Callable[..., Any]
Git = Callable[..., str]


def read_seed(number: str, first: int, last: int) -> str:
    (path,) = list_shared(f"seeds/{number}_*.txt")
    return "\n".join(path.read_text("utf-8").split("\n")[first - 1 : last])


@pytest.fixture
def store(git: Git, tmp_path: Path) -> Callable[..., Path]:
    """Write artifacts, by path, into a repository, and return it."""
    git()

    def write(files: dict[str, Any]) -> Path:
        for name, value in files.items():
            path = tmp_path / "repo" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(yaml.safe_dump({"id": path.stem, "version": "1.0.0"} | value, sort_keys=False))
        git("add", ".")
        git("commit", "-m", "Edit")
        return tmp_path / "repo"

    return write


def test_the_three_schemas_are_draft_2020_12() -> None:
    for name in ("dataset", "rubric", "judge"):
        schema = json.loads((ROOT / f"schema/{name}.schema.json").read_text("utf-8"))
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        Draft202012Validator.check_schema(schema)


def test_one_judge_serves_many_rubrics_and_one_rubric_many_cases(cli: Cli, store: Callable[..., Path]) -> None:
    checks = [{"id": "kind", "kind": "llm_judge", "judge_prompt_ref": "judge/kindness@1.0.0"}]
    rubric = {"checks": checks, "scoring": {"combine": "all_pass"}}
    pins = ("rubric/mails@1.0.0", "rubric/mails@1.0.0", "rubric/chats@1.0.0")
    questions = [{"id": f"q{n}", "input": "?", "rubric_ref": pin} for n, pin in enumerate(pins)]
    repo = store(
        {
            "judges/kindness.yaml": {"template": "Is it kind? {{ output }}", "score_type": "binary"},
            "rubrics/mails.yaml": rubric,
            "rubrics/chats.yaml": rubric,
            "datasets/letters.yaml": {"questions": questions},
        }
    )
    assert cli("-C", repo, "bump", "--all").code == 0
    found = cli("-C", repo, "impact", "judge/kindness")
    assert found.code == 0
    for name in ("rubric/mails", "rubric/chats", "dataset/letters"):
        assert name in found.out


@pytest.mark.parametrize(("output", "format_", "score"), [("{}", "json", 1), ("yes", "json", 0), ("yes", "text", 1)])
def test_an_expected_format_is_json_or_text(cli: Cli, tmp_path: Path, output: str, format_: str, score: int) -> None:
    rubric = {"id": "r", "version": "1.0.0", "checks": [{"kind": "format"}], "scoring": {"combine": "all_pass"}}
    question = {"id": "a", "input": "?", "expected": {"format": format_}}
    assert evaluate(rubric, output, question).score == score
    other = {"questions": [question | {"expected": {"format": "xml"}}]}
    (tmp_path / "d.yaml").write_text(json.dumps(other))
    ran = cli("validate", tmp_path / "d.yaml")
    assert ran.code == 1
    assert "xml" in ran.out


def test_a_raised_threshold_is_said_before_any_score_moves(cli: Cli, store: Callable[..., Path]) -> None:
    def rubric(threshold: float) -> dict[str, Any]:
        check = {"id": "facts", "kind": "fact_match", "facts": ["a", "b", "c", "d"], "threshold": threshold}
        return {"rubrics/facts.yaml": {"checks": [check], "scoring": {"combine": "all_pass"}}}

    repo = store(rubric(0.7))
    assert cli("-C", repo, "bump", "--all").code == 0
    store(rubric(0.8))
    found = json.loads(cli("-C", repo, "diff", "rubric/facts", "--format", "json").out)
    (finding,) = found["findings"]
    assert (finding["rule"], finding["level"], finding["direction"]) == ("check-threshold-raised", "major", "stricter")
    assert finding["witness"]
    assert cli("-C", repo, "status", "--check").code == 1


def legal_row(id_: str, **more: Any) -> dict[str, Any]:
    head = {"schema_version": "legal_eval_v1", "id": id_, "dataset": "d", "task_type": "rubric_qa", "prompt": f"{id_}?"}
    return head | {"rubric": [{"id": "cites_statute", "title": f"Cites § {id_}"}]} | more


def list_pins(store: Path) -> dict[str, str]:
    value = yaml.safe_load((store / "datasets/rows.yaml").read_text("utf-8"))
    return {row["id"]: row["rubric_ref"] for row in value["questions"]}


def test_ids_stay_when_a_suite_is_migrated_again(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"

    def migrate_rows(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        migrate([source], into=tmp_path / "store")
        return list_pins(tmp_path / "store")

    first = migrate_rows([legal_row("a:1"), legal_row("b:2"), legal_row("b:2", prompt="again?")])
    assert list(first) == ["a:1", "b:2", "b:2_2"]
    again = migrate_rows([legal_row("new"), legal_row("b:2"), legal_row("b:2", prompt="again?"), legal_row("a:1")])
    assert again.items() >= first.items()


def test_agentevals_cases_need_an_id_and_an_input(tmp_path: Path) -> None:
    cases = [{"expected_outcome": "x", "input": "?"}, {"id": "b", "expected_outcome": "x"}]
    (tmp_path / "EVAL.yaml").write_text(yaml.safe_dump({"name": "s", "evalcases": cases}))
    report = migrate([tmp_path / "EVAL.yaml"], into=tmp_path / "store", dry_run=True)
    told = [(str(entry.outcome), entry.reason) for entry in report.entries if entry.pointer.startswith("/evalcases")]
    assert told == [
        ("unmapped", "the runner skips it: its id is not text"),
        ("unmapped", "the runner skips it: it has no input"),
    ]


@pytest.mark.parametrize("name", ["Code-Review", "-invalid", "invalid-", "my--eval", "2d", "x", "a" * 65])
def test_a_name_in_another_form_than_that_of_agentevals_is_said(tmp_path: Path, name: str) -> None:
    for text in (name, "code-review", "rag-accuracy", "my-eval-2"):
        cases = [{"id": "a", "expected_outcome": "x", "input": "?"}]
        (tmp_path / "EVAL.yaml").write_text(yaml.safe_dump({"name": text, "evalcases": cases}))
        report = migrate([tmp_path / "EVAL.yaml"], into=tmp_path / "store", dry_run=True)
        said = [entry.reason for entry in report.entries if entry.pointer == "/name"]
        assert bool(said) == (text == name), text


def test_the_rubrics_of_the_seed_are_migrated_and_given_back(tmp_path: Path) -> None:
    places = {"code.json": (230, 282), "dialogue.yaml": (286, 306), "writing.json": (310, 347)}
    (tmp_path / "legacy").mkdir()
    for name, place in places.items():
        (tmp_path / "legacy" / name).write_text(read_seed("001", *place) + "\n")
    report = migrate([tmp_path / "legacy"], into=tmp_path / "store", format="openrubricrl", dialect="exploded")
    assert {entry.outcome for entry in report.entries} <= {MigrationOutcome.LOSSY, MigrationOutcome.UNMAPPED}
    for name in places:
        source = yaml.safe_load((tmp_path / "legacy" / name).read_text())
        rubric = yaml.safe_load((tmp_path / f"store/rubrics/{source['name']}.yaml").read_text())
        names = [criterion["name"] for criterion in source["criteria"]]
        assert [check["id"] for check in rubric["checks"]] == names
        assert rubric["scoring"]["weights"] == {one["name"]: one["weight"] for one in source["criteria"]}
        assert rubric["version"] == source["version"]
    export(to="openrubricrl", store=tmp_path / "store", out=tmp_path / "out")
    for name in places:
        given = next((tmp_path / "out").rglob(name)).read_text()
        assert yaml.safe_load(given) == yaml.safe_load((tmp_path / "legacy" / name).read_text())


def test_rows_of_the_seeds_version_are_valid_by_its_schema_and_are_read() -> None:
    schema = Draft7Validator(json.loads(read_seed("004", 5, 333)))
    (path,) = (VERSIONS / "0.2.0").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [error.message for row in rows for error in schema.iter_errors(row)] == []
    assert {row["interaction_type"] for row in rows} >= {"single_turn"}
    outputs = list(read_outputs(path))
    assert [output.id for output in outputs] == [str(row["sample_id"]) for row in rows]
    run = read_run(VERSIONS / "0.2.0/run.json")
    scores = [one.row.score for one in read_bare_rows(run)]
    assert scores == [None if row["evaluation"]["score"] == -1 else row["evaluation"]["score"] for row in rows]
