"""The fast pass over our own schemas says exactly what the library says."""

import itertools
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.languages.schemas import compile_predicate, compile_schema
from evalstore.lint.shapes import CHECK, QUESTION, ROOTS, load_open_schema
from evalstore.model.check_schemas import list_check_kinds

CASES = Path(__file__).parent / "cases"
NAMES = [*ROOTS.values(), CHECK, QUESTION, "accepted", "evalstore", *(f"checks/{kind}" for kind in list_check_kinds())]
FOLDERS = {"base/rubric": "rubric", CHECK: "checks", QUESTION: "dataset"}
OTHERS = (None, True, 0, -1, 3, Decimal("0.1"), Decimal("1.0"), Decimal("1e99"), "", "a", "A b", "rubric/a@1.0.0", [], {}, ["a", "a"], [1, Decimal("1.0"), True], {"kind": "regex"})  # fmt: skip


def mutate(value: Any, others: Iterator[Any]) -> Iterator[Any]:
    """Yield a value with one of its parts replaced by something else, or left out: each part, twice."""
    yield next(others)
    if isinstance(value, dict):
        for key, item in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in mutate(item, others))
    elif isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in mutate(item, others))


def list_values(name: str) -> Iterator[Any]:
    others = itertools.cycle(OTHERS)
    for path in sorted((CASES / FOLDERS.get(name, name)).rglob("*.yaml")):
        value = read_yaml(path.read_bytes(), path.name).value
        for whole in value["questions"] if name == QUESTION and isinstance(value.get("questions"), list) else [value]:
            yield whole
            yield from mutate(whole, others)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_the_library_says(name: str) -> None:
    predicate, schema = compile_predicate(load_open_schema(name)), compile_schema(load_open_schema(name))
    assert predicate, "has a keyword that no predicate stands for: the slow pass is always taken"
    answers = [(predicate(value), schema.is_valid(value), value) for value in list_values(name)]
    assert [value for fast, slow, value in answers if fast is not slow] == []
    assert {fast for fast, _, _ in answers} == {True, False}


def test_what_it_does_not_know_is_left_to_the_library() -> None:
    assert compile_predicate({"items": {"contains": {"type": "string"}}}) is None
    assert compile_predicate({"$ref": "other.json"}) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"allOf": [{"properties": {"a": {}}}, {"patternProperties": {"^b": {}}}], "unevaluatedProperties": {"type": "null"}},
        {"$ref": "#/$defs/d", "$defs": {"d": {"additionalProperties": {"type": "integer"}}}, "unevaluatedProperties": False},
        {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}, "unevaluatedProperties": False},
        {"allOf": [{"if": {"required": ["a"]}, "then": {"properties": {"a": {}}, "unevaluatedProperties": {"type": "null"}}}], "unevaluatedProperties": False},
        {"properties": {"a": {}}, "additionalProperties": {"type": "null"}, "unevaluatedProperties": False},
    ],
)  # fmt: skip
def test_what_no_part_has_evaluated_is_told_as_the_library_tells_it(schema: Any) -> None:
    predicate, library = compile_predicate(schema), compile_schema(schema)
    assert predicate
    values = [dict(zip("abc", items, strict=True)) for items in itertools.product((1, 2, None), repeat=3)]
    values += [{name: value[name] for name in names} for value in values for names in ("", "a", "b", "c", "ab", "bc")]
    assert [value for value in values if predicate(value) is not library.is_valid(value)] == []


def test_numbers_are_exact_and_a_definition_may_name_itself() -> None:
    nested = {"$ref": "#/$defs/a", "$defs": {"a": {"minimum": json.loads("0.1"), "items": {"$ref": "#/$defs/a"}}}}
    predicate: Callable[[Any], bool] | None = compile_predicate(nested)
    assert predicate
    assert predicate([Decimal("0.1"), [Decimal("0.1"), 1]])
    assert not predicate([[Decimal("0.09999999999999999999")]])
