"""Checks of all kinds, as their schemas accept them; what a check says is rarely all that it could say."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any

from evalstore.model.measures import MEASURES
from tests.diff.fuzz import patterns, schemas, steps
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.words import BARS, COUNTS, PHRASES, TOOLS, WEIGHTS, Make, one_of, optional, some

JUDGES = [*["judge/j@1.0.0", "judge/j@1.1.0", "judge/k@1.0.0"] * 5, "judge/gone@1.0.0", "judge/j@^1"]
RUBRICS = [*["rubric/inner@1.0.0", "rubric/inner@1.1.0", "rubric/else@1.0.0"] * 4, "rubric/inner@^1"]
AGGREGATES = ["mean", "median", "min", "max", "majority"]
FACTS: list[Any] = [*filter(str.strip, PHRASES), "b  a", "b\na", " b", {"id": "x", "value": "a"}, {"value": "ab"}]
SWITCH = one_of(True, False)


def check(random: Random, kinds: tuple[str, ...] = ()) -> Value:
    """Return a check of some kind, without an id."""
    kind = random.choice(kinds or _OFTEN)
    read = {} if kind in steps.UNREAD else optional(random, _READ, 0.15)
    common = optional(random, {"threshold": one_of(*BARS), "negate": SWITCH, "description": one_of("a", "b")}, 0.15)
    noted = copy.deepcopy(optional(random, {"metadata": one_of({"a": 1}, {"a": 2}), "x_b": one_of(1, 2)}, 0.03))
    return {"kind": kind, **KINDS[kind](random), **read, **common, **noted}


def phrases(random: Random) -> list[str]:
    """Return a list of phrases."""
    return some(random, PHRASES, 1, 3)


def tool(random: Random) -> Value:
    """Return one entry of a tool_usage check."""
    makes: Mapping[str, Make] = {
        "args": lambda random: copy.deepcopy(
            random.choice([{}, {"n": 0}, {"n": 1}, {"n": {"m": 1}}, {"n": Decimal("1.0")}])
        ),
        "args_match": one_of("subset", "exact"),
        "min": one_of(*COUNTS),
        "max": one_of(*COUNTS, 3),
    }
    return {"name": random.choice(TOOLS), **optional(random, makes)}


def _schema(random: Random) -> Value:
    if random.random() < 0.2:
        return {"expected_fields": random.choice([["a"], ["b"], ["a", "b"], ["b", "a"]]), **optional(random, _EXTRACT)}
    return {"schema": schemas.schema(random, random.choice([0, 1, 1, 2])), **optional(random, _EXTRACT)}


def _judged(random: Random) -> Value:
    makes: Mapping[str, Make] = {
        "variables": one_of({"criterion": "a"}, {"criterion": "b"}, {}, {"criterion": "a", "fact": "b"}),
        "model": lambda random: random.choice([{"id": "m"}, {"temperature": 0}, {"seed": 2}, {}, model(random)]),
        "samples": one_of(1, 1, 2, 3),
    }
    if random.random() < 0.25:
        makes = {**makes, "each": lambda random: some(random, STATEMENTS, 1, 3), "aggregate": one_of("mean", "points")}
    asked = {"jury": jury(random)} if random.random() < 0.5 else {"judge_prompt_ref": random.choice(JUDGES)}
    return {**asked, **copy.deepcopy(optional(random, makes))}


# What a judge is asked about, one by one.
STATEMENTS: list[Any] = [
    *("a", "b", {"text": "a", "weight": -1}, {"text": "b", "weight": 2}, {"text": "c", "weight": 0}),
    *({"text": "a", "id": "x"}, {"text": "b", "id": "x", "weight": Decimal("0.5")}, {"text": "a", "x_note": 1}),
]
_MODEL: Mapping[str, Make] = {
    "id": one_of("m", "n"),
    "provider": one_of("a", "b"),
    "temperature": one_of(0, 1),
    "top_p": one_of(1, Decimal("0.5")),
    "max_tokens": one_of(1, 9),
    "seed": one_of(1, 2),
    "system": one_of("a", "b"),
    "role": one_of("system", "user"),
    "response_format": one_of("json", "json_or_na"),
    "extra": one_of({"n": 1}, {"n": 2}, {}),
    "x_a": one_of(1, 2),
}


def model(random: Random) -> Value:
    """Return the settings of a model."""
    return copy.deepcopy(optional(random, _MODEL))


def jury(random: Random) -> Value:
    """Return a jury of a few."""
    return {
        "aggregate": random.choice(AGGREGATES),
        "members": [member(random) for _ in range(random.choice([1, 2, 2, 3]))],
    }


def member(random: Random) -> Value:
    """Return a juror."""
    weight = {"weight": random.choice(WEIGHTS)} if random.random() < 0.4 else {}
    return {"judge_prompt_ref": random.choice(JUDGES), **weight}


def limit(random: Random) -> Value:
    """Return the limits of a number."""
    return optional(random, {"min": one_of(0, 1, 2)}) or {"max": random.choice([0, 1, 2, Decimal("1.5")])}


def _facts(random: Random) -> Value:
    made = optional(random, {"facts": lambda random: some(random, FACTS, 1, 3), "case_sensitive": SWITCH}, 0.7)
    return copy.deepcopy({**made, **optional(random, {"judge_prompt_ref": one_of(*JUDGES)}, 0.1)})


TARGETS: list[Any] = [*PHRASES[:14], "", "a b", 1, 2, Decimal("1.0"), "1.50", Decimal("0.5"), "1,000", "\u03a3"]


def _targets(random: Random) -> Value:
    makes: Mapping[str, Make] = {
        "mode": one_of("exact", "number"),
        "tolerance": one_of(0, 1, Decimal("0.5")),
        "relative": one_of(0, Decimal("0.1"), 1),
    }
    made = optional(random, makes, 0.5)
    numbers = [1, 2, Decimal("1.0"), "1.50", Decimal("0.5"), -1, "2", "1e1"]
    pool = numbers if made.get("mode") == "number" and random.random() < 0.9 else TARGETS
    return {**optional(random, {"targets": lambda random: some(random, pool, 1, 3)}, 0.8), **made}


_EXTRACT: Mapping[str, Make] = {
    "extract": one_of("auto", "whole", "fence"),
    "dialect": one_of("strict", "javascript"),
}
_READ: Mapping[str, Make] = {"on": steps.steps, "on_nothing": one_of("fail", "missing")}
_CASE: Mapping[str, Make] = {"case_sensitive": SWITCH}
KINDS: Mapping[str, Make] = {
    "must_contain_any": lambda random: {
        "values": phrases(random), **optional(random, {**_CASE, "min_matches": one_of(0, 1, 2, 2, 3)}),
    },
    "must_not_contain": lambda random: {"values": some(random, [*PHRASES, ""], 1, 3), **optional(random, _CASE)},
    "regex": patterns.params,
    "json_schema": _schema,
    "php_lint": lambda random: optional(
        random, {"on_no_code": one_of("pass", "fail", "unscored"), "dialect": one_of("commonmark", "legacy")}, 0.7
    ),
    "markdown_structure": lambda random: optional(
        random,
        {
            "dialect": one_of("commonmark", "lines"), "min_headings": one_of(*COUNTS), "no_h1": SWITCH,
            "max_heading_level": one_of(0, 1, 2, 6, 7), "min_code_blocks": one_of(*COUNTS), "min_paragraphs": one_of(*COUNTS),
            "required_sections": lambda random: some(random, ["a", "b", "ab", "", "A", "\u03a3"], 0, 2),
            "forbidden_patterns": lambda random: some(random, ["a", "b", "aB", "ab"], 0, 2),
        },
    ),
    "format": lambda random: optional(
        random, {"format": one_of("json", "text"), "min_chars": one_of(*COUNTS), "max_chars": one_of(0, 1, 3)}, 0.5
    ),
    "tool_usage": lambda random: optional(
        random,
        {
            "tools": lambda random: [tool(random) for _ in range(random.choice([0, 1, 1, 2, 2, 3]))],
            "forbidden": lambda random: some(random, TOOLS, 0, 2),
            "mode": one_of("any_order", "in_order", "exact"),
            "partial": SWITCH,
        },
        0.5,
    ),
    "fact_match": _facts,
    "target_match": _targets,
    "limits": lambda random: {
        random.choice(MEASURES): limit(random), **optional(random, dict.fromkeys(MEASURES, limit), 0.25),
    },
    "llm_judge": _judged,
    "composite": lambda random: {"rubric_ref": random.choice(RUBRICS)},
}  # fmt: skip
_OFTEN = (
    *KINDS,
    "must_contain_any",
    "must_contain_any",
    "must_not_contain",
    "regex",
    "regex",
    "json_schema",
    "fact_match",
)
SIMPLE = tuple(kind for kind in KINDS if kind != "composite")
