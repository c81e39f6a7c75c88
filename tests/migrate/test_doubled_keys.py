"""Of a key that stands twice the last counts, as for the graders; the report names both lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstore.documents import read_legacy_json, read_legacy_yaml
from evalstore.migration import MigrationOutcome, export, migrate

TEXT = """{
  "skill_name": "one",
  "skill_name": "twice",
  "evals": [
    {"id": 1, "prompt": "?", "difficulty": {"a": 1, "b": 2},
     "must_contain_any": ["x"], "difficulty": {"a": 3}},
    {"id": 2, "prompt": "?", "must_contain_any": ["x"],
     "must_contain_any": ["y"]}
  ]
}
"""


def test_the_last_counts_and_both_lines_are_named(tmp_path: Path) -> None:
    source = tmp_path / "evals.json"
    source.write_text(TEXT)
    report = migrate(source, into=tmp_path / "store")
    assert [(entry.pointer, entry.line, entry.outcome) for entry in report.entries] == [
        ("/skill_name", 3, MigrationOutcome.MIGRATED),
        ("/evals/0", 5, MigrationOutcome.MIGRATED),
        ("/evals/1", 7, MigrationOutcome.MIGRATED),
    ]
    said = "duplicate key {!r}, on lines {} and {}: the last counts"
    assert report.entries[0].reason == said.format("skill_name", 2, 3)
    assert said.format("difficulty", 5, 6) in report.entries[1].reasons
    assert said.format("must_contain_any", 7, 8) in report.entries[2].reasons
    assert report.complete
    rubrics = sorted(path.name for path in (tmp_path / "store/rubrics").iterdir())
    assert rubrics == ["twice.yaml"]


def test_what_stood_below_the_first_is_no_second_time() -> None:
    document = read_legacy_json('{"a": {"b": 1}, "a": {"b": 2}, "a": 3}', "evals.json")
    assert (document.value, [key.pointer for key in document.doubled]) == ({"a": 3}, [("a",), ("a",)])
    assert json.loads(document.text) == document.value


YAML = """\
name: s
tests:
  - id: a
    criteria: It is right.
    input: One?
    input: Two?
    <<: {note: first}
    <<: {note: last}
"""


def test_in_yaml_the_last_counts_as_for_pyyaml(tmp_path: Path) -> None:
    source = tmp_path / "s.eval.yaml"
    source.write_text(YAML)
    report = migrate(source, into=tmp_path / "store")
    said = "duplicate key {!r}, on lines {} and {}: the last counts"
    assert {said.format("input", 5, 6), said.format("<<", 7, 8)} <= set(report.entries[0].reasons)
    (given,) = export(to="agentevals", store=tmp_path / "store").files
    assert read_legacy_yaml(given.text, "").value == yaml.safe_load(YAML)


def test_a_row_of_json_lines_says_its_line(tmp_path: Path) -> None:
    row = {"schema_version": "legal_eval_v1", "id": "1", "dataset": "d", "task_type": "reference_qa", "prompt": "?"}
    line = json.dumps(row | {"reference_answers": ["b"]})
    source = tmp_path / "rows.jsonl"
    source.write_text(line + "\n" + line.replace('"id": "1"', '"id": "0", "id": "2"') + "\n")
    report = migrate(source, into=tmp_path / "store")
    assert [entry.target for entry in report.entries] == ["datasets/rows.yaml#1", "datasets/rows.yaml#2"]
    assert "duplicate key 'id', on line 2: the last counts" in report.entries[1].reasons


REFUSED = {
    "promptfoo": (
        "prompts: [a]\nodd: 1\nproviders: [b]\nprompts: ['{{q}}']\ntests: [{vars: {q: a}}]\n",
        "duplicate key: the",
    ),
    "ai_eval": ("id: j\nversion: x\nodd: 1\ntemplate: '{{ output }}'\nid: k\n", "version is not text"),
    "ai_best_practices": ("odd: 1\nodd: 2\nevals: [{id: 1, prompt: q, must_contain_any: 5}]\n", "must_contain_any is"),
}


@pytest.mark.parametrize("format_", REFUSED)
def test_no_key_counts_in_a_file_that_is_refused_as_a_whole(format_: str, cli: Any, tmp_path: Path) -> None:
    text, why = REFUSED[format_]
    (tmp_path / "source.yaml").write_text(text)
    ran = cli("-C", tmp_path, "migrate", "source.yaml", "--from", format_, "--format", "json")
    (entry,) = json.loads(ran.out)["entries"]
    assert (ran.code, entry["outcome"]) == (1, "refused")
    assert entry["reason"].startswith(why)
