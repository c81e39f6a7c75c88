"""Questions and datasets, and edits of them: references that graders read, or nobody, and rows that share a default."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random

from tests.diff.fuzz.checks import FACTS, RUBRICS
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.words import PHRASES, TOOLS, Make, one_of, optional, some

_EXPECTED = [
    *(
        "a",
        "b",
        {"a": 1, "b": 2},
        {"a": Decimal("1.0"), "b": 2},
        {"a": 1},
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
    "bundle": one_of("a", "b"),
    "x_note": one_of(1, 2),
    "severity": one_of("low", "high"),
    "title": one_of("a", "b"),
}


def question(random: Random, id_: str = "q0") -> Value:
    """Return a question that says some of what graders read."""
    return {"id": id_, "input": random.choice(PHRASES), **optional(random, KEYS, 0.25)}


def dataset(random: Random) -> Value:
    """Return a dataset whose questions name their rubric, or leave it to the defaults."""
    rows = [question(random, f"q{index}") for index in range(random.choice([1, 2, 2, 3]))]
    for row in rows:
        if random.random() < 0.5:
            row["rubric_ref"] = random.choice(RUBRICS)
    defaults = {"defaults": optional(random, {"rubric_ref": one_of(*RUBRICS), "bundle": one_of("a", "b")}, 0.7)}
    return {"id": "d", "version": "1.0.0", "questions": rows, **(defaults if random.random() < 0.7 else {})}


def edit(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    """Edit a dataset."""
    random.choice(_EDITS)(random, value)


def _key(random: Random, value: Value) -> None:
    row, name = random.choice(value["questions"]), random.choice([*KEYS, "rubric_ref", "rubric_ref", "input"])
    makes = {**KEYS, "rubric_ref": one_of(*RUBRICS), "input": one_of("a", "b")}
    if name in row and name != "input" and random.random() < 0.4:
        del row[name]
    else:
        row[name] = makes[name](random)


def _defaults(random: Random, value: Value) -> None:
    name = random.choice(["rubric_ref", "rubric_ref", "bundle"])
    value.setdefault("defaults", {})[name] = random.choice(RUBRICS if name == "rubric_ref" else ["a", "b"])


def _moved(random: Random, value: Value) -> None:
    """Write the default where it is used, or leave out what the default says anyway."""
    shared = value.get("defaults", {})
    for row in value["questions"]:
        for name, item in shared.items():
            if row.get(name, item) == item and random.random() < 0.7:
                row.pop(name, None) if name in row else row.update({name: item})


def _rows(random: Random, value: Value) -> None:
    rows = value["questions"]
    how = random.choice(["add", "drop", "rename", "turn", "id"])
    if how == "add":
        rows.insert(random.randrange(len(rows) + 1), question(random, f"q{random.randrange(4, 9)}"))
    elif how == "drop" and len(rows) > 1:
        rows.pop(random.randrange(len(rows)))
    elif how == "rename":
        random.choice(rows)["id"] = f"n{random.randrange(9)}"
    elif how == "turn":
        rows.reverse()
    else:
        value[random.choice(["title", "strange", "x_note"])] = random.choice(["a", "b"])
    if len({row["id"] for row in rows}) < len(rows):
        rows.pop()


_EDITS: list[Callable[[Random, Value], None]] = [_key, _key, _key, _key, _defaults, _moved, _moved, _rows, _rows]
