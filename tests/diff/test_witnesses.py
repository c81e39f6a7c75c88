"""Edits whose witness must be built: a long text, JSON at another place, a tool that nobody asked for."""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from typing import Any

import pytest

import evalstore
from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document
from evalstore.model import Artifact, JudgeReply, Kind, parse_ref
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
        lambda shown: shown.output.endswith("```"),
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
    # Without such a block the linter passes, and one check that passes is enough. No line of JSON is a CommonMark fence.
    asked = {"id": "asked", "kind": "format", "format": "json", "max_chars": 90}
    old = rubric(asked) | {
        "checks": [asked, {"id": "lints", "kind": "php_lint", "dialect": "legacy"}],
        "scoring": {"combine": "any_pass"},
    }
    (finding,) = evalstore.compare(old, {**old, "checks": [asked | {"max_chars": 200}, old["checks"][1]]}).findings
    assert finding.witness
    assert json.loads(finding.witness.output)
    assert (finding.witness.old_score, finding.witness.new_score) == (0, 1)


def test_a_shortened_output_says_how_long_it_is() -> None:
    check, edit, _ = CASES["a longer text"]
    shown = " ".join(text(evalstore.compare(rubric(check), rubric(check | edit))).split())
    assert re.search(r'the output of 8,0\d\d characters "[^"]*…" goes from 50 \(fail\) to 100 \(pass\)', shown)


TOOLS = [{"name": f"tool_{number}"} for number in range(12)]


@pytest.mark.parametrize("count", [0, 1, 3, 6, 12])
def test_a_tool_that_is_banned_now_is_called_in_the_witness(count: int) -> None:
    asked: dict[str, Any] = {"kind": "tool_usage", "forbidden": ["drop", "erase"]}
    asked |= {"tools": TOOLS[:count]} if count else {}
    old, new = rubric(asked), rubric(asked | {"forbidden": ["drop", "erase", "send_mail", "wipe"]})
    for sides in ((old, new), (new, old)):
        for finding in evalstore.compare(*sides).findings:
            assert finding.witness
            assert [call["name"] for call in finding.witness.tool_calls][:count] == [
                one["name"] for one in TOOLS[:count]
            ]
            assert finding.witness.tool_calls[-1]["name"] in {"send_mail", "wipe"}


FROM = {"from": "wanted"}
# A check, its edit, and the key of the question that the witness answers.
OF_QUESTIONS = {
    "format": ({"kind": "format", "max_chars": 90}, {"max_chars": 20}, None),
    "format of the row": ({"kind": "format"}, {"format": "text"}, "expected"),
    "facts": ({"kind": "fact_match"}, {"case_sensitive": True}, "expected_facts"),
    "a share of the facts": ({"kind": "fact_match", "threshold": 0.5}, {"threshold": 0.6}, "expected_facts"),
    "tools": ({"kind": "tool_usage"}, {"mode": "in_order"}, "expected_tools"),
    "banned beside the tools": ({"kind": "tool_usage"}, {"forbidden": ["drop"]}, "expected_tools"),
    "phrases": ({"kind": "must_contain_any", "values": FROM}, {"case_sensitive": True}, "wanted"),
    "a pattern": ({"kind": "regex", "pattern": FROM}, {"mode": "fullmatch"}, "wanted"),
    "a length": ({"kind": "format", "format": "text", "max_chars": FROM}, {"negate": True}, "wanted"),
}


@pytest.mark.parametrize("name", OF_QUESTIONS)
def test_a_question_is_invented_where_the_check_reads_one(name: str) -> None:
    check, edit, key = OF_QUESTIONS[name]
    alone = {"checks": [{"id": "asked", **check}], "scoring": {"combine": "all_pass"}}
    old, new = (rubric(one) | alone | {"checks": [{"id": "asked", **one}]} for one in (check, check | edit))
    for sides in ((old, new), (new, old)):
        (finding,) = evalstore.compare(*sides).findings
        shown = finding.witness
        assert shown
        assert None not in {shown.old_score, shown.new_score}
        assert (shown.question is None) is (key is None)
        assert key is None or key in shown.question
        output = {"output": shown.output, "tool_calls": shown.tool_calls}
        scores = [evalstore.evaluate(side, output, shown.question).score for side in sides]
        assert scores == [shown.old_score, shown.new_score]
        assert key is None or f"to a question with {key}" in " ".join(text(evalstore.compare(*sides)).split())


def load(ref: str) -> Artifact:
    inner = {
        "checks": [{"kind": "llm_judge", "judge_prompt_ref": "judge/j@1.0.0"}, {"kind": "regex", "pattern": "ok"}],
        "scoring": {"combine": "min" if ref.endswith("1.0.0") else "weighted_avg"},
    }
    judge = {"template": "Good? {{ output }}", "model": {"id": "m"}}
    kind = parse_ref(ref).kind
    value = {"id": parse_ref(ref).id, "version": "1.0.0", **(judge if kind is Kind.JUDGE else inner)}
    return Artifact(kind, value["id"], "1.0.0", Document(ref, "", value, {}, {}))


def test_a_composite_that_asks_a_judge_hides_no_witness() -> None:
    def build(edit: dict[str, Any]) -> dict[str, Any]:
        inner = {"id": "inner", "kind": "composite", "rubric_ref": "rubric/x@1.0.0"}
        said = {"id": "said", "kind": "must_contain_any", "values": ["ok"]}
        checks = [said | edit.get("said", {}), inner | edit.get("inner", {})]
        return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "weighted_avg"}}

    def ask(score: Fraction) -> CheckContext:
        return CheckContext(load, lambda _: JudgeReply(json.dumps({"score": float(score)})))

    for edit in ({"said": {"values": ["ok", "fine"]}}, {"inner": {"rubric_ref": "rubric/x@2.0.0"}}):
        sides = build({}), build(edit)
        (finding,) = evalstore.compare(*sides, load=load).findings
        shown = finding.witness
        assert shown
        ((name, score, _),) = shown.judged
        assert name == "inner/llm_judge"
        found = [evaluate(side, shown.output, context=ask(score)) for side in sides]
        assert [one.score for one in found] == [shown.old_score, shown.new_score]
        assert f"where inner/llm_judge scores {score}" in " ".join(text(evalstore.compare(*sides, load=load)).split())


def test_an_odd_letter_is_named() -> None:
    old = rubric({"kind": "regex", "pattern": "task"}) | {"scoring": {"combine": "all_pass"}}
    new = {**old, "checks": [old["checks"][0], {**old["checks"][1], "flags": "i"}]}
    assert "(U+" not in text(evalstore.compare(old, new))  # TASK shows it as well
    only = rubric({"kind": "must_contain_any", "values": ["class"]})
    wider = {**only, "checks": [only["checks"][0], {"id": "asked", "kind": "regex", "pattern": "class", "flags": "i"}]}
    shown = " ".join(text(evalstore.compare(only, wider)).split())
    assert "with \N{LATIN SMALL LETTER LONG S} (U+017F, LATIN SMALL LETTER LONG S) goes from" in shown
