"""Edits whose witness must be built: a long text, JSON at another place, a tool that nobody asked for."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest

import evalstore
from evalstore.report.diff import text

SCHEMA = {"type": "object", "required": ["route"], "properties": {"route": {"type": "string", "minLength": 3}}}
CASES = {
    "a longer text": (
        {"kind": "format", "format": "text", "max_chars": 8000},
        {"max_chars": 12_000},
        lambda shown: 8000 < len(shown.output) <= 12_000,
    ),
    "only in a fence": (
        {"kind": "json_schema", "schema": SCHEMA},
        {"extract": "fence"},
        lambda shown: shown.output.startswith("{"),
    ),
    "fences no more": (
        {"kind": "json_schema", "schema": SCHEMA},
        {"extract": "whole"},
        lambda shown: shown.output.startswith("```"),
    ),
    "no other tool": (
        {"kind": "tool_usage", "tools": [{"name": "another_tool", "max": 9}]},
        {"mode": "exact"},
        lambda shown: len({call["name"] for call in shown.tool_calls}) == 2,
    ),
}


def rubric(check: dict[str, Any]) -> dict[str, Any]:
    phrases = {"id": "said", "kind": "must_contain_any", "values": ["because"]}
    return {
        "id": "tone",
        "version": "1.0.0",
        "checks": [phrases, {"id": "asked", **check}],
        "scoring": {"combine": "weighted_avg"},
    }


@pytest.mark.parametrize("name", CASES)
def test_an_output_that_moves_is_built(name: str) -> None:
    check, edit, is_expected = CASES[name]
    (finding,) = evalstore.compare(rubric(check), rubric(check | edit)).findings
    assert is_expected(finding.witness)
    # The witness is not a claim: both rubrics grade it as it says.
    for side, score in ((check, finding.witness.old_score), (check | edit, finding.witness.new_score)):
        shown = {"output": finding.witness.output, "tool_calls": list(finding.witness.tool_calls or ())}
        assert evalstore.evaluate(rubric(side), shown).score == score


@pytest.mark.parametrize(
    ("combine", "edit"),
    [("min", {"missing": "zero"}), ("all_pass", {"missing": "zero"}), ("median", {"threshold": 0.5})],
)
def test_an_output_without_a_record_of_calls_shows_what_only_it_moves(combine: str, edit: dict[str, Any]) -> None:
    facts = {"id": "stated", "kind": "fact_match", "facts": ["one", "two", "three", "four"]}
    old = rubric({"kind": "tool_usage", "tools": [{"name": "search"}]})
    old["checks"] += [facts, {"id": "named", "kind": "regex", "pattern": "be+ta"}]
    old["scoring"] = {"combine": combine}
    (finding,) = evalstore.compare(old, old | {"scoring": {"combine": combine} | edit}).findings
    assert finding.witness
    assert finding.witness.tool_calls is None


@pytest.mark.parametrize("combine", ["all_pass", "max"])
def test_one_json_is_built_for_two_schemas(combine: str) -> None:
    route = {"type": "object", "required": ["route"], "properties": {"route": {"enum": ["a", "b"]}}}
    wider = {**route, "properties": {"route": {"enum": ["a", "b", "c"]}}}
    size = {"type": "object", "required": ["size", "tags"], "properties": {"size": {"type": "integer", "minimum": 3}}}
    old = rubric({"kind": "json_schema", "schema": route})
    old["checks"][0] = {"id": "sized", "kind": "json_schema", "schema": size}
    old["scoring"] = {"combine": combine}
    new = {**old, "checks": [old["checks"][0], {**old["checks"][1], "schema": wider}]}
    (finding,) = evalstore.compare(old, new).findings
    shown = json.loads(finding.witness.output)
    assert shown["route"] == "c"
    # Both have to pass, or the other one must not.
    assert ({"size", "tags"} <= shown.keys()) is (combine == "all_pass")


@pytest.mark.skipif(shutil.which("php") is None, reason="no php here")
def test_json_can_hold_a_block_of_php() -> None:
    # Without such a block the linter passes, and one check that passes is enough.
    asked = {"id": "asked", "kind": "format", "format": "json", "max_chars": 90}
    old = rubric(asked) | {"checks": [asked, {"id": "lints", "kind": "php_lint"}], "scoring": {"combine": "any_pass"}}
    (finding,) = evalstore.compare(old, {**old, "checks": [asked | {"max_chars": 200}, old["checks"][1]]}).findings
    assert finding.witness
    assert json.loads(finding.witness.output)
    assert (finding.witness.old_score, finding.witness.new_score) == (0, 1)


def test_a_shortened_output_says_how_long_it_is() -> None:
    check, edit, _ = CASES["a longer text"]
    shown = " ".join(text(evalstore.compare(rubric(check), rubric(check | edit))).split())
    assert re.search(r'the output of 8,0\d\d characters "[^"]*…" goes from 0.5 \(fail\) to 1 \(pass\)', shown)
