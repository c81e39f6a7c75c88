"""Untrusted schemas: every bomb ends in a sentence, and plain jsonschema gives the same verdicts where it ends."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import reduce
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referencing import Registry

from evalstore.errors import SchemaError
from evalstore.languages.schemas import untrusted as untrusted_schemas
from evalstore.languages.schemas.untrusted import STEPS, compile_untrusted, find_untrusted_flaws

SLOW = r"^(a*)(a*)(a*)\1\2\3$"
NEVER = "a" * 85 + "b"


def doubled(keyword: str, last: Any) -> dict[str, Any]:
    steps = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)}
    return {"$defs": {**steps, "d20": last}, "$ref": "#/$defs/d0"}


BOMBS: dict[str, tuple[Any, Any]] = {
    "a_pattern": ({"pattern": SLOW}, NEVER),
    "a_name": ({"propertyNames": {"pattern": SLOW}}, {NEVER: 1}),
    "properties_by_pattern": ({"patternProperties": {SLOW: {}}}, {NEVER: 1}),
    "the_other_properties": ({"patternProperties": {SLOW: True}, "additionalProperties": False}, {NEVER: 1}),
    "the_unevaluated": ({"allOf": [{"patternProperties": {SLOW: True}}], "unevaluatedProperties": False}, {NEVER: 1}),
    "in_another_dialect": ({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"pattern": SLOW}}, [NEVER]),
    "in_the_root_again": ({"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": SLOW, "items": {"$ref": "#"}}, [NEVER]),
    "many_that_are_slow": ({"items": {"not": {"pattern": SLOW}}}, ["a" * 60 + "b"] * 200),
    "many_that_are_long": ({"items": {"not": {"pattern": "b" + "a" * 600}}}, ["a" * 100_000] * 20),
    "a_million_parts": (doubled("allOf", {}), 1),
    "a_million_branches": (doubled("anyOf", {"type": "string"}), 1),
    "dicts_that_are_unique": ({"allOf": [{"uniqueItems": True}] * 100}, [{"a": n} for n in range(9000)]),
    "numbers_that_collide": ({"allOf": [{"uniqueItems": True}] * 100}, [n * (2**61 - 1) for n in range(90_000)]),
    "more_patterns_than_can_be": ({"anyOf": [{"pattern": f"a{{9999}}{n}"} for n in range(99)]}, "a"),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A small part of what a schema may take tells the same.
    monkeypatch.setattr(untrusted_schemas, "_GUARD", replace(untrusted_schemas._GUARD, steps=STEPS // 200))
    schema, value = BOMBS[name]
    with pytest.raises(SchemaError) as stopped:
        compile_untrusted(schema).is_valid(value)
    assert stopped.value.message.isprintable()
    assert len(stopped.value.message) < 200


@pytest.mark.heavy
def test_an_ordinary_output_is_far_from_the_limit() -> None:
    row = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"minimum": 0}}}
    compiled = compile_untrusted({"type": "array", "items": row})
    assert compiled.is_valid([{"a": "x", "b": 1}] * 5_000)
    assert STEPS >= 500_000


def test_patterns_are_those_of_the_regex_check() -> None:
    schema = compile_untrusted({"pattern": r"^\p{Lu}\d$"})
    assert schema.is_valid("Ä٣\n")
    assert not schema.is_valid("ä3")


def test_every_flaw_is_told_not_only_the_first() -> None:
    flaws = find_untrusted_flaws(
        {"pattern": "(", "items": {"$ref": "a"}, "properties": {"b": {"pattern": "[[:alpha:]]"}}}
    )
    assert [flaw.pointer for flaw in flaws] == [("items", "$ref"), ("pattern",), ("properties", "b", "pattern")]


NAMES = st.sampled_from(["a", "b", "ab", ""])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, -1, 3, "", "a", "ab", "b1"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
COUNTS = st.integers(0, 3)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
PATTERNS = st.sampled_from(["a", "^a", "b$", "^$", "[0-9]", "a|b", "^(a|aa)+$"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    parts = st.lists(inner, min_size=1, max_size=3)
    table = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": COUNTS,
        "exclusiveMaximum": COUNTS,
        "multipleOf": st.integers(1, 3),
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": PATTERNS,
        "items": inner,
        "prefixItems": parts,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "minItems": COUNTS,
        "uniqueItems": st.booleans(),
        "unevaluatedItems": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "unevaluatedProperties": inner,
        "propertyNames": inner,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "minProperties": COUNTS,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
        "allOf": parts,
        "anyOf": parts,
        "oneOf": parts,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#/$defs/d", "#/$defs/e", "#anchor"]),
        "format": st.just("email"),
    }
    return st.lists(st.sampled_from(sorted(table)), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: table[name] for name in names})
    )


SCHEMAS = st.recursive(st.booleans() | st.just({}), _keywords, max_leaves=8)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    main, first, second = (draw(SCHEMAS) for _ in range(3))
    anchored = {"$anchor": "anchor", "properties": {"a": second}}
    return {"allOf": [main], "$defs": {"d": first, "e": anchored}}


def compared(schema: Any, value: Any) -> tuple[bool | None, bool | None]:
    """Return our verdict and that of the library alone; None where there is none."""
    try:
        ours: bool | None = compile_untrusted(schema).is_valid(value)
    except SchemaError:
        ours = None
    try:
        theirs: bool | None = jsonschema.Draft202012Validator(schema, registry=Registry()).is_valid(value)
    except RecursionError:
        theirs = None
    return ours, theirs


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents(), VALUES)
def test_generated_schemas_answer_as_in_the_library(schema: dict[str, Any], value: Any) -> None:
    ours, theirs = compared(schema, value)
    assert ours is None or ours == theirs
    assert ours is not None or _has_a_loop(schema)


def _has_a_loop(schema: dict[str, Any]) -> bool:
    return any("leads back" in flaw.message for flaw in find_untrusted_flaws(schema))


@pytest.mark.slow
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
@given(documents(), VALUES)
def test_many_generated_schemas_answer_as_in_the_library(schema: dict[str, Any], value: Any) -> None:
    ours, theirs = compared(schema, value)
    assert ours is None or ours == theirs


@pytest.mark.heavy
def test_a_deep_chain_of_references_is_a_sentence_and_no_crash() -> None:
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5000)}
    with pytest.raises(SchemaError, match="more than 200 schemas"):
        compile_untrusted({"$defs": {**chain, "d5000": {}}, "$ref": "#/$defs/d0"}).is_valid(1)


def test_a_tree_as_deep_as_json_may_be_is_held_against_a_schema_of_itself() -> None:
    schema = {"$defs": {"n": {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    assert compile_untrusted(schema).is_valid(reduce(lambda inner, _: {"c": inner}, range(62), {}))
    assert not compile_untrusted(schema).is_valid(reduce(lambda inner, _: {"c": inner}, range(62), Decimal(1)))
