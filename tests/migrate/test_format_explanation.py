"""`migrate --explain`: the signs of a file and what they weigh; for a file that nothing takes, a table that works."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.documents import read_yaml
from evalstore.languages.schemas import compile_schema
from evalstore.migration import MigrationOutcome, explain_format, export, migrate
from evalstore.migration.extraction import parse_whole
from evalstore.migration.own_tables import load_own_tables
from evalstore.migration.remainder import is_same_data
from evalstore.migration.table_draft import draft_table

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., Any]
STATED = {"prompt": "?", "assertions": ["It greets"]}

# Invented suites of the long tail: the file's name, its value, and the kinds that the draft makes of its keys.
SHAPES: dict[str, tuple[Any, dict[str, str]]] = {
    "patterns.json": (
        {
            "cases": [
                {
                    "name": "a",
                    "question": "Q?",
                    "must_have": ["\\bhook\\b", "form|route"],
                    "must_not_have": ["db_query"],
                },
                {"name": "b", "question": "Q?", "must_have": ["plain"], "must_not_have": []},
            ]
        },
        {"must_have": "regex", "must_not_have": "must_not_contain"},
    ),
    "include.yaml": (
        {"suite": "S", "tests": [{"user": "Hi", "must_include": ["x", "y"], "must_include_any": ["z"], "owner": "me"}]},
        {"must_include": "must_contain_any", "must_include_any": "must_contain_any"},
    ),
    "fails.jsonl": (
        [{"id": n, "prompt": "Q?", "expect": "yes", "fail": ["no", "never"]} for n in range(3)],
        {"expect": "must_contain_any", "fail": "must_not_contain"},
    ),
    "answers.json": ([{"question": "2+2?", "expected_answer": "4"}], {"expected_answer": "must_contain_any"}),
    "prose.json": ({"cases": [{"question": "Why?", "expected": "Because " * 20}]}, {"expected": "llm_judge"}),
    "nested.json": (
        {"data": {"items": [{"key": "k", "task": "T", "expect": {"contains": ["a"], "not_contains": "b", "note": 1}}]}},
        {"expect/contains": "must_contain_any", "expect/not_contains": "must_not_contain"},
    ),
    "sorts.json": (
        {"evals": [{"input": "?", "checks": [{"type": "contains", "value": "a"}, {"type": "odd", "value": 1}]}]},
        {"contains": "must_contain_any"},
    ),
    "judged_sorts.json": (
        {"evals": [{"input": "?", "checks": [{"type": "criteria", "value": "It is polite"}]}]},
        {"criteria": "llm_judge"},
    ),
    "sentences.json": (
        {
            "cases": [
                {
                    "ask": "?",
                    "must_include": ["The answer explains why the old hook is gone and what replaces it"],
                    "must_not_include": ["It recommends to edit the core files of the system by hand"],
                }
            ]
        },
        {"must_include": "llm_judge", "must_not_include": "llm_judge"},
    ),
    "chats.jsonl": (
        [
            {
                "id": n,
                "notes": "a long text that nobody asks, whatever its length may be",
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Q{n}?"}],
                "must_include": ["x"],
            }
            for n in range(2)
        ],
        {"must_include": "must_contain_any"},
    ),
    "points.json": (
        [
            {
                "task": "T",
                "criteria": ["It is polite", "It is short"],
                "max_length": 90,
                "json_schema": {"type": "object"},
            }
        ],
        {"criteria": "llm_judge", "max_length": "format", "json_schema": "json_schema"},
    ),
}


def write(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    rows = isinstance(value, list) and path.suffix == ".jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in value) if rows else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("name", SHAPES)
def test_what_nothing_takes_has_a_table_that_takes_it(name: str, cli: Run, tmp_path: Path) -> None:
    value, kinds = SHAPES[name]
    source = write(tmp_path, name, value)
    ran = cli("-C", tmp_path, "migrate", "--explain", name)
    assert (ran.code, ran.err) == (0, "")
    (tmp_path / "my.yaml").write_text(ran.out)
    rows = read_yaml(ran.out, "my.yaml").value["checks"]
    assert {row["key"]: row["kind"] for one in rows for row in one.get("options", [one])} == kinds
    report = migrate(source, into=tmp_path / "store", tables=[tmp_path / "my.yaml"])
    format_ = f"own_{source.stem}"
    assert [found.format for found in report.sources] == [format_]
    assert not report.count(MigrationOutcome.REFUSED)
    # What is guessed is never called the same as what the grader does.
    assert report.count(MigrationOutcome.LOSSY)
    (file,) = export(to=format_, store=tmp_path / "store", tables=[tmp_path / "my.yaml"]).files
    assert is_same_data(parse_whole(file.text.encode(), name).value, parse_whole(source.read_bytes(), name).value)


def test_signs_for_and_against_are_counted(tmp_path: Path) -> None:
    odd = {"prompt": "?", "must_contain_any": ["a"]}
    source = write(tmp_path, "a.json", {"evals": [*[STATED] * 9, odd]})
    found = explain_format(source)
    first, second = found.match.weights
    assert (first.table.format, second.table.format) == ("skill_creator", "ai_best_practices")
    assert [(count.is_against, count.shown, count.cases) for count in first.signs[:2]] == [
        (False, 9, 10),
        (True, 1, 10),
    ]
    assert first.weight > 0 > second.weight
    assert found.decision.startswith("skill_creator, 76% sure")
    assert found.draft == ""


@pytest.mark.parametrize(
    ("name", "value", "decision"),
    [
        ("a.json", {"evals": [STATED]}, "skill_creator, 85% sure"),
        ("b.json", {"evals": [STATED, {"prompt": "?", "must_contain_any": ["a"]}]}, "it may be ai_best_practices"),
        ("c.json", [{"query": "?", "should_trigger": True}], "this set tests when a skill starts"),
        ("d.json", {"nothing": 1}, "this is not a format that evalstore migrates"),
        ("e.json", {"tests": [{"a": "b"}]}, "hardly agentevals"),
        ("f.json", SHAPES["patterns.json"][0], "this is not a format that evalstore migrates"),
        ("g.yaml", {"id": "a", "x_source": {"format": "agentevals"}}, "a migration has made this"),
    ],
)
def test_it_is_one_document_and_one_page(name: str, value: Any, decision: str, cli: Run, tmp_path: Path) -> None:
    source = write(tmp_path, name, value)
    document = json.loads(cli("migrate", "--explain", source, "--format", "json").out)
    schema = json.loads((ROOT / "schema/output/migrate_explain.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    assert document["decision"].startswith(decision)
    told = cli("migrate", "--explain", source).out
    assert f"decided: {decision.split(maxsplit=1)[0]}" in told
    assert (document["table"] is not None) == (told.startswith("# "))
    assert list(tmp_path.iterdir()) == [source]


def test_it_takes_one_file_and_the_tables_of_ones_own(cli: Run, tmp_path: Path) -> None:
    source = write(tmp_path, "patterns.json", SHAPES["patterns.json"][0])
    folder = cli("migrate", "--explain", tmp_path)
    assert (folder.code, "is a folder" in folder.err) == (2, True)
    assert cli("migrate", "--explain", source, source).code == 2
    assert cli("migrate", "--explain", tmp_path / "gone.json").code == 3
    (tmp_path / "my.yaml").write_text(explain_format(source).draft)
    own = cli("migrate", "--explain", source, "--table", tmp_path / "my.yaml").out
    assert "decided: own_patterns, 90% sure" in own


def test_words_of_a_stranger_are_keys_and_no_yaml(tmp_path: Path) -> None:
    keys = ["\x1b[31m", "a: b", "- c", "# d", "'", '"\\', "\u2028\n", "null", "{{ x }}", "\u202e", "é", "1", " "]
    case = {"task": "T", **{f"must_{key}": ["x"] for key in keys}, **dict.fromkeys(keys, 1)}
    draft = draft_table({"cases": [case], **dict.fromkeys(keys, 1)}, "\x1b]0;x.json")
    assert draft.replace("\n", "").isprintable()
    (tmp_path / "t.yaml").write_text(draft, "utf-8")
    (table,) = load_own_tables([tmp_path / "t.yaml"])
    assert {row.key for row in table.checks} == {f"must_{key}" for key in keys}
    assert set(keys) <= {*table.data} & {*table.root_data}
    source = write(tmp_path, "x.json", {"cases": [case], **dict.fromkeys(keys, 1)})
    report = migrate(source, into=tmp_path / "store", tables=[tmp_path / "t.yaml"], dry_run=True)
    assert not report.count(MigrationOutcome.UNMAPPED)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["id", "prompt", "expect", "fail", "must_match", "checks", "type", "value", "schema", "max_chars"]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.dictionaries(KEYS | st.text(max_size=4), VALUES, max_size=5), min_size=1, max_size=3))
def test_whatever_the_cases_are_the_draft_is_a_table(tmp_path_factory: Any, cases: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "draft.yaml"
    path.write_text(draft_table({"cases": cases}, "a.json"), "utf-8")
    (table,) = load_own_tables([path])
    assert list(table.lists) == ["cases"]


def test_chat_messages_are_what_is_asked_and_come_back(tmp_path: Path) -> None:
    source = write(tmp_path, "chats.jsonl", SHAPES["chats.jsonl"][0])
    table = tmp_path / "own.yaml"
    table.write_text(explain_format(source).draft, "utf-8")
    migrate(source, into=tmp_path / "store", tables=[table])
    (row, _) = read_yaml((tmp_path / "store/datasets/chats.yaml").read_bytes(), "").value["questions"]
    assert row["input"] == "system: Be brief.\n\nuser: Q0?"
    assert [message["role"] for message in row["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    "asked", ["How?", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"}]]
)
def test_what_is_asked_may_be_a_variable_of_a_prompt(tmp_path: Path, asked: Any) -> None:
    check = {"type": "contains", "value": "a"}
    tests = [
        {"description": f"the {n}th of them", "vars": {"lang": "en", "q": asked}, "assert": [check]} for n in (1, 2)
    ]
    source = write(tmp_path, "tests.json", {"prompts": ["{{ q }}"], "providers": ["echo"], "tests": tests})
    table = tmp_path / "own.yaml"
    table.write_text(explain_format(source).draft, "utf-8")
    assert "  input: vars/q\n  data: [description, vars/lang] #" in table.read_text("utf-8")
    report = migrate(source, into=tmp_path / "store", tables=[table])
    assert {entry.outcome for entry in report.entries} <= {MigrationOutcome.LOSSY, MigrationOutcome.MIGRATED}
    (file,) = export(to="own_tests", store=tmp_path / "store", tables=[table]).files
    assert json.loads(file.text)["tests"] == tests


def test_messages_that_end_with_the_answer_are_not_asked(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A!"}]
    source = write(tmp_path, "talks.json", [{"question": "Q?", "messages": chat, "must_include": ["x"]}] * 2)
    assert "input: question" in explain_format(source).draft
    bare = write(tmp_path, "bare.json", [{"messages": chat, "must_include": ["x"]}] * 2)
    assert "input: messages" not in explain_format(bare).draft
