"""Finds every subschema with its place, where references lead, and those that lead in circles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from evalstore.languages.limits import SCHEMAS
from evalstore.languages.schemas.guard import Flaw, Pointer

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
SCHEMA_MAP_KEYWORDS = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)

# Keywords that describe a schema and fail no value; no dialect asserts `format` unless asked to.
ANNOTATIONS = frozenset(
    {"title", "description", "$comment", "examples", "default", "deprecated", "format"}
    | {"readOnly", "writeOnly"}
)
# In addition, what names a schema, or contains schemas for others to refer to.
IDLE_KEYWORDS = ANNOTATIONS | {"$schema", "$id", "$defs", "definitions"}

# With one of these, other schemas may have evaluated a property or an item of the same value.
LOOKING_KEYWORDS = frozenset(("allOf", "anyOf", "dependentSchemas", "if", "oneOf", *REFERENCES))

# Keywords whose schemas are applied to the same value (in-place applicators).
_IN_PLACE_KEYWORDS = frozenset(
    ("allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then")
)


@dataclass(frozen=True, slots=True)
class Subschema:
    """One subschema that is a mapping; `document` is the nearest around it with a name (`$id`)."""

    pointer: Pointer
    schema: dict[str, Any]
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaParts:
    """A schema taken apart.

    `targets` has the schema that a reference leads to, by keyword and its mapping's `id()`.
    """

    subschemas: tuple[Subschema, ...]
    targets: Mapping[tuple[str, int], Any]
    flaws: tuple[Flaw, ...]


def find_subschemas(schema: Any, id_key: str) -> SchemaParts:
    """Return the subschemas of a schema free of aliases.

    `id_key` is the keyword by which its dialect names a document.

    A mapping that no keyword leads to is a subschema if a reference does.
    """
    subschemas: dict[int, Subschema] = {}
    targets: dict[tuple[str, int], Any] = {}
    names: dict[tuple[int, str], dict[str, Any]] = {}
    flaws: list[Flaw] = []
    # One round per generation: references are followed to mappings that no keyword has led to yet.
    unvisited = [Subschema((), schema, schema)] if isinstance(schema, dict) else []
    for _ in range(SCHEMAS.keywords + 1):
        if not unvisited:
            break
        reached = list(_iterate_reachable(unvisited, id_key, subschemas))
        for subschema in reached:
            for name in _iterate_anchors(subschema, id_key):
                names[id(subschema.document), name] = subschema.schema
        unvisited = []
        for subschema, keyword, ref in _iterate_references(reached):
            target = _resolve_reference(subschema.document, ref, names)
            if not isinstance(target, dict | bool):
                flaws.append(_make_reference_flaw(subschema, keyword, ref))
                continue
            targets[keyword, id(subschema.schema)] = target
            if isinstance(target, dict) and id(target) not in subschemas:
                unvisited.append(
                    Subschema((*subschema.pointer, keyword), target, subschema.document)
                )
    if unvisited:
        return SchemaParts(tuple(subschemas.values()), targets, (_make_depth_flaw(unvisited[0]),))
    flaws += [*_find_ambiguous_references(subschemas.values()), *_find_loops(subschemas, targets)]
    return SchemaParts(tuple(subschemas.values()), targets, tuple(flaws))


def iterate_subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[Pointer, Any]]:
    """Yield the schemas that the keywords of a schema contain, each with its pointer from there."""
    for name in SINGLE_SCHEMA_KEYWORDS:
        if name in schema:
            yield (name,), schema[name]
    for name in SCHEMA_LIST_KEYWORDS:
        if isinstance(schema.get(name), list):
            yield from (((name, index), item) for index, item in enumerate(schema[name]))
    for name in SCHEMA_MAP_KEYWORDS:
        if isinstance(schema.get(name), dict):
            yield from (((name, inner), item) for inner, item in schema[name].items())


def _iterate_reachable(
    roots: Iterable[Subschema], id_key: str, subschemas: dict[int, Subschema]
) -> Iterator[Subschema]:
    """Yield what the keywords of some subschemas lead to, and note it in `subschemas` by `id()`."""
    waiting = [*roots]
    while waiting:
        subschema = waiting.pop()
        if id(subschema.schema) in subschemas:
            continue
        subschemas[id(subschema.schema)] = subschema
        yield subschema
        # In the order in which they are written, which is the order in which flaws are reported.
        waiting.extend(reversed([*_iterate_inner(subschema, id_key)]))


def _iterate_inner(subschema: Subschema, id_key: str) -> Iterator[Subschema]:
    for steps, schema in iterate_subschemas(subschema.schema):
        if isinstance(schema, dict):
            document = schema if _is_document(schema, id_key) else subschema.document
            yield Subschema((*subschema.pointer, *steps), schema, document)


def _is_document(schema: dict[str, Any], id_key: str) -> bool:
    name = schema.get(id_key)
    return isinstance(name, str) and not name.startswith("#")


def _iterate_anchors(subschema: Subschema, id_key: str) -> Iterator[str]:
    """Yield the plain names that references may use; before 2019 they were in the id."""
    old = subschema.schema.get(id_key)
    if isinstance(old, str) and old.startswith("#"):
        yield old[1:]
    for keyword in ("$anchor", "$dynamicAnchor"):
        if isinstance(name := subschema.schema.get(keyword), str):
            yield name


def _iterate_references(subschemas: Iterable[Subschema]) -> Iterator[tuple[Subschema, str, str]]:
    for subschema in subschemas:
        for keyword in REFERENCES:
            if isinstance(ref := subschema.schema.get(keyword), str):
                yield subschema, keyword, ref


def _resolve_reference(
    document: dict[str, Any], ref: str, names: Mapping[tuple[int, str], dict[str, Any]]
) -> Any:
    if not ref.startswith("#"):
        return None
    fragment = unquote(ref[1:])
    if fragment and not fragment.startswith("/"):
        return names.get((id(document), fragment))
    node: Any = document
    # A JSON Pointer (RFC 6901); an index of more than nine digits is outside any list.
    for step in fragment.split("/")[1:]:
        if isinstance(node, dict):
            node = node.get(step.replace("~1", "/").replace("~0", "~"))
        elif isinstance(node, list) and step.isdecimal() and int(step[:9]) < len(node):
            node = node[int(step[:9])]
        else:
            return None
    return node


def _make_reference_flaw(subschema: Subschema, keyword: str, ref: str) -> Flaw:
    pointer = (*subschema.pointer, keyword)
    if ref.startswith("#"):
        return Flaw(
            pointer,
            f"the reference {ref!r} does not lead to a schema",
            "fix it, or define its target in $defs",
        )
    return Flaw(
        pointer,
        f"the schema refers to {ref!r}",
        "evalstore reads only references within the schema (#…)",
    )


def _find_ambiguous_references(subschemas: Iterable[Subschema]) -> Iterator[Flaw]:
    """Yield the dynamic references if there are several documents.

    They depend on how a document was reached.
    """
    if len({id(subschema.document) for subschema in subschemas}) > 1:
        for subschema, keyword, ref in _iterate_references(subschemas):
            if keyword != "$ref":
                yield Flaw(
                    (*subschema.pointer, keyword),
                    f"{keyword} {ref!r} is in one of several documents",
                    "write $ref",
                )


def _find_loops(
    subschemas: Mapping[int, Subschema], targets: Mapping[tuple[str, int], Any]
) -> Iterator[Flaw]:
    """Yield a cycle of references to the same value, or a chain that is too long to apply."""
    # Edges lead from a schema to those that it applies to the same value, directly or by reference.
    graph = {node: [*_iterate_in_place(one.schema, targets)] for node, one in subschemas.items()}
    try:
        order = [*TopologicalSorter(graph).static_order()]
    except CycleError as error:
        cycle = {*error.args[1]}
        subschema = next(subschema for node, subschema in subschemas.items() if node in cycle)
        yield Flaw(
            subschema.pointer,
            "a reference leads back to itself without looking deeper",
            "remove the cycle",
        )
        return
    depths: dict[int, int] = {}
    for node in order:
        depths[node] = 1 + max((depths[inner] for inner in graph.get(node, ())), default=-1)
        if depths[node] > SCHEMAS.keywords and node in subschemas:
            yield _make_depth_flaw(subschemas[node])
            return


def _make_depth_flaw(subschema: Subschema) -> Flaw:
    message = f"more than {SCHEMAS.keywords} schemas lead on to each other from here"
    return Flaw(subschema.pointer, message, "shorten the chain", stops=True)


def _iterate_in_place(
    schema: dict[str, Any], targets: Mapping[tuple[str, int], Any]
) -> Iterator[int]:
    inner = [item for steps, item in iterate_subschemas(schema) if steps[0] in _IN_PLACE_KEYWORDS]
    inner += [targets.get((keyword, id(schema))) for keyword in ("$ref", "$recursiveRef")]
    yield from (id(item) for item in inner if isinstance(item, dict))
