"""Schemas are compiled once, never fetched, bounded by steps, and never end in a library's exception."""

from __future__ import annotations

import http.server
import math
import threading
from bisect import bisect_left
from decimal import Decimal
from functools import reduce
from typing import Any

import pytest

from evalstore.budget import OutOfStepsError
from evalstore.errors import SchemaError
from evalstore.languages.limits import SCHEMAS
from evalstore.languages.schemas import TRUSTED, Guard, compile_schema, find_flaws

STRICT = Guard(20_000, TRUSTED.read_patterns)
OPEN = Guard(math.inf, TRUSTED.read_patterns)


def test_every_violation_with_its_pointer() -> None:
    schema = compile_schema({"properties": {"a": {"type": "string"}, "b": {"minimum": 1}}, "required": ["c"]})
    assert {(v.pointer, v.keyword) for v in schema.find_violations({"a": 1, "b": 0})} == {
        ((), "required"),
        (("a",), "type"),
        (("b",), "minimum"),
    }


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"type": 5}, ("type",), "broken"),
        ({"properties": []}, ("properties",), "broken"),
        ({"properties": {"a": {"type": "strng"}}}, ("properties", "a", "type"), "'strng' is not one of"),
        ({"multipleOf": 0}, ("multipleOf",), "broken"),
        ({"$ref": 5}, ("$ref",), "broken"),
        (5, (), "broken"),
        ({"$ref": "http://127.0.0.1:9/x"}, ("$ref",), "refers to 'http"),
        ({"$ref": "file:///etc/passwd"}, ("$ref",), "refers to 'file"),
        ({"items": {"$ref": "other.json"}}, ("items", "$ref"), "refers to 'other.json'"),
        ({"$defs": {"a": {"$dynamicRef": "other#a"}}}, ("$defs", "a", "$dynamicRef"), "refers to 'other#a'"),
        ({"$id": "https://a.b/c", "$ref": "c#/$defs/d", "$defs": {"d": {}}}, ("$ref",), "refers to 'c#"),
        ({"allOf": [{"$ref": "#/$defs/absent"}]}, ("allOf", 0, "$ref"), "does not lead to a schema"),
        ({"$ref": "#name"}, ("$ref",), "does not lead to a schema"),
        ({"$ref": "#/enum/0", "enum": [1]}, ("$ref",), "does not lead to a schema"),
        ({"$ref": "#"}, (), "leads back"),
        ({"allOf": [{"not": {"$ref": "#/allOf/0"}}]}, ("allOf", 0), "leads back"),
        ({"$schema": "https://example.com/mine"}, ("$schema",), "is not known"),
        ({"items": {"$schema": "http://json-schema.org/draft-07/schema#"}}, ("items", "$schema"), "another dialect"),
        ({"$defs": {"a": {"$id": "a", "$dynamicRef": "#b", "$dynamicAnchor": "b"}}}, ("$defs", "a", "$dynamicRef"), "several"),
    ],
)  # fmt: skip
def test_a_flaw_is_told_at_its_place(schema: Any, pointer: tuple[str | int, ...], said: str) -> None:
    (flaw,) = find_flaws(schema, STRICT)
    assert flaw.pointer == pointer
    assert said in flaw.message
    assert flaw.hint
    with pytest.raises(SchemaError, match=said):
        compile_schema(schema)


def test_what_only_looks_like_a_reference_is_data() -> None:
    schema = compile_schema({"properties": {"$ref": {"const": {"$ref": "http://a.b/c"}}}, "enum": [{"$ref": "d"}, {}]})
    assert schema.is_valid({})
    assert not schema.is_valid({"$ref": "d"})


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"a b": {"type": "integer"}}, "$ref": "#/$defs/a%20b"},
        {"$defs": {"a/b~": {"type": "integer"}}, "$ref": "#/$defs/a~1b~0"},
        {"$defs": {"a": {"$anchor": "b", "type": "integer"}}, "$ref": "#b"},
        {"$defs": {"a": {"$dynamicAnchor": "b", "type": "integer"}}, "$dynamicRef": "#b"},
        {"components": {"schemas": {"a": {"$ref": "#/components/b"}}, "b": {"type": "integer"}}, "$ref": "#/components/schemas/a"},
        {"allOf": [{"type": "integer"}, {"$ref": "#/allOf/0"}]},
        {"$id": "https://a.b/c", "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$defs": {"a": {"$id": "d", "$ref": "#/$defs/b", "$defs": {"b": {"type": "integer"}}}}, "$ref": "#/$defs/a"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$id": "#b", "type": "integer"}}, "$ref": "#b"},
        {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"a": {"id": "#b", "type": "integer"}}, "$ref": "#b"},
    ],
)  # fmt: skip
def test_references_within_the_schema_are_followed(schema: dict[str, Any]) -> None:
    assert compile_schema(schema).is_valid(1)
    assert not compile_schema(schema).is_valid("a")


def test_a_schema_may_refer_to_itself_where_it_looks_deeper() -> None:
    schema = compile_schema({"type": "object", "additionalProperties": {"$ref": "#"}}, STRICT)
    assert schema.is_valid({"a": {"b": {}}})
    assert not schema.is_valid({"a": {"b": 1}})


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"multipleOf": Decimal("0.1")}, Decimal("0.3"), Decimal("0.35")),
        ({"multipleOf": 0.1}, Decimal("0.3"), Decimal("0.35")),
        ({"multipleOf": 3}, 3 * 10**400, 3 * 10**400 + 1),
        ({"multipleOf": Decimal("1E-400")}, 1, Decimal("1E-401")),
        ({"type": "integer"}, Decimal("2.0"), Decimal("123456789012345678901234567890.5")),
        ({"type": "integer"}, Decimal("1E+400"), True),
        ({"minLength": Decimal("2.0")}, "ab", "a"),
        ({"exclusiveMinimum": Decimal("0.1")}, Decimal("0.10000000000000000000000000000001"), Decimal("0.1")),
        ({"maximum": 10**400}, 10**400, 10**400 + 1),
        ({"const": 1}, Decimal("1.0"), True),
        ({"const": {"a": [1, False]}}, {"a": [Decimal("1.0"), False]}, {"a": [1, 0]}),
        ({"enum": [0, [1]]}, [Decimal("1.0")], False),
        ({"enum": [{"a": 1}]}, {"a": 1}, {"a": 1, "b": 1}),
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}, ["n", "1/1"], None], [1, Decimal("1.0")]),
        ({"uniqueItems": True}, [{"a": 1}, {"a": True}], [{"a": 1, "b": 2}, {"b": 2, "a": Decimal("1.00")}]),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 1, "exclusiveMaximum": True}, 0, 1),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, 1, Decimal("1.0")),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}], "additionalItems": False}, [1], [1, 2]),
        ({"format": "email"}, "anything", None),
        (True, 1, None),
        (False, None, 1),
    ],
)
def test_values_are_compared_exactly(schema: Any, yes: Any, no: Any) -> None:
    compiled = compile_schema(schema, OPEN)
    assert yes is None or compiled.is_valid(yes)
    assert no is None or not compiled.is_valid(no)


def test_our_own_schemas_take_an_integer_as_it_is_written() -> None:
    assert not compile_schema({"type": "integer"}).is_valid(Decimal("2.0"))
    assert compile_schema({"type": "integer"}).is_valid(2)
    assert compile_schema({"minLength": Decimal("2.0")}).is_valid("ab")


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"allOf": [{"properties": {"a": {}}}]}, {"a": 1}, {"b": 1}),
        ({"anyOf": [{"required": ["a"], "properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 1}, {"a": 1, "c": 1}),
        ({"oneOf": [{"const": 1}, {"patternProperties": {"^x": {}}}]}, {"x": 1}, {"y": 1}),
        ({"if": {"required": ["a"]}, "then": {"properties": {"a": {}}}, "else": {"properties": {"b": {}}}}, {"b": 1}, {"a": 1, "b": 1}),
        ({"$defs": {"d": {"properties": {"a": {}}}}, "$ref": "#/$defs/d"}, {"a": 1}, {"b": 1}),
        ({"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}}, {"a": 1, "b": 1}, {"b": 1}),
        ({"allOf": [{"additionalProperties": {"type": "integer"}}]}, {"a": 1}, {"a": "b"}),
        ({"not": {"not": {"properties": {"a": {}}}}}, {}, {"a": 1}),
        ({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}}, {"a": 1}, {"a": 2}),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "b"}),
        ({"allOf": [{"unevaluatedProperties": {"type": "integer"}}]}, {"a": 1}, {"a": "b"}),
        ({"dependentSchemas": {"x": {"properties": {"a": {}}}}}, {}, {"a": 1}),
    ],
)  # fmt: skip
def test_what_no_part_has_looked_at_is_unevaluated(schema: dict[str, Any], yes: Any, no: Any) -> None:
    compiled = compile_schema({**schema, "unevaluatedProperties": False})
    assert compiled.is_valid(yes)
    assert not compiled.is_valid(no)


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"prefixItems": [{}]}, [1], [1, 2]),
        ({"allOf": [{"items": True}]}, [1], None),
        ({"allOf": [{"unevaluatedItems": {"type": "integer"}}]}, [1], ["a"]),
        ({"contains": {"const": 1}}, [1, 1], [1, 2]),
        ({"anyOf": [{"prefixItems": [{"const": 1}, {}]}, {"prefixItems": [{}]}]}, [1, 2], [2, 1]),
        ({"if": {"prefixItems": [{"const": 1}, {}]}, "else": {"prefixItems": [{}]}}, [1, 2], [2, 1]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{}]}, [1], [1, 2]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "contains": {}, "minContains": 0}, [], [1]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "allOf": [{"items": [{}], "additionalItems": True}]}, [1, 2], None),
    ],
)  # fmt: skip
def test_items_that_no_part_has_looked_at_are_unevaluated(schema: dict[str, Any], yes: Any, no: Any) -> None:
    compiled = compile_schema({**schema, "unevaluatedItems": False})
    assert compiled.is_valid(yes)
    assert no is None or not compiled.is_valid(no)


def test_a_key_that_is_not_allowed_is_named_by_its_pointer() -> None:
    schema = compile_schema({"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False})
    found = schema.find_first_violation({"a": 1, "xy": 2, "b": 3})
    assert found is not None
    assert (found.pointer, found.keyword, found.of_key) == (("b",), "additionalProperties", True)


def test_no_reference_is_fetched() -> None:
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/"
        for schema in ({"$ref": base + "a"}, {"$id": base, "$ref": "b"}, {"$id": base, "allOf": [{"$ref": "c#/d"}]}):
            with pytest.raises(SchemaError):
                list(compile_schema(schema).find_violations({}))
        server.shutdown()
    assert hits == []


def doubled(keyword: str, last: Any) -> dict[str, Any]:
    steps = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)}
    return {"$defs": {**steps, "d20": last}, "$ref": "#/$defs/d0"}


def unevaluated(_: int, inner: dict[str, Any]) -> dict[str, Any]:
    return {"unevaluatedProperties": {"type": "null"}, "anyOf": [inner, inner, {"properties": {"a": {}}}]}


NESTED: dict[str, Any] = reduce(lambda inner, n: unevaluated(n, inner), range(5), {})
MANY = [str(n) for n in range(2000)]
# Each within the steps that its own check takes, and beyond them with its value.
BOMBS: dict[str, tuple[Any, Any]] = {
    "all_of_a_million": (doubled("allOf", {}), 1),
    "any_of_a_million": (doubled("anyOf", {"type": "string"}), 1),
    "one_of_a_million": (doubled("oneOf", False), 1),
    "unevaluated_within": ({"items": NESTED}, [{"b": 1, "a": 2}] * 50),
    "items_again_and_again": ({"allOf": [{"items": {"minimum": n}} for n in range(-9, 0)]}, [1] * 2000),
    "contains_again_and_again": ({"allOf": [{"contains": {"minimum": n}} for n in range(2, 11)]}, [1] * 2000),
    "names_again_and_again": (
        {"allOf": [{"propertyNames": {"maxLength": n}} for n in range(9, 18)]},
        dict.fromkeys(MANY),
    ),
    "other_properties": (
        {"allOf": [{"additionalProperties": {"not": {"const": n}}} for n in range(9)]},
        dict.fromkeys(MANY),
    ),
    "properties_by_pattern": ({"patternProperties": {f"^{n}$": {} for n in range(9)}}, dict.fromkeys(MANY)),
    "long_texts": ({"allOf": [{"items": {"pattern": "a"}}] * 2}, ["b" * 25_600] * 99),
    "values_by_items": ({"items": {"enum": [[n] for n in range(30)]}}, [[-1]] * 2000),
    "short_values_by_items": ({"items": {"enum": [*range(900)]}}, [-1] * 300),
    "long_values_by_items": ({"items": {"const": [0] * 900}}, [[*[0] * 899, 1]] * 99),
    "wide_values_by_items": ({"items": {"const": dict.fromkeys(MANY[:900])}}, [dict.fromkeys(MANY[:900])] * 99),
    "unique_of_large": ({"allOf": [{"uniqueItems": True}] * 9}, [[[*range(300)]] for _ in range(99)]),
    "names_that_are_there": ({"items": {"required": MANY[:900]}}, [dict.fromkeys(MANY[:900])] * 999),
    "names_that_are_missing": ({"items": {"required": MANY[:900]}}, [{}] * 9),
    "properties_that_are_missing": (
        {"items": {"properties": {key: {"type": "null"} for key in MANY[:90]}}},
        [{}] * 3000,
    ),
    "names_that_need_names": ({"items": {"dependentRequired": {"1": MANY[:900]}}}, [dict.fromkeys(MANY[:900])] * 30),
    "branches_of_nothing": ({"items": {"anyOf": [False] * 99}}, [1] * 300),
    "errors_that_are_kept": ({"anyOf": [{"items": {"type": "string"}}] * 2}, [1] * 900),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_after_so_many_steps(name: str) -> None:
    schema, value = BOMBS[name]
    compiled = compile_schema(schema, Guard(15_000, TRUSTED.read_patterns))
    with pytest.raises(SchemaError, match="too many steps"):
        list(compiled.find_violations(value))


@pytest.mark.heavy
def test_a_schema_or_value_that_nests_too_deep_says_so() -> None:
    chain: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(SCHEMAS.keywords + 1)}
    with pytest.raises(SchemaError, match=f"more than {SCHEMAS.keywords} schemas lead on"):
        compile_schema({"$defs": {**chain, f"d{SCHEMAS.keywords + 1}": {}}, "$ref": "#/$defs/d0"})
    with pytest.raises(SchemaError, match=f"more than {SCHEMAS.keywords} keywords"):
        compile_schema({"items": {"$ref": "#"}}).is_valid(reduce(lambda inner, _: [inner], range(120), []))
    with pytest.raises(SchemaError, match="nested deeper than"):
        compile_schema(reduce(lambda inner, _: {"not": inner}, range(5000), {}))
    circle: dict[str, Any] = {}
    circle["not"] = circle
    with pytest.raises(SchemaError, match="nested deeper than"):
        compile_schema(circle)
    deep = reduce(lambda inner, _: [inner], range(5000), 1)
    with pytest.raises(SchemaError, match="is nested too deeply"):
        compile_schema({}).is_valid(deep)


def test_a_schema_with_more_values_than_a_file_may_have_is_refused() -> None:
    with pytest.raises(SchemaError, match="more than 200,000 values"):
        compile_schema({"enum": [*range(200_001)]})


def test_what_the_library_does_not_expect_is_a_sentence() -> None:
    with pytest.raises(SchemaError, match="cannot be applied"):
        compile_schema({"maximum": 1}).is_valid(Decimal("NaN"))


@pytest.mark.heavy
def test_the_same_value_takes_the_same_steps_each_time() -> None:
    schema = {"items": {"type": "object", "properties": {"a": {"type": "string", "pattern": "a"}}, "required": ["a"]}}
    value = [{"a": "a"}] * 50
    enough = bisect_left(range(10_000), True, key=lambda steps: _suffice(schema, value, steps))
    assert not _suffice(schema, value, enough - 1)
    assert 200 < enough < 1000
    assert all(_suffice(schema, value, enough) for _ in range(3))
    compiled = compile_schema(schema, OPEN)
    assert compiled.is_valid(value)
    assert compiled.is_valid(value)


def _suffice(schema: Any, value: Any, steps: int) -> bool:
    compiled = compile_schema(schema)
    run = compiled._start_run()
    run.budget.left = steps
    try:
        return next(compiled._validator.evolve(format_checker=run).iter_errors(value), None) is None
    except OutOfStepsError:
        return False


def test_a_message_holds_little_of_a_large_value() -> None:
    value = {"a": ["x" * 1000] * 1000, "b": "y" * 100_000, "c": Decimal("1.50")}
    schema = compile_schema({"type": "array", "properties": {"b": {"pattern": "^x"}, "c": {"type": "string"}}})
    assert {found.message for found in schema.find_violations(value)} == {
        "{…} is not of type 'array'",
        f"'{'y' * 79}…' does not match '^x'",
        "1.50 is not of type 'string'",
    }


@pytest.mark.parametrize("place", ["$defs", "elsewhere"])
def test_a_chain_of_references_that_nothing_can_apply_is_told_before_anything_is_checked(place: str) -> None:
    chain: dict[str, Any] = {f"d{number}": {"$ref": f"#/{place}/d{number + 1}"} for number in range(20_000)}
    schema = {"$ref": f"#/{place}/d0", place: {**chain, "d20000": {"type": 5}}}
    no_steps = Guard(0, TRUSTED.read_patterns)
    (flaw,) = find_flaws(schema, no_steps)
    assert flaw.message == "more than 200 schemas lead on to each other from here"
    assert len(flaw.pointer) <= 202
    short = {"$ref": f"#/{place}/d0", place: {f"d{n}": {"$ref": f"#/{place}/d{n + 1}"} for n in range(150)}}
    short[place]["d150"] = {"type": "string"}
    assert compile_schema(short).is_valid("x")
