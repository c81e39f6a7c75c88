"""The keywords that go by names and places: which an object may have, and which another keyword has looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import ValidationError

from evalstore.schemas.parts import REFERENCES

Errors = Iterator[Any]


def pattern_properties(validator: Any, schemas: Mapping[str, Any], instance: Any, _: Any) -> Errors:
    """Hold every property to the schemas whose patterns its name matches."""
    for pattern, schema in schemas.items() if isinstance(instance, dict) else ():
        for name, item in instance.items():
            if validator.format_checker.search(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Hold the properties that no name and no pattern beside knows."""
    if isinstance(instance, dict):
        yield from _rest(validator, allowed, instance, _named(validator, instance, schema))


def unevaluated_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Hold the properties that no part of the schema has looked at."""
    if isinstance(instance, dict):
        seen = _named(validator, instance, schema) | _seen_by_parts(validator, instance, schema)
        seen = seen if "additionalProperties" not in schema else {*instance}
        yield from _rest(validator, allowed, instance, seen)


def unevaluated_items(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Hold the items that no part of the schema has looked at."""
    if isinstance(instance, list):
        seen = _indexes(validator, instance, schema) | _seen_by_parts(validator, instance, schema)
        yield from _rest(validator, allowed, dict(enumerate(instance)), seen)


def _rest(validator: Any, allowed: Any, items: Mapping[Any, Any], seen: set[Any]) -> Errors:
    for name, item in items.items():
        if name in seen:
            continue
        validator.format_checker.spend(1)
        if allowed is False:
            yield ValidationError(f"{name!r} is not allowed", path=[name])
        else:
            yield from validator.descend(item, allowed, path=name)


def _seen(validator: Any, instance: Any, schema: Any) -> set[Any]:
    """Return the keys or indexes of `instance` that a schema which holds has looked at."""
    if not isinstance(schema, dict):
        return set()
    if isinstance(instance, list):
        seen = {*range(len(instance))} if "unevaluatedItems" in schema else _indexes(validator, instance, schema)
    elif schema.keys() & {"additionalProperties", "unevaluatedProperties"}:
        seen = {*instance}
    else:
        seen = _named(validator, instance, schema)
    return seen | _seen_by_parts(validator, instance, schema)


def _seen_by_parts(validator: Any, instance: Any, schema: dict[str, Any]) -> set[Any]:
    run, seen = validator.format_checker, set[Any]()
    run.enter(1 + len(instance) // 16 if isinstance(instance, dict | list) else 1)
    for part in _parts_that_hold(validator, instance, schema):
        seen |= _seen(validator, instance, part)
    run.leave()
    return seen


def _parts_that_hold(validator: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the schemas within `schema` that look at `instance` itself; where one must hold, it is taken to."""
    targets, known = validator.format_checker.targets, validator.VALIDATORS
    yield from (targets[name, id(schema)] for name in REFERENCES if name in schema and name in known)
    yield from schema.get("allOf", ())
    yield from (
        part for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if _holds(validator, part, instance)
    )
    if "if" in schema:
        holds = _holds(validator, schema["if"], instance)
        yield schema["if"] if holds else True
        yield schema.get("then" if holds else "else", True)
    yield from (part for name, part in schema.get("dependentSchemas", {}).items() if name in instance)


def _holds(validator: Any, schema: Any, instance: Any) -> bool:
    validator.format_checker.spend(1)
    holds: bool = validator.evolve(schema=schema).is_valid(instance)
    return holds


def _named(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> set[Any]:
    search, patterns = validator.format_checker.search, schema.get("patternProperties", {})
    seen = {name for name in schema.get("properties", {}) if name in instance}
    return seen | {name for pattern in patterns for name in instance if search(pattern, name)}


def _indexes(validator: Any, instance: list[Any], schema: dict[str, Any]) -> set[Any]:
    items = schema.get("items")
    if isinstance(items, list):  # before 2020
        return {*range(len(instance) if "additionalItems" in schema else len(items))}
    if items is not None:
        return {*range(len(instance))}
    seen = {*range(len(schema.get("prefixItems", ())))}
    if "contains" in schema and "prefixItems" in validator.VALIDATORS:  # since 2020
        seen |= {index for index, item in enumerate(instance) if _holds(validator, schema["contains"], item)}
    return seen
