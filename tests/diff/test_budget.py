"""No input makes a comparison long: what a decider spends is counted, and beyond its budget it answers `assumed`."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from evalstore.diff import Certainty, Diff, compare
from evalstore.versions import Bump
from tests.rows import mark_slow, thin

Mapping = dict[str, Any]
Pair = tuple[Mapping, Mapping]

# Seconds of this process for all deciders and all witnesses together. It is some ten times what the slowest takes here.
SECONDS = 15.0


def rubric(*checks: Mapping, **scoring: Any) -> Mapping:
    named = [{"id": f"c{index}", **check} for index, check in enumerate(checks)]
    return {"id": "r", "version": "1.0.0", "checks": named, "scoring": {"combine": "weighted_avg", **scoring}}


def one(kind: str, old: Mapping, new: Mapping) -> Pair:
    return rubric({"kind": kind, **old}), rubric({"kind": kind, **new})


def words(count: int, first: int = 0) -> list[str]:
    return [f"phrase number {number * 7919 % 1_000_003}" for number in range(first, first + count)]


def pattern(old: str, new: str, **more: Any) -> Pair:
    return one("regex", {"pattern": old, **more}, {"pattern": new, **more})


def schema(old: Any, new: Any) -> Pair:
    return one("json_schema", {"schema": old}, {"schema": new})


def deep(levels: int, leaf: Any) -> Any:
    return leaf if not levels else {"properties": {"a": deep(levels - 1, leaf)}, "required": ["a"]}


def choices(levels: int) -> Any:
    return {"type": "string"} if not levels else {"anyOf": [choices(levels - 1), {"not": choices(levels - 1)}]}


def phrases(old: list[str], new: list[str]) -> Pair:
    return one("must_contain_any", {"values": old}, {"values": new})


def many(count: int, letter: str = "a") -> list[Mapping]:
    return [{"kind": "must_contain_any", "values": [f"{letter}{number}"]} for number in range(count)]


def leaving_out(count: int) -> Pair:
    """Return two rubrics of so many weights, in which ten checks have nothing to grade in some outputs."""
    checks = [*({"kind": "format"} for _ in range(10)), *many(count - 10)]
    old, new = (rubric(*checks, weights={f"c{at}": first + at % 7 for at in range(count)}) for first in (1, 2))
    return old, new


def wanting_all(**scoring: Any) -> Mapping:
    lists = [words(3_000, 10 * number) for number in range(12)]
    checks = [{"kind": "must_contain_any", "values": values, "min_matches": 3_000} for values in lists]
    return rubric(*checks, **scoring)


def patterns(last: str) -> list[Mapping]:
    return [{"kind": "regex", "pattern": f"(?:a|b)*a(?:a|b){{{number % 12}}}{last}"} for number in range(400)]


def questions(first: int) -> Mapping:
    rows = [{"id": f"q{number}", "input": f"question {number + first}"} for number in range(10_000)]
    return {"id": "d", "version": "1.0.0", "questions": rows}


def tools(first: int) -> Mapping:
    return {"mode": "in_order", "tools": [{"name": f"t{number}"} for number in range(first, first + 5_000)]}


def jury(first: int, aggregate: str) -> Mapping:
    members = [{"judge_prompt_ref": f"judge/j{number}@1.0.0"} for number in range(first, first + 1_000)]
    return {"jury": {"aggregate": aggregate, "members": members}}


def voters(first: int) -> Mapping:
    members = [{"judge_prompt_ref": f"judge/j{number}@1.0.0", "weight": first + number} for number in range(10)]
    return {"aggregate": "majority", "members": members}


def judge(template: str, **more: Any) -> Mapping:
    return {"id": "j", "version": "1.0.0", "template": template, **more}


def rewritten(pair: Pair, kind: str) -> Pair:
    return pair[0], rubric({**pair[1]["checks"][0], "kind": kind})


WORST: dict[str, Callable[[], Pair]] = {
    "10,000 phrases, all others": lambda: phrases(words(10_000), words(10_000, 10_000)),
    "10,000 phrases, 60 others": lambda: phrases(words(10_000), words(9_960) + words(60, 20_000)),
    "10,000 phrases, turned round": lambda: phrases(words(10_000), words(10_000)[::-1]),
    "10,000 phrases banned": lambda: rewritten(phrases(words(10_000), words(10_000)), "must_not_contain"),
    "100 phrases, each within the next": lambda: phrases(
        [f"{'a' * 10_000}{number}" for number in range(100)], [f"{'a' * 10_000}{number}" for number in range(50, 150)]
    ),
    "a pattern with loops in loops": lambda: pattern("((x+x+)+y)+z", "((x+x+)+y)+w"),
    "a pattern with 2**20 states": lambda: pattern("a.{20}b", "a.{20}c"),
    "a pattern that looks ahead": lambda: pattern("(?=.*a)(?=.*b)" * 10 + "a", "(?=.*a)(?=.*c)" * 10 + "a"),
    "a pattern of 19,000 letters": lambda: pattern("a" * 19_000, "a" * 19_001),
    "a pattern of wide classes": lambda: pattern(
        *("".join(f"[{chr(200 + at)}-{chr(last + at)}]" for at in range(150)) for last in (500, 501)), flags="i"
    ),
    "400 patterns": lambda: (rubric(*patterns("x")), rubric(*patterns("y"))),
    "a deep schema": lambda: schema(deep(25, {"type": "string"}), deep(25, {"type": "integer"})),
    "a schema of choices in choices": lambda: schema(choices(8), {"not": choices(8)}),
    "a schema of 1,400 values": lambda: schema({"enum": list(range(1_400))}, {"enum": list(range(1, 1_401))}),
    "a schema of 1 MB": lambda: schema(
        *({"enum": [f"{'x' * 1000}{at + first}" for at in range(1000)]} for first in (0, 1))
    ),
    "a schema of patterns": lambda: schema(
        *(
            {"patternProperties": {f"^a{at}.*(x|y){{{many}}}$": {"type": "string"} for at in range(60)}}
            for many in (3, 4)
        )
    ),
    "10,000 checks": lambda: (rubric(*many(10_000)), rubric(*many(10_000, "b"))),
    "400 checks, all others": lambda: (rubric(*many(400)), rubric(*many(400, "b"))),
    "400 checks, one left": lambda: (rubric(*many(400)), rubric(*many(1))),
    "400 weights": lambda: (rubric(*many(400)), rubric(*many(400), weights={f"c{at}": at % 7 for at in range(400)})),
    "400 weights, 10 of which may be left out": lambda: leaving_out(400),
    "400 juries of 10": lambda: tuple(
        rubric(*({"kind": "llm_judge", "jury": voters(first)} for _ in range(400))) for first in (1, 2)
    ),
    "16 weights, 2**16 scores": lambda: (
        rubric(*many(16), weights={f"c{at}": 2**at for at in range(16)}),
        rubric(*many(16), weights={f"c{at}": 2**at for at in range(16)}, threshold=0.70001),
    ),
    "12 checks that want 3,000 phrases each": lambda: (wanting_all(combine="min"), wanting_all(combine="max")),
    "10,000 facts": lambda: one("fact_match", {"facts": words(10_000)}, {"facts": words(10_000, 50)}),
    "5,000 sections": lambda: one("markdown_structure", *({"required_sections": words(5_000, at)} for at in (0, 1))),
    "10 ** 9 headings": lambda: one("markdown_structure", {"min_headings": 10**9}, {"min_headings": 10**9 + 1}),
    "5,000 tools": lambda: one("tool_usage", tools(0), tools(1)),
    "1,000 jurors": lambda: one("llm_judge", jury(0, "mean"), jury(1, "median")),
    "10,000 questions": lambda: (questions(0), questions(1)),
    "a template of 1 MB": lambda: (judge("{{ output }}" + "a b " * 250_000), judge("{{ output }}" + "a b " * 250_001)),
    "a template of 20,000 sections": lambda: (
        judge("{{#context}}" * 20_000 + "{{/context}}" * 20_000),
        judge("{{#context}}" * 20_000 + "a" + "{{/context}}" * 20_000),
    ),
    "a reply pattern with loops in loops": lambda: (
        judge("a", reply_pattern="((1+)+)b"),
        judge("a", reply_pattern="((1+)+)c"),
    ),
}
# What others of the table show, and takes seconds here.
LONG = {
    "400 patterns",
    "400 checks, all others",
    "400 juries of 10",
    "400 weights",
    "a schema of choices in choices",
    "a template of 20,000 sections",
    "10,000 questions",
    "a pattern of 19,000 letters",
    "a pattern with 2**20 states",
    "400 checks, one left",
    "a schema of patterns",
    "12 checks that want 3,000 phrases each",
    "100 phrases, each within the next",
}
UNDECIDED = [
    "a pattern with 2**20 states",
    "a pattern of 19,000 letters",
    "10,000 checks",
]


@cache
def compared(name: str) -> tuple[Diff, float]:
    """Compare the two once for all tests of a process; how long it took."""
    old, new = WORST[name]()
    began = time.process_time()
    return compare(old, new), time.process_time() - began


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [*map(mark_slow, sorted(LONG)), *thin((name for name in WORST if name not in LONG), 3)]
)
def test_the_worst_ends_soon(name: str) -> None:
    diff, seconds = compared(name)
    assert seconds < SECONDS
    assert diff.required_bump is (Bump.PATCH if name.endswith("round") else Bump.MAJOR)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in UNDECIDED]
)
def test_beyond_its_budget_a_decider_says_that_it_does_not_know(name: str) -> None:
    (finding,) = compared(name)[0].findings
    assert finding.certainty is Certainty.ASSUMED
    assert finding.level is Bump.MAJOR


@pytest.mark.heavy
def test_a_shift_is_told_where_few_checks_may_be_left_out() -> None:
    (finding,) = compare(*leaving_out(40)).findings
    assert finding.max_shift is None
    few = [rubric(*({"kind": "format"} for _ in range(4)), *many(4), weights={"c0": weight}) for weight in (1, 3)]
    (finding,) = compare(*few).findings
    # The four are left out together: 4 of 8 or 6 of 10 without the others, 4 of 8 or 4 of 10 with the others alone.
    assert finding.max_shift == Fraction(1, 10)


LITERAL = {f"key {number}": "x" * 100 for number in range(2_000)}
TOOL = {"kind": "tool_usage", "tools": [{"name": "t", "args": LITERAL}]}
OTHERS = {"kind": "must_contain_any", "values": ["a"]}, {"kind": "must_contain_any", "values": ["b"]}
LARGE: dict[str, tuple[Pair, int]] = {
    "nothing": ((rubric(TOOL), rubric(TOOL)), 1),
    "another check": ((rubric(TOOL, OTHERS[0]), rubric(TOOL, OTHERS[1])), 1),
    "a check between": ((rubric(TOOL), rubric({**OTHERS[0], "id": "first"}, {**TOOL, "id": "c0"})), 1),
    "a number beside it": (one("tool_usage", TOOL, {"tools": [{**TOOL["tools"][0], "min": 2}]}), 1),
    # The print of an edit is made of the text of all that it changes.
    "a part of it": (one("tool_usage", TOOL, {"tools": [{"name": "t", "args": {**LITERAL, "key 7": "y"}}]}), 3),
    "all of it": (one("tool_usage", TOOL, {"tools": [{"name": "t", "args": {"key": "y" * 200_000}}]}), 3),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_literal_is_written_out_for_digests_and_prints_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, written = import_module("evalstore.documents.json_writer"), 0

    def count(text: str) -> str:
        nonlocal written
        written += len(text)
        return json.dumps(text)

    monkeypatch.setattr(encoder, "encode_basestring", count)
    (old, new), times = LARGE[name]
    compare(copy.deepcopy(old), copy.deepcopy(new))
    size = sum(len(text) for side in (old, new) for text in json.dumps(side).split('"')[1::2])
    assert 0 < written <= times * size + size // 10
