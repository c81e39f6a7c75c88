"""Questions and datasets, and edits of them: references that graders read, or nobody, and rows that share a default."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random
from typing import Any

from evalstore.model.measures import MEASURES
from tests.diff.fuzz import patterns
from tests.diff.fuzz.checks import FACTS, RUBRICS, STATEMENTS
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.words import PHRASES, TOOLS, Make, one_of, optional, some

_EXPECTED = [
    *(
        "a",
        "b",
        {"a": 1, "b": 2},
        {"a": Decimal("1.0"), "b": 2},
        {"a": 1},
        1,
        ["a", "1"],
        {"reference": "a"},
        {"b": "a"},
        {"format": "json"},
        {"format": "text"},
    ),
    *({"format": "other"}, [1], None, {"a": None}),
]
KEYS: Mapping[str, Make] = {
    "expected": lambda random: copy.deepcopy(random.choice(_EXPECTED)),
    "also_valid": lambda random: copy.deepcopy(random.choice([{"a": ["a", 2]}, {"b": [1]}, {"a": "a"}, {}])),
    "expected_facts": lambda random: copy.deepcopy(some(random, FACTS, 0, 3)),
    "expected_tools": lambda random: copy.deepcopy(
        some(random, [*TOOLS, {"name": "a", "args": {"n": 0}}, {"name": "b"}], 0, 3)
    ),
    "context": one_of("a", "b", "", None),
    "criteria": one_of(["a"], "a", ["a", "b"]),
    "messages": one_of([{"role": "user", "content": "a"}]),
    "format": one_of("json", "text"),
    "group": one_of("a", "b"),
    "bundle": one_of("a"),
    "x_note": one_of(1, 2),
    "severity": one_of("low", "high"),
    "title": one_of("a", "b"),
}


# What checks may take from a question, and a text, a number or a name where a list, a whole number or a mapping is wanted.
_PLAIN = ["a", "b", "ab", "A", "x", "1"]
VALUES: Mapping[str, Make] = {
    "names": lambda random: random.choice(
        [*[some(random, _PLAIN, 1, 3)] * 5, some(random, PHRASES, 0, 2), "a", ["a", 1]]
    ),
    "least": one_of(0, 1, 2, Decimal("2.0"), "a"),
    "pattern": lambda random: random.choice(["a", "a+", "a|b", "ab?", "(", patterns.pattern(random)]),
    "within": lambda random: copy.deepcopy(random.choice([{"max": 1}, {"min": 1}, {"min": 1, "max": 2}, {}, 1, "a"])),
    "shape": lambda random: copy.deepcopy(random.choice([{}, {"required": ["a"]}, {"type": "object"}, "a"])),
    "statements": lambda random: copy.deepcopy(some(random, STATEMENTS, 0, 3)),
    "said": one_of("a", "b", ""),
    "calls": lambda random: copy.deepcopy(some(random, [*TOOLS, {"name": "a", "args": {"n": 0}}], 0, 2)),
}
# The keys from which each parameter may be taken; what is read as a reference, too.
_SOURCES: Mapping[str, list[str]] = {
    **{key: ["names"] for key in ("values", "forbidden", "required_sections", "forbidden_patterns")},
    **{
        key: ["least"]
        for key in (
            "min_matches",
            "min_chars",
            "max_chars",
            "min_headings",
            "min_paragraphs",
            "max_heading_level",
            "min_code_blocks",
        )
    },
    **{key: ["within"] for key in MEASURES},
    "facts": ["expected_facts", "names"],
    "targets": ["names", "said", "least"],
    "tools": ["expected_tools", "calls"],
    "pattern": ["pattern", "pattern", "said"],
    "schema": ["shape"],
    "expected_fields": ["names"],
    "each": ["statements", "names"],
}
_JUDGED_TAIL = " {{ statement }} {{ criterion }}"


# Checks that read a question, as references and as values.
_READING: list[Value] = [
    {"kind": "must_contain_any", "values": {"from": "names"}},
    {"kind": "must_contain_any", "values": {"from": "names"}, "min_matches": {"from": "least"}},
    {"kind": "must_contain_any", "values": ["a"], "min_matches": {"from": "least"}},
    {"kind": "must_not_contain", "values": {"from": "names"}, "case_sensitive": True},
    {"kind": "must_not_contain", "values": {"from": "said"}},
    {"kind": "regex", "pattern": {"from": "pattern"}},
    {"kind": "json_schema", "schema": {"from": "shape"}},
    {"kind": "json_schema", "expected_fields": ["a"]},
    {"kind": "fact_match"},
    {"kind": "fact_match", "threshold": Decimal("0.5")},
    {"kind": "fact_match", "facts": {"from": "names"}},
    {"kind": "fact_match", "facts": {"from": "expected_facts"}},
    {"kind": "tool_usage"},
    {"kind": "tool_usage", "partial": True},
    {"kind": "tool_usage", "tools": {"from": "calls"}},
    {"kind": "tool_usage", "forbidden": {"from": "calls"}},
    {"kind": "format"},
    {"kind": "format", "min_chars": {"from": "least"}},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/k@1.0.0", "each": {"from": "statements"}},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/k@1.0.0", "variables": {"criterion": {"from": "said"}}},
    {"kind": "must_contain_any", "values": ["a"]},
    {"kind": "limits", "latency_ms": {"from": "within"}},
    {"kind": "limits", "cost_usd": {"from": "within"}, "output_tokens": {"max": 1}},
    {"kind": "markdown_structure", "max_heading_level": {"from": "least"}},
    {"kind": "markdown_structure", "min_headings": {"from": "least"}, "required_sections": {"from": "names"}},
]


def read_question(random: Random, id_: str) -> Value:
    """Return a rubric of a few checks, most of which read the question."""
    checks = copy.deepcopy([random.choice(_READING) for _ in range(random.choice([1, 1, 2]))])
    named = [{"id": f"c{index}", **one} for index, one in enumerate(checks)]
    combine = random.choice(["weighted_avg", "weighted_avg", "weighted_avg", "all_pass", "min", "median"])
    more = optional(random, {"missing": one_of("skip", "zero"), "errors": one_of("skip", "zero", "fail")})
    return {"id": id_, "version": "1.0.0", "checks": named, "scoring": {"combine": combine, **more}}


def take_values(random: Random, refs: Mapping[str, Value]) -> dict[str, Value]:
    """Return artifacts whose checks take some of their values from the question, in all versions of a rubric alike."""
    chosen: dict[tuple[str, int], dict[str, Any]] = {}
    taken = copy.deepcopy(dict(refs))
    if random.random() < 0.7:
        taken |= {ref: read_question(random, ref[7:-6]) for ref in ("rubric/inner@1.0.0", "rubric/else@1.0.0") if taken}
        taken |= (
            {"rubric/inner@1.1.0": {**copy.deepcopy(taken["rubric/inner@1.0.0"]), "version": "1.1.0"}} if taken else {}
        )
    for ref, value in taken.items():
        if "template" in value and random.random() < 0.7:
            value["template"] += _JUDGED_TAIL
            value["variables"] = ["statement", "criterion"]
        for index, one in enumerate(value.get("checks", ())):
            place = (ref.partition("@")[0], index)
            sources = chosen.setdefault(place, _choose_sources(random, one))
            if random.random() < 0.9:
                one |= {name: item for name, item in sources.items() if _takes(one, name)}
    return taken


def _choose_sources(random: Random, one: Value) -> dict[str, Any]:
    names = [name for name in _SOURCES if name in one and random.random() < 0.6]
    names += ["facts"] if one["kind"] == "fact_match" and random.random() < 0.3 else []
    found: dict[str, Any] = {name: {"from": random.choice(_SOURCES[name])} for name in names}
    if one["kind"] == "llm_judge" and random.random() < 0.7:
        statements = random.choice([{"from": random.choice(_SOURCES["each"])}, some(random, STATEMENTS, 1, 3)])
        found |= {"each": copy.deepcopy(statements), "aggregate": random.choice(["mean", "mean", "points"])}
    elif one["kind"] == "llm_judge":
        found["variables"] = {"criterion": {"from": "said"}}
    return found


def _takes(one: Value, name: str) -> bool:
    return name in one or name in {"facts", "each", "aggregate", "variables"}


def question(random: Random, id_: str = "q0") -> Value:
    """Return a question that says some of what graders read."""
    return {"id": id_, "input": random.choice(PHRASES), **optional(random, {**KEYS, **VALUES}, 0.25)}


def _change(random: Random, name: str, value: Any) -> Any:
    """Return another value of a key: now and then nearly the same."""
    if isinstance(value, list) and value and random.random() < 0.5:
        more = VALUES["names"](random) if name == "names" else {**KEYS, **VALUES}[name](random)
        items = [*value, *(more if isinstance(more, list) else [])]
        return copy.deepcopy(random.choice([items, items[::-1], items[1:], value * 2]))
    return {**KEYS, **VALUES}[name](random)


def dataset(random: Random) -> Value:
    """Return a dataset whose questions name their rubric and say what is read, or leave it to the defaults."""
    rows = [question(random, f"q{index}") for index in range(random.choice([1, 2, 2, 3]))]
    for row in rows:
        for name in [name for name in row if (name in VALUES or name == "bundle") and random.random() < 0.5]:
            del row[name]
        if random.random() < 0.5:
            row["rubric_ref"] = random.choice(RUBRICS)
    defaults = {"rubric_ref": random.choice(RUBRICS)} if random.random() < 0.8 else {}
    defaults |= {"bundle": random.choice("ab")} if random.random() < 0.1 else {}
    defaults |= optional(random, {**_READ, **VALUES}, 0.6)
    return {
        "id": "d",
        "version": "1.0.0",
        "questions": rows,
        **({"defaults": defaults} if random.random() < 0.8 else {}),
    }


def find_names(old: Value, new: Value) -> dict[str, str]:
    """Return the names of the questions of one side on the other, as the new side notes them."""
    names = {row["id"]: row["id"] for row in old["questions"]}
    after = {row["id"] for row in new["questions"]}
    noted = {row["x_source"]["renamed_from"]: row["id"] for row in new["questions"] if "x_source" in row}
    return names | {id_: now for id_, now in noted.items() if id_ in names and id_ not in after and now not in names}


_DEFAULTS: Mapping[str, Make] = {"rubric_ref": one_of(*RUBRICS), "bundle": lambda random: random.choice("ab")}
_REFERENCES = {
    "fact_match": ["expected_facts"],
    "tool_usage": ["expected_tools"],
    "format": ["expected"],
    "json_schema": ["expected", "also_valid"],
}
_READ: Mapping[str, Make] = {key: KEYS[key] for key in ("expected", "expected_facts", "expected_tools", "context")}


def edit(random: Random, value: Value, refs: Mapping[str, Value]) -> None:
    """Edit a dataset; what the rubrics read is edited most."""
    read = [name for name in (*_READ, *VALUES) if f"'from': '{name}'" in repr(refs)]
    kinds = {one["kind"] for ref in refs.values() for one in ref.get("checks", ())}
    read += [name for kind, names in _REFERENCES.items() if kind in kinds for name in names]
    random.choice(_EDITS)(random, value, read)


def _key(random: Random, value: Value, read: list[str]) -> None:
    row = random.choice(value["questions"])
    held = [name for name in row if name in KEYS or name in VALUES]
    name = random.choice([*(read * 12 or held), *KEYS, *VALUES, "rubric_ref", "rubric_ref", "input"])
    if name in row and name != "input" and random.random() < 0.3:
        del row[name]
    elif name in {"rubric_ref", "input"}:
        row[name] = random.choice(RUBRICS if name == "rubric_ref" else ["a", "b"])
    else:
        row[name] = _change(random, name, row.get(name))


def _defaults(random: Random, value: Value, read: list[str]) -> None:
    shared = value.setdefault("defaults", {})
    held = [name for name in shared if name in _READ or name in VALUES]
    name = random.choice([*(read * 6 or held), "rubric_ref", "bundle", *_READ, *VALUES])
    if name in shared and random.random() < 0.2:
        del shared[name]
    else:
        shared[name] = _DEFAULTS[name](random) if name in _DEFAULTS else _change(random, name, shared.get(name))


def _moved(random: Random, value: Value, _: list[str]) -> None:
    """Write the default where it is used, or leave out what the default says anyway."""
    shared = value.get("defaults", {})
    for row in value["questions"]:
        for name, item in shared.items():
            if row.get(name, item) == item and random.random() < 0.7:
                row.pop(name, None) if name in row else row.update({name: item})


def _rows(random: Random, value: Value, _: list[str]) -> None:
    rows = value["questions"]
    how = random.choice(["add", "drop", "rename", "turn", "id"])
    if how == "add":
        rows.insert(random.randrange(len(rows) + 1), question(random, f"q{random.randrange(4, 9)}"))
    elif how == "drop" and len(rows) > 1:
        rows.pop(random.randrange(len(rows)))
    elif how == "rename":
        row, name = random.choice(rows), f"n{random.randrange(9)}"
        if random.random() < 0.7 and "x_source" not in row:
            row["x_source"] = {"renamed_from": row["id"]}
        row["id"] = name
    elif how == "turn":
        rows.reverse()
    else:
        value[random.choice(["title", "strange", "x_note"])] = random.choice(["a", "b"])
    if len({row["id"] for row in rows}) < len(rows):
        rows.pop()


_EDITS: list[Callable[[Random, Value, list[str]], None]] = [
    _key,
    _key,
    _key,
    _key,
    *[_defaults] * 3,
    _moved,
    _moved,
    _rows,
    _rows,
]
