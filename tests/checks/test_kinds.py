"""Every kind has its schema, its two modules and its cases, and what `find_problems` says of a check."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import KINDS, phrases
from evalstore.checks.context import NO_CONTEXT
from evalstore.diff.kinds import KINDS as COMPARED
from evalstore.diff.kinds import say_always, say_never
from evalstore.errors import RefError
from evalstore.model import Output, Sample
from evalstore.model.rubric import JUDGED_THRESHOLD, find_default_threshold
from evalstore.places import find_resource_folder

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases" / "checks"
# What a kind is made of, a file each; `schema/rubric.schema.json` is generated from the schemas.
PARTS = {
    "schema/checks/{}.schema.json": "its parameters",
    "evalstore/checks/kinds/{}.py": "how it grades, and what others ask of it: a `CheckKind`",
    "evalstore/diff/kinds/{}.py": "how its edits are judged: a `ComparedKind`; until then any edit of a rubric with it is major",
    "tests/cases/checks/{}": "a folder of its cases, at least one that passes and one that fails",
}


def names(part: str) -> set[str]:
    before, after = part.split("{}")
    found = (path.name for path in (ROOT / before).iterdir())
    return {name.removesuffix(after) for name in found if name.endswith(after) and not name.startswith("_")}


def test_every_kind_has_all_its_parts() -> None:
    kinds = set().union(*map(names, PARTS))
    todo = [
        f"add {part.format(kind)}: {what}"
        for kind in sorted(kinds)
        for part, what in PARTS.items()
        if kind not in names(part)
    ]
    assert not todo, "\n".join(todo)
    assert set(KINDS) == set(COMPARED) == kinds


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_has_cases_that_pass_and_fail(kind: str) -> None:
    text = "".join(path.read_text("utf-8") for path in (CASES / kind).glob("*.yaml"))
    assert "verdict: pass" in text
    assert "verdict: fail" in text


@pytest.mark.parametrize("kind", list(KINDS))
def test_both_rooms_and_the_schema_say_the_same_of_a_kind(kind: str) -> None:
    graded, compared = KINDS[kind], COMPARED[kind]
    assert graded.is_binary is (compared.is_binary is say_always)
    assert graded.is_judgement is (compared.asks_judges is say_always)
    assert graded.may_ask_judges or compared.asks_judges is say_never
    assert graded.item_lists <= {name for name, param in compared.params.items() if param.is_set and param.items}
    threshold = find_default_threshold(kind)
    assert threshold == (JUDGED_THRESHOLD if graded.is_judgement else None if graded.holds_rubric else 1)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_examples_of_the_schemas_are_without_problems(kind: str) -> None:
    schema = json.loads((find_resource_folder("schema") / "checks" / f"{kind}.schema.json").read_text("utf-8"))
    for example in schema["examples"]:
        assert list(KINDS[kind].find_problems(example)) == []


@pytest.mark.parametrize(
    ("kind", "params", "pointer", "said"),
    [
        ("must_contain_any", {"values": ["a", "a"], "min_matches": 2}, ("min_matches",), "only 1 different"),
        ("must_not_contain", {"values": ["a", ""]}, ("values", 1), "every output contains the empty string"),
        ("regex", {"pattern": "("}, ("pattern",), "does not compile"),
        ("regex", {"pattern": r"\p{L}"}, ("pattern",), "Python's re does not know"),
        ("regex", {"pattern": "a(?i)b"}, ("pattern",), "cannot be run in counted steps"),
        ("regex", {"pattern": "[[:alpha:]]"}, ("pattern",), "a class of letters"),
        ("regex", {"pattern": "(?:cache){e<=1}"}, ("pattern",), "cannot be run in counted steps"),
        ("json_schema", {"schema": False}, ("schema",), "nothing passes"),
        ("json_schema", {"schema": {"type": "strng"}}, ("schema", "type"), "the schema is broken"),
        ("json_schema", {"schema": {"items": {"$ref": "a.json#"}}}, ("schema", "items", "$ref"), "refers to 'a.json#'"),
        (
            "json_schema",
            {"schema": {"$id": "http://a.b/", "not": {"$ref": "c"}}},
            ("schema", "not", "$ref"),
            "refers to 'c'",
        ),
        ("json_schema", {"schema": {"$dynamicRef": "a#b"}}, ("schema", "$dynamicRef"), "refers to 'a#b'"),
        ("json_schema", {"schema": {"$ref": "#/$defs/a"}}, ("schema", "$ref"), "does not lead to a schema"),
        ("json_schema", {"schema": {"anyOf": [{"$ref": "#"}]}}, ("schema",), "leads back to itself"),
        ("json_schema", {"schema": {"$schema": "http://a.b/c"}}, ("schema", "$schema"), "is not known"),
        ("json_schema", {"schema": {"pattern": "(a"}}, ("schema", "pattern"), "does not compile"),
        (
            "json_schema",
            {"schema": {"patternProperties": {"[[:alpha:]]": {}}}},
            ("schema", "patternProperties", "[[:alpha:]]"),
            "a class of letters",
        ),
        ("json_schema", {"expected_fields": ["a", "b", "a"]}, ("expected_fields", 2), "'a'"),
        ("markdown_structure", {"dialect": "lines"}, (), "demands nothing"),
        ("markdown_structure", {"forbidden_patterns": [""]}, ("forbidden_patterns", 0), "the empty string"),
        ("markdown_structure", {"max_heading_level": 0, "min_headings": 1}, ("max_heading_level",), "nothing passes"),
        ("llm_judge", {"judge_prompt_ref": "judge/a@1.0.0", "samples": 1001}, ("samples",), "it asks 1,001 times"),
        (
            "llm_judge",
            {"judge_prompt_ref": "judge/a@1.0.0", "variables": {"output": "x"}},
            ("variables", "output"),
            "has no effect",
        ),
        (
            "llm_judge",
            {"jury": {"aggregate": "mean", "members": [{"judge_prompt_ref": "judge/a@1.0.0", "weight": 0}]}},
            ("jury", "members"),
            "add up to 0",
        ),
        (
            "llm_judge",
            {"jury": {"aggregate": "max", "members": [{"judge_prompt_ref": "judge/a@1.0.0"}] * 2}},
            ("jury", "members", 1, "judge_prompt_ref"),
            "is listed twice",
        ),
        ("fact_match", {"facts": ["a", " \t"]}, ("facts", 1), "every output states it"),
        ("fact_match", {"facts": ["a  b", {"id": "x", "value": "A B "}]}, ("facts", 1), "'A B ' is item 1 already"),
        ("fact_match", {"facts": ["a", "a"], "judge_prompt_ref": "judge/a@1.0.0"}, ("facts", 1), "would count twice"),
        ("format", {"min_chars": 9, "max_chars": 8}, ("min_chars",), "nothing passes"),
        ("format", {"format": "text", "max_chars": 0}, ("max_chars",), "nothing passes"),
        ("tool_usage", {"tools": [{"name": "f", "min": 2, "max": 1}]}, ("tools", 0, "max"), "nothing passes"),
        ("tool_usage", {"tools": [{"name": "f"}], "forbidden": ["g", "f"]}, ("forbidden", 1), "required and forbidden"),
        ("tool_usage", {"tools": [{"name": "f", "min": 0}]}, ("tools", 0, "min"), "asks for nothing"),
        (
            "tool_usage",
            {"tools": [{"name": "f", "min": 0}], "mode": "exact"},
            ("tools", 0, "min"),
            "means no call",
        ),
        (
            "tool_usage",
            {"tools": [{"name": "f", "args_match": "exact"}]},
            ("tools", 0, "args_match"),
            "compares nothing",
        ),
        ("tool_usage", {"tools": [{"name": "f"}, {"name": "f"}]}, ("tools", 1), "one call satisfies both"),
        (
            "tool_usage",
            {"tools": [{"name": "f", "max": 1}, {"name": "g"}, {"name": "f", "min": 2}], "mode": "in_order"},
            ("tools", 0, "max"),
            "ask for 3, so nothing passes",
        ),
    ],
)
def test_problems_point_at_what_a_schema_cannot_see(
    kind: str, params: dict[str, Any], pointer: tuple[str | int, ...], said: str
) -> None:
    (problem,) = KINDS[kind].find_problems({"kind": kind, **params})
    assert problem.pointer == pointer
    assert said in problem.message
    assert problem.hint
    if problem.blocks:
        with suppress(RefError):  # there is no judge to load either
            grade = KINDS[kind].prepare_grading({"kind": kind, **params}, NO_CONTEXT)
            assert grade(Sample(Output("{}"))).score is None


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("must_contain_any", {"values": ["a", "b"], "min_matches": 2}),
        ("must_not_contain", {"values": [" "]}),
        ("regex", {"pattern": r"\{e\}[a-z]{2,3}\{\{ name \}\}", "flags": ["i", "m"]}),
        ("regex", {"pattern": r"[^\[:alnum]", "flags": "x"}),
        ("json_schema", {"schema": True}),
        ("json_schema", {"schema": {}}),
        (
            "json_schema",
            {"schema": {"pattern": r"^\p{Lu}(?<n>\d)$", "x-order": 1, "$ref": "#/$defs/a", "$defs": {"a": {}}}},
        ),
        ("json_schema", {"schema": {"const": {"$ref": "http://a.b/c", "pattern": "("}}}),
        ("json_schema", {"expected_fields": ["a", "A"]}),
        ("markdown_structure", {"no_h1": False}),
        ("markdown_structure", {"max_heading_level": 0}),
        ("php_lint", {"on_no_code": "fail"}),
        ("format", {"max_chars": 0}),
        ("tool_usage", {}),
        ("tool_usage", {"forbidden": ["f"], "tools": [{"name": "f", "min": 0, "max": 0}]}),
        ("tool_usage", {"tools": [{"name": "f", "args": {"n": 1}}, {"name": "f", "args": {"n": 2}}]}),
        ("tool_usage", {"tools": [{"name": "f", "max": 2}, {"name": "g"}, {"name": "f"}], "mode": "exact"}),
        (
            "llm_judge",
            {
                "jury": {"aggregate": "min", "members": [{"judge_prompt_ref": "judge/a@1.0.0", "weight": 0}]},
                "samples": 1000,
            },
        ),
        ("llm_judge", {"judge_prompt_ref": "judge/a@1.0.0", "variables": {"criterion": "output"}}),
        ("fact_match", {"facts": ["a b", "A b"], "case_sensitive": True}),
        ("fact_match", {"facts": ["a b", "a  b"], "judge_prompt_ref": "judge/a@1.0.0"}),
        ("fact_match", {}),
        ("composite", {"rubric_ref": "rubric/a@1.0.0"}),
    ],
)
def test_problems_leave_sound_checks_alone(kind: str, params: dict[str, Any]) -> None:
    assert list(KINDS[kind].find_problems({"kind": kind, **params})) == []


def test_a_name_that_is_no_kind_is_not_in_the_table() -> None:
    assert "must_contain_all" not in KINDS
    with pytest.raises(KeyError):
        KINDS["../evaluate"]


@pytest.mark.parametrize("kind", ["must_contain_any", "must_not_contain", "fact_match"])
def test_more_phrases_than_steps_allow_are_unscored_and_counted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "STEP_LIMIT", 4097 * 50)
    many = [f"phrase {number:04}" for number in range(4097)]
    params = {"facts": many} if kind == "fact_match" else {"values": many}
    grade = KINDS[kind].prepare_grading(params, NO_CONTEXT)
    assert grade(Sample(Output("x" * 50))).score is not None
    graded = grade(Sample(Output("x" * 51)))
    assert (graded.score, graded.reason) == (
        None,
        "4,097 phrases in 51 characters are 208,947 steps, more than 204,850",
    )
    # As many as any dataset has are looked for in a text of any length.
    few = {name: values[:4096] for name, values in params.items()}
    assert KINDS[kind].prepare_grading(few, NO_CONTEXT)(Sample(Output("x" * 100_000))).score is not None
