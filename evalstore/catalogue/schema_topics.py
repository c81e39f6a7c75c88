"""Reads the schemas as topics: every artifact, kind of check and key, explained with an example."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any

from evalstore.catalogue.shapes import describe_shape, follow_reference
from evalstore.languages.schemas import Schema, compile_schema
from evalstore.model import Kind
from evalstore.model.check_schemas import list_check_kinds
from evalstore.places import find_resource_folder

# Root of a path -> the schema of that file; a check has a separate root for its kind.
FILES = {**{str(kind): str(kind) for kind in Kind}, "settings": "evalstore", "accepted": "accepted"}
_BASES = {
    "rubric": "base/rubric"
}  # without the kinds' own keys, which are topics below their kinds
_MISSING = object()


class TopicSort(StrEnum):
    """What a topic is: a file that people write, a kind of check, or a key in either."""

    FILE = "file"
    KIND = "kind"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """One key of a mapping: its name, the first sentence about it, and whether it is required."""

    name: str
    sentence: str
    required: bool


@dataclass(frozen=True, slots=True)
class SchemaTopic:
    """What a schema says at a path, such as `rubric.scoring.missing` or `regex.pattern`.

    `example` is a value that it accepts, and `document` shows it in its place: a part of the file
    at the root of the path (for a kind, of a rubric), with the keys that it needs next to it.
    `default` is its JSON, None if there is none.
    """

    path: str
    sort: TopicSort
    description: str
    shape: str
    required: bool
    default: str | None
    keys: tuple[SchemaKey, ...]
    example: Any
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path.rpartition(".")[2]


@cache
def load_topics() -> Mapping[str, SchemaTopic]:
    """Return every topic by its path: files, then kinds, each before its keys."""
    topics: dict[str, SchemaTopic] = {}
    for root, name in FILES.items():
        topics |= load_file_topics(root, _BASES.get(root, name))
    for kind in list_check_kinds():
        schema = read_schema(f"checks/{kind}")
        topics |= _map_topics(
            _SchemaNode(schema, schema, kind, TopicSort.KIND, _wrap_check, schema["examples"][0])
        )
    return topics


def load_file_topics(root: str, name: str) -> Mapping[str, SchemaTopic]:
    """Return the topics of one schema, whose paths begin with `root`: the file, then its keys."""
    schema = read_schema(name)
    return _map_topics(
        _SchemaNode(schema, schema, root, TopicSort.FILE, dict, schema["examples"][0])
    )


@cache
def read_schema(name: str) -> Mapping[str, Any]:
    """Return a schema by its name below schema/: `judge`, `checks/regex`, `output/diff`."""
    path = find_resource_folder("schema") / f"{name}.schema.json"
    schema: Mapping[str, Any] = json.loads(path.read_text("utf-8"), parse_float=Decimal)
    return schema


@dataclass(frozen=True, slots=True)
class _SchemaNode:
    """A subschema without references, its path, a value for it, and how documents contain it."""

    schema: Mapping[str, Any]
    node: Mapping[str, Any]
    path: str
    sort: TopicSort
    wrap: Callable[[Any], Mapping[str, Any]]
    example: Any
    required: bool = False

    @property
    def holder(self) -> _SchemaNode:
        """The node that has the keys: for a list of mappings, or mappings by name, one of them."""
        items, entries = self.node.get("items"), self.node.get("additionalProperties")
        if isinstance(entries, dict) and "properties" in (
            inner := follow_reference(self.schema, entries)
        ):
            name, example = next(iter(self.example.items()))
            return replace(
                self, node=inner, example=example, wrap=lambda value: self.wrap({name: value})
            )
        if not isinstance(items, dict):
            return self
        inner = follow_reference(self.schema, items)
        found = next((one for one in self.example if isinstance(one, dict)), None)
        example = choose_example(self.schema, inner) if found is None else found
        return replace(
            self, node=inner, example=example, wrap=lambda value: self.wrap([value])
        ).holder

    def make_child(self, name: str) -> _SchemaNode:
        """Return the node for a key of this one, with an example's value and what it needs."""
        node = follow_reference(self.schema, self.node["properties"][name])
        known = [
            one for one in (*self.node.get("examples", ()), self.example) if isinstance(one, dict)
        ]
        fitting = next((one for one in known if name in one), None)
        value = choose_example(self.schema, node) if fitting is None else fitting[name]
        required = name in self.node.get("required", ())

        def wrap(inner: Any) -> Mapping[str, Any]:
            allowing = (one for one in known if self._allows(one, name, inner))
            shown = fitting if fitting is not None else next(allowing, known[0])
            return self.wrap({**self._choose_beside(name, shown), name: inner})

        path = f"{self.path}.{name}"
        return _SchemaNode(self.schema, node, path, TopicSort.KEY, wrap, value, required)

    def _allows(self, example: Mapping[str, Any], name: str, inner: Any) -> bool:
        """Whether an example of a file, without a key that depends on others, allows it."""
        is_open = self.sort is TopicSort.FILE and name not in example
        if not is_open or not _list_dependencies(self.node, name):
            return False
        return not list(_compile_file(self.path).find_violations({**example, name: inner}))

    def _choose_beside(self, name: str, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what an example has next to a key.

        Within a file it is what the key depends on, else everything that fits.
        """
        if self.sort is TopicSort.FILE:
            needed = _list_dependencies(self.node, name)
            needed |= _list_conditional_keys(self.node, {key: example.get(key) for key in needed})
            return {key: value for key, value in example.items() if key in needed}
        if name in example or self.sort is TopicSort.KIND:
            return example
        return {
            key: value for key, value in example.items() if key in self.node.get("required", ())
        }


@cache
def _compile_file(kind: str) -> Schema:
    return compile_schema(read_schema(kind))


def _wrap_check(check: Any) -> Mapping[str, Any]:
    return {"checks": [check]}


def _map_topics(node: _SchemaNode) -> dict[str, SchemaTopic]:
    return {topic.path: topic for topic in _walk_node(node)}


def _walk_node(node: _SchemaNode) -> Iterator[SchemaTopic]:
    # What the kinds of checks have in common is listed below each kind.
    holder = node.holder if node.path != "rubric.checks" else node
    yield _make_topic(node, holder)
    for name in holder.node.get("properties", {}):
        yield from _walk_node(holder.make_child(name))


def _make_topic(node: _SchemaNode, holder: _SchemaNode) -> SchemaTopic:
    default = node.node.get("default", _MISSING)
    return SchemaTopic(
        node.path,
        node.sort,
        node.node["description"],
        describe_shape(node.schema, node.node),
        node.required,
        None if default is _MISSING else json.dumps(default, default=float),
        tuple(_list_keys(holder)),
        node.example,
        node.wrap(node.example),
    )


def _list_dependencies(node: Mapping[str, Any], name: str) -> frozenset[str]:
    direct: list[str] = node.get("dependentRequired", {}).get(name, [])
    return frozenset(direct).union(*(_list_dependencies(node, other) for other in direct))


def _list_conditional_keys(node: Mapping[str, Any], values: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that a file needs because of the values of its other keys."""
    keys: set[str] = set()
    for part in node.get("allOf", ()):
        conditions = part.get("if", {}).get("properties", {})
        if conditions and all(
            name in values and one.get("const") == values[name] for name, one in conditions.items()
        ):
            keys.update(part.get("then", {}).get("required", ()))
    return frozenset(keys)


def _list_keys(node: _SchemaNode) -> Iterator[SchemaKey]:
    for name, child in node.node.get("properties", {}).items():
        description = follow_reference(node.schema, child)["description"]
        yield SchemaKey(
            name, description.partition(". ")[0].rstrip("."), name in node.node.get("required", ())
        )


def choose_example(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Any:
    """Return a value that a node accepts: its own example, else one made from its description."""
    if node.get("examples"):
        return node["examples"][0]
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return next(
            (value for value in node["enum"] if value != node.get("default")), node["enum"][0]
        )
    if node.get("type") == "boolean":
        return not node.get("default", False)
    if "default" in node:
        return node["default"]
    if isinstance(node.get("items"), dict):
        return [choose_example(schema, follow_reference(schema, node["items"]))]
    keys = node.get("properties", {})
    chosen = node.get("required") or list(keys)[:1]
    return {name: choose_example(schema, follow_reference(schema, keys[name])) for name in chosen}
