"""One rubric over one output through the public function: what may be passed in, and how a check's answer comes about."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from sys import modules
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks import KINDS, CheckContext, evaluate
from evalstore.checks import php as php_module
from evalstore.checks.kinds import suggest_kind
from evalstore.documents import read_yaml
from evalstore.errors import SchemaError
from evalstore.model import Artifact, Kind, Output, Question, UnscoredReason, Verdict, read_rubric

SAYS_A: dict[str, Any] = {"id": "says_a", "kind": "must_contain_any", "values": ["a"]}
SAYS_B: dict[str, Any] = {"id": "says_b", "kind": "must_contain_any", "values": ["b"]}


def rubric(*checks: dict[str, Any], **scoring: Any) -> dict[str, Any]:
    return {"checks": list(checks), "scoring": {"combine": "weighted_avg", **scoring}}


def test_a_float_is_as_exact_as_its_literal() -> None:
    result = evaluate(rubric(SAYS_A, SAYS_B, weights={"says_a": 0.1, "says_b": 0.2}, threshold=0.3), "a")
    assert result.score == Fraction(1, 3)
    assert result.verdict is Verdict.PASS
    just_met = rubric(SAYS_A, SAYS_B, weights={"says_a": 0.7, "says_b": 0.3}, threshold=0.7)
    assert evaluate(just_met, "a").verdict is Verdict.PASS


@given(st.decimals(0, 50, places=3), st.decimals("0.001", 50, places=3))
def test_floats_and_decimals_of_one_literal_score_alike(first: Decimal, second: Decimal) -> None:
    exact = rubric(SAYS_A, SAYS_B, weights={"says_a": first, "says_b": second})
    floats = rubric(SAYS_A, SAYS_B, weights={"says_a": float(first), "says_b": float(second)})
    assert evaluate(exact, "a") == evaluate(floats, "a")


def test_a_rubric_may_be_a_mapping_a_rubric_or_an_artifact() -> None:
    text = b"id: x\nversion: 1.0.0\nchecks: [{kind: must_contain_any, values: [a]}]\nscoring: {combine: min}\n"
    document = read_yaml(text, "rubrics/x.yaml")
    artifact = Artifact(Kind.RUBRIC, "x", "1.0.0", document)
    assert evaluate(artifact, "a") == evaluate(document.value, "a") == evaluate(read_rubric(document.value), "a")


def test_an_output_may_be_a_text_an_output_or_a_mapping() -> None:
    answers = {evaluate(rubric(SAYS_A), output) for output in ("a", Output("a"))}  # type: ignore[arg-type]
    assert answers == {evaluate(rubric(SAYS_A), {"output": "a", "tool_calls": [{"name": "t"}]})}


@pytest.mark.parametrize("calls", ["t", {"name": "t"}, ["t"], [{}], [{"name": ""}], [{"function": "t"}], 7])
def test_tool_calls_that_are_none_are_refused(calls: Any) -> None:
    with pytest.raises(SchemaError, match="not a list of calls"):
        evaluate(rubric(SAYS_A), {"output": "a", "tool_calls": calls})


def test_floats_of_a_caller_are_the_numbers_of_a_file() -> None:
    asks = rubric({"kind": "tool_usage", "tools": [{"name": "f", "args": {"n": [Decimal("0.10"), 1]}}]})
    call = {"name": "f", "args": {"n": [0.1, 1.0]}}
    assert evaluate(asks, {"output": "", "tool_calls": [call]}).verdict is Verdict.PASS


def test_a_question_may_be_a_mapping_or_a_question() -> None:
    row = {"id": "q", "input": "?", "expected": {"format": "json"}}
    check = rubric({"kind": "format"})
    assert evaluate(check, "{}", row) == evaluate(check, "{}", Question("q", "?", row))
    assert evaluate(check, "{}", row).verdict is Verdict.PASS


def test_negate_turns_the_score_round_before_the_threshold() -> None:
    (check,) = evaluate(rubric({**SAYS_A, "negate": True}), "b").checks
    assert (check.score, check.verdict) == (1, Verdict.PASS)
    (check,) = evaluate(rubric({**SAYS_A, "negate": True}), "a").checks
    assert (check.score, check.verdict) == (0, Verdict.FAIL)


def test_negate_leaves_an_unscored_check_unscored() -> None:
    (check,) = evaluate(rubric({"kind": "regex", "pattern": "(", "negate": True}), "a").checks
    assert (check.score, check.verdict, check.unscored) == (None, Verdict.UNSCORED, UnscoredReason.ERROR)


def test_a_threshold_of_zero_passes_a_check_that_scored_zero() -> None:
    (check,) = evaluate(rubric({**SAYS_A, "threshold": 0}), "b").checks
    assert (check.score, check.verdict) == (0, Verdict.PASS)


def test_a_kind_that_nobody_knows_is_unscored_and_gets_a_guess() -> None:
    (check,) = evaluate(rubric({"kind": "must_contain_all", "values": ["a"]}), "a").checks
    assert check.unscored is UnscoredReason.ERROR
    said = "write it as must_contain_any with `min_matches`: the number of its values"
    assert check.reason == f"unknown check kind 'must_contain_all'; {said}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("contains-all", "write it as must_contain_any with `min_matches`: the number of its values"),
        ("must_contain", "write it as must_contain_any; its `min_matches` says how many of its values"),
        ("icontains", "write it as must_contain_any; its `min_matches` says how many of its values"),
        ("not-contains", "did you mean must_not_contain?"),
        ("must_avoid", "did you mean must_not_contain?"),
        ("must_contian_any", "did you mean must_contain_any?"),
        ("must_match", "did you mean regex?"),
        ("not_match", "write it as regex with `negate: true`"),
        ("zzz", ""),
    ],
)
def test_a_hint_never_names_a_kind_that_means_something_else(name: str, hint: str) -> None:
    assert suggest_kind(name) == hint


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"checks": []}, "this is not a valid rubric: `scoring` is missing"),
        ({"checks": [{}], "scoring": {"combine": "min"}}, "this is not a valid rubric: `kind` is missing"),
        (rubric({"id": "a", "kind": True}), "this is not a valid rubric: kind is True, which is not a str"),
        (rubric({"kind": "regex", "id": 1}), "this is not a valid rubric: id is 1, which is not a str"),
        (rubric(SAYS_A, combine="mean"), "this is not a valid rubric: 'mean' is not a valid Combine"),
        (rubric(SAYS_A, weights={"says_a": "heavy"}), "this is not a valid rubric: "),
        (rubric({"kind": "must_contain_any"}), "check must_contain_any: 'values' is a required property"),
        (
            rubric({"kind": "must_not_contain", "values": None}),
            "check must_not_contain/values: None is not of type 'array'",
        ),
        (rubric({"kind": "regex", "pattern": 5}), "check regex/pattern: 5 is not of type 'string'"),
        (rubric({"kind": "regex", "pattern": "a", "flags": "q"}), "check regex/flags: 'q' does not match"),
        (rubric({"kind": "php_lint", "on_no_code": "maybe"}), "check php_lint/on_no_code: 'maybe' is not one of"),
        (
            rubric({"kind": "markdown_structure", "dialect": "gfm"}),
            "check markdown_structure/dialect: 'gfm' is not one of",
        ),
        (
            rubric({"kind": "markdown_structure", "min_headings": "2"}),
            "check markdown_structure/min_headings: '2' is not of type",
        ),
        (
            rubric({"kind": "format", "format": "text", "max_chars": "9"}),
            "check format/max_chars: '9' is not of type 'integer'",
        ),
    ],
)
def test_what_a_schema_refuses_ends_in_one_sentence(broken: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        evaluate(broken, "a")
    assert str(caught.value).startswith(said)
    assert caught.value.hint


@pytest.mark.parametrize("output", [{}, {"output": None}, {"output": ["a"]}, None, 7])
def test_an_output_without_a_text_is_refused(output: Any) -> None:
    with pytest.raises(SchemaError, match="an output must be a string"):
        evaluate(rubric(SAYS_A), output)


def test_an_error_of_ours_is_not_blamed_on_the_rubric(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: Any) -> None:
        raise TypeError("ours")

    broken = replace(KINDS["must_contain_any"], prepare_grading=stumble)
    monkeypatch.setattr(modules["evalstore.checks.evaluate"], "KINDS", {"must_contain_any": broken})
    with pytest.raises(TypeError, match="ours"):
        evaluate(rubric(SAYS_A), "a")


def test_strict_takes_no_approximation(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = php_module.PhpEngine("a parser (approximate)")
    monkeypatch.setattr("evalstore.checks.kinds.php_lint.find_php_engine", lambda: engine)
    monkeypatch.setattr("evalstore.checks.kinds.php_lint.check_block", lambda *_: php_module.LintResult(valid=True))
    block = "```php\necho 1;\n```"
    (check,) = evaluate(rubric({"kind": "php_lint"}), block).checks
    assert (check.verdict, check.engine) == (Verdict.PASS, "a parser (approximate)")
    (check,) = evaluate(rubric({"kind": "php_lint"}), block, context=CheckContext(strict=True)).checks
    assert (check.score, check.unscored, check.engine) == (None, UnscoredReason.ERROR, "a parser (approximate)")


def test_evaluate_is_a_function_of_what_it_is_given() -> None:
    check = rubric(SAYS_A, SAYS_B)
    before = repr(check)
    assert evaluate(check, "a") == evaluate(check, "a")
    assert repr(check) == before


@pytest.mark.process
def test_importing_the_room_imports_no_engine() -> None:
    code = "import sys, evalstore.checks; print(sorted({'regex', 'markdown_it', 'tree_sitter', 'jsonschema', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in {"[]", "['yaml']"}  # documents own the YAML parser
