"""Suites as migrations write them: one rubric that takes its values from questions, edits of both, and edits of nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

from tests.diff.fuzz.outputs import samples as draw_samples
from tests.diff.fuzz.pair import Drawn, Pair, Value
from tests.diff.fuzz.words import Make, one_of, optional, some

OLD, NEW = "rubric/suite@1.0.0", "rubric/suite@2.0.0"
_JUDGE = "judge/it@1.0.0"
_WORDS = ["a", "b", "ab", "A", "x", "1", "cache", "cache tag", "#"]
_TOOLS = ["search", "read", "write"]
_STATEMENTS: list[Any] = ["a", "b", {"text": "a", "weight": -1}, {"text": "b", "weight": 2}, {"text": "c", "weight": 0}]
_PATTERNS = [["a", "a+", "(?:a)"], ["a|b", "b|a", "[ab]"], ["ab", "ab+"], ["[0-9]", "[0-4]|[5-9]"], ["^x"], ["a.b"]]
VALUES: Mapping[str, Make] = {
    "names": lambda random: some(random, _WORDS, 1, 3),
    "bans": lambda random: some(random, _WORDS, 1, 2),
    "least": one_of(1, 2, 3),
    "pattern": lambda random: random.choice(random.choice(_PATTERNS)),
    "shape": lambda random: copy.deepcopy(
        random.choice([{"type": "object"}, {"required": ["a"]}, {"properties": {"a": {"type": "integer"}}}])
    ),
    "calls": lambda random: some(random, _TOOLS, 1, 3),
    "expected_facts": lambda random: some(random, _WORDS, 1, 3),
    "statements": lambda random: copy.deepcopy(some(random, _STATEMENTS, 1, 3)),
    "said": one_of("a", "b"),
}
_CHECKS: list[Value] = [
    {"kind": "must_contain_any", "values": {"from": "names"}},
    {"kind": "must_contain_any", "values": {"from": "names"}, "min_matches": {"from": "least"}},
    {"kind": "must_contain_any", "values": {"from": "names"}, "min_matches": 2},
    {"kind": "must_not_contain", "values": {"from": "bans"}},
    {"kind": "must_not_contain", "values": {"from": "bans"}, "case_sensitive": True},
    {"kind": "regex", "pattern": {"from": "pattern"}},
    {"kind": "regex", "pattern": {"from": "pattern"}, "mode": "match"},
    {"kind": "json_schema", "schema": {"from": "shape"}},
    {"kind": "fact_match", "threshold": Decimal("0.5")},
    {"kind": "fact_match", "facts": {"from": "names"}},
    {"kind": "tool_usage", "tools": {"from": "calls"}},
    {"kind": "tool_usage", "tools": {"from": "calls"}, "mode": "in_order", "partial": True},
    {"kind": "tool_usage", "tools": [{"name": "search"}], "forbidden": {"from": "calls"}},
    {"kind": "format", "min_chars": {"from": "least"}, "max_chars": 20},
    {"kind": "markdown_structure", "required_sections": {"from": "names"}},
    {"kind": "must_not_contain", "values": ["b"]},
    {"kind": "llm_judge", "judge_prompt_ref": _JUDGE, "each": {"from": "statements"}},
    {"kind": "llm_judge", "judge_prompt_ref": _JUDGE, "each": {"from": "statements"}, "aggregate": "points"},
    {"kind": "llm_judge", "judge_prompt_ref": _JUDGE, "variables": {"criterion": {"from": "said"}}},
]
# What each kind may say beside its values, and what it says where it says nothing.
_BESIDE: Mapping[str, Mapping[str, list[Any]]] = {
    "must_contain_any": {"case_sensitive": [False, True], "min_matches": [1, 2, 3]},
    "must_not_contain": {"case_sensitive": [False, True]},
    "regex": {"mode": ["search", "match", "fullmatch"], "flags": ["", "i", "im", "mi", "s"]},
    "json_schema": {"extract": ["auto", "whole", "fence"]},
    "fact_match": {"case_sensitive": [False, True]},
    "tool_usage": {"mode": ["any_order", "in_order", "exact"], "partial": [False, True], "forbidden": [[], ["write"]]},
    "format": {"max_chars": [20, 1, 40], "format": ["text"]},
    "markdown_structure": {"min_headings": [0, 1, 2], "no_h1": [False, True]},
    "llm_judge": {"aggregate": ["mean", "points"], "samples": [1]},
}


class DrawnSuite(NamedTuple):
    """A pair, and whether its edits are built to mean nothing."""

    pair: Pair
    is_still: bool


def draw_suite(random: Random) -> DrawnSuite:
    """Return two sides of a dataset, or of its rubric, with all that they refer to at hand."""
    rubric = _draw_rubric(random)
    rows = [_draw_row(random, rubric, f"q{number}") for number in range(random.choice([1, 2, 3]))]
    defaults = {"rubric_ref": OLD, **optional(random, {key: VALUES[key] for key in _list_keys(rubric)}, 0.3)}
    old = {"id": "d", "version": "1.0.0", "defaults": defaults, "questions": rows}
    judge = {"id": "it", "version": "1.0.0", "template": "{{ output }} {{ statement }} {{ criterion }}"}
    refs = {OLD: rubric, _JUDGE: {**judge, "variables": ["statement", "criterion"]}}
    new, after, is_still = copy.deepcopy(old), copy.deepcopy(rubric), random.random() < 0.4
    edits = _STILL if is_still else _EDITS
    for _ in range(random.choice([1, 1, 2])):
        random.choice(edits)(random, new, after)
    if after != rubric:
        # A key that has another name in the rubric alone is no edit of nothing.
        if random.random() < 0.4 and ("_2" in repr(after)) is ("_2" in repr(rubric)):
            return DrawnSuite(Pair(rubric, {**after, "version": "2.0.0"}, refs), is_still)
        new["defaults"]["rubric_ref"] = NEW
        refs[NEW] = {**after, "version": "2.0.0"}
    return DrawnSuite(Pair(old, new, refs), is_still)


def is_suite(pair: Pair) -> bool:
    """Whether a pair is of a suite."""
    return OLD in pair.refs


def draw_outputs(random: Random, pair: Pair) -> Iterator[Drawn]:
    """Yield outputs of a suite, each with a question for a rubric that stands alone."""
    rubric = pair.refs[OLD]
    for drawn in draw_samples(random, pair):
        calls = [{"name": name} for name in some(random, _TOOLS, 0, 3)] if random.random() < 0.6 else drawn.calls
        text = (
            " ".join(some(random, [*_WORDS, "AB", "## a", "Cache tag"], 0, 3)) if random.random() < 0.5 else drawn.text
        )
        yield Drawn(text, calls, _draw_row(random, rubric, "q"), "scores", drawn.salt)


def _draw_rubric(random: Random) -> Value:
    checks = [
        {"id": f"c{number}", **copy.deepcopy(random.choice(_CHECKS))} for number in range(random.choice([1, 2, 2, 3]))
    ]
    scoring: Value = {
        "combine": random.choice(["weighted_avg", "weighted_avg", "all_pass", "min", "any_pass", "median"])
    }
    scoring |= optional(random, {"missing": one_of("skip", "zero"), "errors": one_of("skip", "zero", "fail")}, 0.3)
    scoring |= {"weights": {"c0": random.choice([2, 3, Decimal("0.5")])}} if random.random() < 0.3 else {}
    return {"id": "suite", "version": "1.0.0", "checks": checks, "scoring": scoring}


def _list_keys(rubric: Value) -> list[str]:
    text = repr(rubric)
    keys = [key for key in VALUES if f"'from': '{key}'" in text or f"'from': '{key}_2'" in text]
    return [*keys, *(["expected_facts"] if any(_reads_facts(one) for one in rubric["checks"]) else [])]


def _reads_facts(check: Value) -> bool:
    return check["kind"] == "fact_match" and "facts" not in check


def _draw_row(random: Random, rubric: Value, id_: str) -> Value:
    given = {key: VALUES[key](random) for key in _list_keys(rubric) if random.random() < 0.9}
    return {"id": id_, "input": "a", **given}


Edit = Callable[[Random, Value, Value], None]


def _change_value(random: Random, data: Value, rubric: Value) -> None:
    holder = random.choice([*data["questions"], *data["questions"], data["defaults"]])
    keys = _list_keys(rubric)
    if not keys:
        return
    key = random.choice(keys)
    value = holder.get(key)
    if isinstance(value, list) and random.random() < 0.6:
        more = [item for item in VALUES[key](random) if item not in value]
        holder[key] = random.choice([[*value, *more], value[1:] or value, [*value[:-1], *more[:1]] or value])
    elif key in holder and random.random() < 0.1:
        del holder[key]
    else:
        holder[key] = VALUES[key](random)


def _change_beside(random: Random, _: Value, rubric: Value) -> None:
    check = random.choice(rubric["checks"])
    name = random.choice(list(_BESIDE[check["kind"]]))
    if not isinstance(check.get(name), dict):
        check[name] = copy.deepcopy(random.choice(_BESIDE[check["kind"]][name]))


def _change_scoring(random: Random, _: Value, rubric: Value) -> None:
    rubric["scoring"]["combine"] = random.choice(["weighted_avg", "all_pass", "min", "max"])
    random.choice(rubric["checks"])["negate"] = True


def _turn_lists(random: Random, data: Value, _: Value) -> None:
    for row in [*data["questions"], data["defaults"]]:
        for key in ("names", "bans", "expected_facts"):
            if isinstance(row.get(key), list):
                row[key] = random.sample(row[key], len(row[key]))


def _spell_values(random: Random, data: Value, rubric: Value) -> None:
    for row in [*data["questions"], data["defaults"]]:
        for key in ("names", "bans"):
            if isinstance(row.get(key), list) and len(row[key]) == 1:
                row[key] = row[key][0]
        if "least" in row:
            row["least"] = Decimal(f"{int(row['least'])}.0")
        if "calls" in row and "'forbidden': {'from'" not in repr(rubric):
            row["calls"] = [{"name": call} if isinstance(call, str) else call for call in row["calls"]]
        if "shape" in row and random.random() < 0.5:
            row["shape"] = {**row["shape"], "title": "A shape"}
        row["x_note"] = random.randrange(9)


def _rewrite_pattern(random: Random, data: Value, rubric: Value) -> None:
    if "'mode'" in repr(rubric):
        return
    for row in [*data["questions"], data["defaults"]]:
        same = next((some for some in _PATTERNS if row.get("pattern") in some), None)
        if same:
            row["pattern"] = random.choice(same)


def _list_twice(random: Random, data: Value, rubric: Value) -> None:
    """List what another text of the list has in it anyway, where one of them is enough."""
    readers = [check for check in rubric["checks"] if "'from': 'bans'" in repr(check)]
    if any(check["kind"] != "must_not_contain" for check in readers):
        return
    for row in [*data["questions"], data["defaults"]]:
        if isinstance(row.get("bans"), list):
            row["bans"] = [*row["bans"], f"{random.choice(row['bans'])} and more"]


def _move_values(random: Random, data: Value, _: Value) -> None:
    """Write a default where it is used, or let a question inherit what it says anyway."""
    shared = data["defaults"]
    for row in data["questions"]:
        for key in [key for key in shared if key != "rubric_ref"]:
            if row.get(key, shared[key]) == shared[key] and random.random() < 0.7:
                row.pop(key) if key in row else row.update({key: shared[key]})


def _rename_key(random: Random, data: Value, rubric: Value) -> None:
    """Give a key of the questions another name, in the rubric as well."""
    keys = [key for key in _list_keys(rubric) if f"'from': '{key}'" in repr(rubric) and key != "expected_facts"]
    if not keys:
        return
    key = random.choice(keys)
    for check in rubric["checks"]:
        for holder in (check, check.get("variables", {})):
            for name, value in list(holder.items()):
                if value == {"from": key}:
                    holder[name] = {"from": f"{key}_2"}
    for row in [*data["questions"], data["defaults"]]:
        if key in row:
            row[f"{key}_2"] = row.pop(key)


def _write_defaults(random: Random, _: Value, rubric: Value) -> None:
    for check in rubric["checks"]:
        for name, values in _BESIDE[check["kind"]].items():
            if name not in check and name not in {"max_chars", "format"} and random.random() < 0.6:
                check[name] = copy.deepcopy(values[0])


def _rescale_weights(random: Random, _: Value, rubric: Value) -> None:
    weights = rubric["scoring"].get("weights", {})
    factor = random.choice([2, 10])
    rubric["scoring"]["weights"] = {one["id"]: weights.get(one["id"], 1) * factor for one in rubric["checks"]}


_EDITS: list[Edit] = [*[_change_value] * 6, *[_change_beside] * 3, _change_scoring, _rename_key, _move_values]
_STILL: list[Edit] = [
    *(_turn_lists, _spell_values, _rewrite_pattern, _list_twice, _move_values),
    *(_rename_key, _write_defaults, _rescale_weights),
]
