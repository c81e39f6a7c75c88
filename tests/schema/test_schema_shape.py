"""What every schema must have: an address, words, valid defaults, no way out of the file."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

Read = Callable[[str], dict[str, Any]]
Check = Callable[[dict[str, Any], Any], list[str]]

SCHEMA = Path(__file__).parents[2] / "schema"
# What people write; what the commands answer (output/) is closed and needs no help for an editor.
WRITTEN = [path.relative_to(SCHEMA) for path in SCHEMA.rglob("*.schema.json") if "output" not in path.parts]
NAMES = sorted(path.as_posix().removesuffix(".schema.json") for path in WRITTEN)
KINDS = [name for name in NAMES if name.startswith("checks/")]
COMMON = {"id", "kind", "threshold", "negate", "description", "metadata"}
DIALECTS_DIFFER = re.compile(r"\\[dDwWsSbBAZzph]|\(\?")

each_schema = pytest.mark.parametrize("name", NAMES)


def nodes(schema: dict[str, Any], at: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every subschema that an author can meet, with its pointer."""
    yield at, schema
    for keyword in ("properties", "patternProperties", "$defs"):
        for key, value in schema.get(keyword, {}).items():
            yield from nodes(value, f"{at}/{keyword}/{key}")
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(keyword), dict):
            yield from nodes(schema[keyword], f"{at}/{keyword}")


def found(schema: Any, keyword: str) -> Iterator[str]:
    """Yield the values of a keyword anywhere in a schema, conditions included, examples left out."""
    if isinstance(schema, dict):
        if isinstance(schema.get(keyword), str):
            yield schema[keyword]
        for key, value in schema.items():
            if key not in {"examples", "default"}:
                yield from found(value, keyword)
    elif isinstance(schema, list):
        for value in schema:
            yield from found(value, keyword)


def resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Give a node together with what its reference says; its own words win."""
    if "$ref" not in node:
        return node
    return resolved(schema, schema["$defs"][node["$ref"].removeprefix("#/$defs/")]) | node


@each_schema
def test_it_is_a_schema_with_an_address_and_words(name: str, schema_of: Read) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"urn:evalstore:schema:{name.replace('/', ':')}"
    assert schema["title"]
    assert schema["description"]


@each_schema
def test_its_references_are_found_by_its_name(name: str, schema_of: Read) -> None:
    schema = schema_of(name)
    registry: Registry[Any] = Resource.from_contents(schema) @ Registry()
    resolver = registry.resolver(base_uri=schema["$id"])
    for ref in set(found(schema, "$ref")):
        assert resolver.lookup(ref).contents == resolver.lookup(schema["$id"] + ref).contents


@each_schema
def test_it_stands_alone(name: str, schema_of: Read) -> None:
    schema = schema_of(name)
    refs = set(found(schema, "$ref"))
    assert {ref for ref in refs if not ref.startswith("#/$defs/")} == set()
    assert {ref.removeprefix("#/$defs/") for ref in refs} - set(schema.get("$defs", {})) == set()


@each_schema
def test_every_property_is_described(name: str, schema_of: Read) -> None:
    schema = schema_of(name)
    properties = [(at, node) for at, node in nodes(schema) if re.search(r"/(properties|patternProperties)/[^/]+$", at)]
    assert properties
    assert [at for at, node in properties if not resolved(schema, node).get("description")] == []


@each_schema
def test_defaults_and_examples_are_valid(name: str, schema_of: Read, complaints: Check) -> None:
    schema = schema_of(name)
    for at, node in nodes(schema):
        values = [*node.get("examples", []), *([node["default"]] if "default" in node else [])]
        whole = {**node, "$defs": schema.get("$defs", {})}
        assert {at: [said for value in values for said in complaints(whole, value)]} == {at: []}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lock"])  # which nobody writes but evalstore
def test_extra_keys_are_allowed(name: str, schema_of: Read) -> None:
    assert [at for at, node in nodes(schema_of(name)) if node.get("additionalProperties") is False] == []


@each_schema
def test_patterns_mean_the_same_in_every_dialect(name: str, schema_of: Read) -> None:
    assert [pattern for pattern in found(schema_of(name), "pattern") if DIALECTS_DIFFER.search(pattern)] == []


@each_schema
def test_no_identifier_ends_in_a_newline(name: str, schema_of: Read) -> None:
    ending_in = [node for _, node in nodes(schema_of(name)) if node.get("pattern", "").startswith("^[a-z]")]
    assert [node["pattern"] for node in ending_in if "\\n" not in node["not"]["pattern"]] == []


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_the_common_keys(name: str, schema_of: Read) -> None:
    schema = schema_of(name)
    assert set(schema["properties"]) >= COMMON
    assert list(schema["patternProperties"]) == ["^x_", "^(title|tags|owner)$"]
    assert schema["unevaluatedProperties"] is False
    assert f"checks/{schema['properties']['kind']['const']}" == name
    assert "kind" in schema["required"]


def test_shared_definitions_are_the_same_in_every_file(schema_of: Read) -> None:
    seen: dict[str, Any] = {}
    for name in NAMES:
        for key, definition in schema_of(name).get("$defs", {}).items():
            if key != "check":  # the base's is the one that the generator extends
                assert seen.setdefault(key, definition) == definition, f"{name}: $defs/{key}"
