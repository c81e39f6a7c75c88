"""A migrated test of an agent passes for the calls for which its rules hold, or the report says what is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import evaluate
from evalstore.documents import read_json, write_json, write_yaml
from evalstore.migration import MigrationOutcome
from evalstore.migration.extraction import LegacyCase, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Verdict

TABLE = load_tables("ai_agents_test")[0]
TOOLS = ["a:x", "a:y", "b"]
RULE = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOLS), "tool_rules": st.sampled_from(["should_be_run", "should_not_be_run"])},
    optional={"tool_order": st.sampled_from(["any", ""]), "tool_loop_order": st.just(""), "remove": st.none()},
)


def passes(rules: list[dict[str, Any]], calls: list[str]) -> bool:
    """Model the rules without parameters: each looks for its tool among the calls by itself."""
    return all((rule["tool"] in calls) == (rule["tool_rules"] == "should_be_run") for rule in rules)


def migrated(rules: Any) -> LegacyCase:
    test = {
        "id": [{"value": "1"}],
        "triggering_instructions": [{"value": "Go"}],
        "rules": [{"value": write_yaml(rules)}],
    }
    document = read_json(write_json({"label": "g", "approval_percentage": 90, "tests": [test]}), "g.json")
    return run_reader(LegacySource(document, "g.json", "", lambda _: None), TABLE).cases[0]


@settings(max_examples=300)
@given(st.lists(RULE, min_size=1, max_size=4), st.lists(st.sampled_from([*TOOLS, "other"]), max_size=4))
def test_rules_without_parameters_keep_their_verdict(rules: list[dict[str, Any]], calls: list[str]) -> None:
    case = migrated({f"rule_{number}": rule for number, rule in enumerate(rules, start=1)} | {"add_rule": None})
    assert case.outcome is MigrationOutcome.MIGRATED
    assert case.rubric
    output = {"output": "done", "tool_calls": [{"name": name, "args": {}} for name in calls]}
    result = evaluate({"id": "r", "version": "1.0.0"} | case.rubric.value, output)
    assert (result.verdict is Verdict.PASS) == passes(rules, calls)


@settings(max_examples=100)
@given(
    RULE, st.sampled_from([{"parameters": {"p": {"type_of_check": "empty", "value": ""}}}, {"tool_order": "before"}])
)
def test_what_no_check_can_say_is_said_to_be_lost(rule: dict[str, Any], more: dict[str, Any]) -> None:
    case = migrated({"rule_1": rule | more})
    assert case.outcome is MigrationOutcome.LOSSY
    assert [note.outcome for note in case.notes] == [MigrationOutcome.UNMAPPED]
    assert case.rubric
    assert case.rubric.value["x_unmapped"]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ([{"value": "- tool: a\n  tool_rules: should_be_run\n"}], "rules is a list where a mapping"),
        ([{"value": "just words"}], "rules is a text where a mapping"),
        ([{"value": 7}], "rules is not a single text field"),
        ({"rule_1": {"tool": "a", "tool_rules": "should_be_run"}}, "rules is not a single text field"),
        ([{"value": ""}, {"value": "rule_1: {tool: a, tool_rules: should_be_run}"}], "rules has 2 values"),
    ],
)
def test_rules_in_another_shape_are_refused_and_not_taken_for_none(field: Any, said: str) -> None:
    test = {"id": "1", "triggering_instructions": "Go", "rules": field}
    document = read_json(write_json({"label": "g", "approval_percentage": 90, "tests": [test]}), "g.json")
    (case,) = run_reader(LegacySource(document, "g.json", "", lambda _: None), TABLE).cases
    assert case.outcome is MigrationOutcome.REFUSED
    assert case.sentences[0].startswith(said)


@pytest.mark.parametrize("field", [None, [], {}, "", [{"value": None}], [{"value": ""}], [{}]])
def test_a_field_without_rules_asks_for_nothing(field: Any) -> None:
    test = {"id": "1", "triggering_instructions": "Go", "rules": field}
    document = read_json(write_json({"label": "g", "approval_percentage": 90, "tests": [test]}), "g.json")
    (case,) = run_reader(LegacySource(document, "g.json", "", lambda _: None), TABLE).cases
    assert case.outcome is MigrationOutcome.MIGRATED


@pytest.mark.parametrize("wanted", [["should_be_run"], {"a": 1}, None, 7])
def test_a_rule_that_wants_no_word_is_said_to_be_lost(wanted: Any) -> None:
    case = migrated({"rule_1": {"tool": "a", "tool_rules": wanted}})
    assert case.outcome is MigrationOutcome.LOSSY
    assert case.sentences == ("a is neither wanted nor forbidden",)


def test_the_share_of_a_group_and_keys_that_nobody_knows_are_said() -> None:
    test = {"id": "1", "triggering_instructions": "Go", "weight": "2", "rules": []}
    document = read_json(write_json({"label": "g", "approval_percentage": 90, "tests": [test]}), "g.json")
    said = run_reader(LegacySource(document, "g.json", "", lambda _: None), TABLE)
    assert [(note.pointer, note.outcome) for note in said.notes] == [
        (("approval_percentage",), MigrationOutcome.UNMAPPED)
    ]
    assert said.cases[0].sentences[-1] == "no grader reads 'weight': kept as data"
    case = migrated({"rule_1": {"tool": "a", "tool_rules": "should_be_run", "times": 2}})
    assert case.outcome is MigrationOutcome.LOSSY
    assert case.sentences == ("no grader reads 'times': kept as data",)


def test_an_id_that_a_later_test_has_is_given_to_no_twin() -> None:
    tests = [{"id": id_, "triggering_instructions": "Go"} for id_ in ("1", "1", "1_2")]
    document = read_json(write_json({"label": "g", "approval_percentage": 90, "tests": tests}), "g.json")
    said = run_reader(LegacySource(document, "g.json", "", lambda _: None), TABLE)
    assert [case.question["id"] for case in said.cases] == ["1", "1_3", "1_2"]
