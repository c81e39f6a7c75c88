"""The parts of a schema: every subschema with its place, where its references lead, and whether one leads back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from evalstore.schemas.result import Flaw, Pointer

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

# Keywords whose value is a schema, a list of schemas, or a mapping of names to schemas.
SINGLE_SCHEMA_KEYWORDS = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
SCHEMA_LIST_KEYWORDS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
SCHEMA_MAP_KEYWORDS = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")

# Those that look at the same value again.
_IN_PLACE = frozenset(("allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"))


@dataclass(frozen=True, slots=True)
class Part:
    """One subschema that is a mapping; `document` is the nearest around it that has a name (`$id`) of its own."""

    pointer: Pointer
    schema: dict[str, Any]
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """A schema taken apart; `targets` has the schema that a reference leads to, by keyword and its mapping's `id()`."""

    found: tuple[Part, ...]
    targets: Mapping[tuple[str, int], Any]
    flaws: tuple[Flaw, ...]


def take_apart(schema: Any, id_key: str) -> Parts:
    """Return the parts of a schema free of aliases; `id_key` is how its dialect names a document.

    A place that no keyword knows is a part when a reference leads there.
    """
    found: dict[int, Part] = {}
    targets: dict[tuple[str, int], Any] = {}
    flaws: list[Flaw] = []
    fresh = [Part((), schema, schema)] if isinstance(schema, dict) else []
    while fresh:
        walked = list(_walk(fresh, id_key, found))
        names = {(id(part.document), name): part.schema for part in found.values() for name in _names(part, id_key)}
        fresh = []
        for part, keyword, ref in _references(walked):
            target = _target(part.document, ref, names)
            if not isinstance(target, dict | bool):
                flaws.append(_astray(part, keyword, ref))
                continue
            targets[keyword, id(part.schema)] = target
            if isinstance(target, dict) and id(target) not in found:
                fresh.append(Part((*part.pointer, keyword), target, part.document))
    return Parts(tuple(found.values()), targets, (*flaws, *_dynamic(found.values()), *_loops(found, targets)))


def children(schema: Mapping[str, Any]) -> Iterator[tuple[Pointer, Any]]:
    """Yield the schemas that the keywords of a schema hold, each with the way to it."""
    for name in SINGLE_SCHEMA_KEYWORDS:
        if name in schema:
            yield (name,), schema[name]
    for name in SCHEMA_LIST_KEYWORDS:
        if isinstance(schema.get(name), list):
            yield from (((name, index), item) for index, item in enumerate(schema[name]))
    for name in SCHEMA_MAP_KEYWORDS:
        if isinstance(schema.get(name), dict):
            yield from (((name, inner), item) for inner, item in schema[name].items())


def _walk(roots: Iterable[Part], id_key: str, found: dict[int, Part]) -> Iterator[Part]:
    waiting = [*roots]
    while waiting:
        part = waiting.pop()
        if id(part.schema) in found:
            continue
        found[id(part.schema)] = part
        yield part
        inner = [
            Part((*part.pointer, *steps), schema, schema if _is_document(schema, id_key) else part.document)
            for steps, schema in children(part.schema)
            if isinstance(schema, dict)
        ]
        waiting.extend(reversed(inner))


def _is_document(schema: dict[str, Any], id_key: str) -> bool:
    name = schema.get(id_key)
    return isinstance(name, str) and not name.startswith("#")


def _names(part: Part, id_key: str) -> Iterator[str]:
    """Yield the plain names that references may use; before 2019 they stood in the id."""
    old = part.schema.get(id_key)
    if isinstance(old, str) and old.startswith("#"):
        yield old[1:]
    for keyword in ("$anchor", "$dynamicAnchor"):
        if isinstance(name := part.schema.get(keyword), str):
            yield name


def _references(parts: Iterable[Part]) -> Iterator[tuple[Part, str, str]]:
    for part in parts:
        for keyword in REFERENCES:
            if isinstance(ref := part.schema.get(keyword), str):
                yield part, keyword, ref


def _target(document: dict[str, Any], ref: str, names: Mapping[tuple[int, str], dict[str, Any]]) -> Any:
    if not ref.startswith("#"):
        return None
    fragment = unquote(ref[1:])
    if fragment and not fragment.startswith("/"):
        return names.get((id(document), fragment))
    node: Any = document
    for step in fragment.split("/")[1:]:
        if isinstance(node, dict):
            node = node.get(step.replace("~1", "/").replace("~0", "~"))
        elif isinstance(node, list) and step.isdecimal() and int(step[:9]) < len(node):
            node = node[int(step[:9])]
        else:
            return None
    return node


def _astray(part: Part, keyword: str, ref: str) -> Flaw:
    pointer = (*part.pointer, keyword)
    if ref.startswith("#"):
        return Flaw(pointer, f"the reference {ref!r} leads to no schema", "mend it, or define in $defs what it names")
    return Flaw(pointer, f"the schema refers to {ref!r}", "only references within the schema (#…) are read")


def _dynamic(parts: Iterable[Part]) -> Iterator[Flaw]:
    """Yield the references that go by how a document was reached, where there are several."""
    if len({id(part.document) for part in parts}) > 1:
        for part, keyword, ref in _references(parts):
            if keyword != "$ref":
                yield Flaw((*part.pointer, keyword), f"{keyword} {ref!r} stands among several documents", "write $ref")


def _loops(found: Mapping[int, Part], targets: Mapping[tuple[str, int], Any]) -> Iterator[Flaw]:
    """Yield a reference that leads back to itself while it looks at one value: nothing can apply it."""
    graph = {node: list(_in_place(part.schema, targets)) for node, part in found.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = {*error.args[1]}
        part = next(part for node, part in found.items() if node in circle)
        yield Flaw(part.pointer, "a reference leads back to itself without looking deeper", "break the circle")


def _in_place(schema: dict[str, Any], targets: Mapping[tuple[str, int], Any]) -> Iterator[int]:
    inner = [item for steps, item in children(schema) if steps[0] in _IN_PLACE]
    inner += [targets.get((keyword, id(schema))) for keyword in ("$ref", "$recursiveRef")]
    yield from (id(item) for item in inner if isinstance(item, dict))
