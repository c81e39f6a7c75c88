"""The first pass over the keys of a value lets nothing through that the walk after it has a finding for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evalstore.lint.keys import _compile_first_pass, _compile_part, _KeyScope, _lint_part, _name_place
from evalstore.lint.wording import CHECK, QUESTION, SETTINGS, list_check_kinds, load_schema

NAMES = [
    QUESTION,
    CHECK,
    SETTINGS,
    "judge",
    "dataset",
    "base/rubric",
    *(f"checks/{kind}" for kind in list_check_kinds()),
]
KEYS = [
    "id",
    "name",
    "input",
    "inptu",
    "expected",
    "format",
    "fromat",
    "facts",
    "value",
    "vlaue",
    "args",
    "role",
    "x_mine",
    "weight",
    "title",
    "prompt",
    "answer",
]


def draw_value(drawn: random.Random, keys: list[str], depth: int = 0) -> Any:
    kind = drawn.randrange(5 if depth < 4 else 2)
    if kind < 2:
        return drawn.choice(["", "json", 1, None, True])
    if kind == 2:
        return [draw_value(drawn, keys, depth + 1) for _ in range(drawn.randrange(3))]
    return {drawn.choice(keys): draw_value(drawn, keys, depth + 1) for _ in range(drawn.randrange(5))}


def find_notes(name: str, value: Any, declared: frozenset[str]) -> list[Any]:
    schema = load_schema(name)
    return list(_lint_part(schema, value, (), _KeyScope(schema, _name_place(name), declared)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_first_pass_lets_through_has_no_finding(name: str, samples: Any) -> None:
    drawn, first_pass = random.Random(name), _compile_first_pass(name)  # noqa: S311  # values for a test
    keys = [*KEYS, *load_schema(name)["properties"]]
    answers = set()
    for _ in range(samples(3000) * 5):
        value, declared = draw_value(drawn, keys), frozenset(drawn.sample(keys, drawn.randrange(3)))
        is_quiet, notes = first_pass is None or first_pass(value, declared), find_notes(name, value, declared)
        assert not (is_quiet and notes), value
        # Rows are what there are many of: none of those that are sound takes the long way.
        assert is_quiet or notes or name != QUESTION, value
        answers.add(is_quiet)
    assert answers == {True, False} or name != QUESTION


def test_a_part_that_holds_itself_is_left_to_the_walk() -> None:
    root: dict[str, Any] = {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}}
    first_pass = _compile_part(root["$defs"]["node"], root, "", 5)
    assert first_pass is not None
    deep: dict[str, Any] = {"nxet": 1}
    assert first_pass({"next": {"next": {}}}, frozenset()) is True
    assert first_pass({"next": {"next": deep}}, frozenset()) is False
    for _ in range(9):
        deep = {"next": deep}
    assert first_pass(deep, frozenset()) is False


def test_the_values_of_a_map_are_looked_at() -> None:
    root = {"additionalProperties": {"properties": {"colour": {}}}}
    first_pass = _compile_part(root, root, "", 5)
    assert first_pass is not None
    assert first_pass({"any": {"colour": 1}}, frozenset()) is False  # left to the walk
    free = {"additionalProperties": {"type": "string"}}
    assert _compile_part(free, free, "", 5)({"any": "x"}, frozenset()) is True  # type: ignore[misc]
