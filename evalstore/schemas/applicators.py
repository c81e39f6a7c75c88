"""Applies the keywords about names and indexes: which may be there, and which no other keyword has evaluated.

What JSON Schema collects as annotations is found anew here: the library keeps none. "Looked at" is its "evaluated".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import ValidationError

from evalstore.schemas.subschemas import LOOKING_KEYWORDS, REFERENCES

Errors = Iterator[Any]


def apply_pattern_properties(validator: Any, schemas: Mapping[str, Any], instance: Any, _: Any) -> Errors:
    """Apply to every property the schemas whose patterns its name matches."""
    for pattern, schema in schemas.items() if isinstance(instance, dict) else ():
        for name, item in instance.items():
            if validator.format_checker.search_pattern(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def apply_additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Apply a schema to the properties that `properties` and `patternProperties` beside it do not name."""
    if isinstance(instance, dict) and allowed is not True:
        yield from _apply_to_rest(validator, allowed, instance, _find_evaluated_names(validator, instance, schema))


def apply_unevaluated_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Apply a schema to the properties that no part of the schema around it has evaluated."""
    if isinstance(instance, dict) and allowed is not True:
        evaluated = _find_evaluated_names(validator, instance, schema)
        # Where no other schema looks at the object, it takes the steps of `additionalProperties`.
        if LOOKING_KEYWORDS & schema.keys():
            evaluated |= _find_evaluated_by_parts(validator, instance, schema)
        # `additionalProperties` beside it has evaluated all that is left.
        evaluated = evaluated if "additionalProperties" not in schema else {*instance}
        yield from _apply_to_rest(validator, allowed, instance, evaluated)


def apply_unevaluated_items(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Apply a schema to the items that no part of the schema around it has evaluated."""
    if isinstance(instance, list):
        evaluated = _find_evaluated_indexes(validator, instance, schema)
        evaluated |= _find_evaluated_by_parts(validator, instance, schema)
        yield from _apply_to_rest(validator, allowed, dict(enumerate(instance)), evaluated)


def _apply_to_rest(validator: Any, allowed: Any, items: Mapping[Any, Any], evaluated: set[Any]) -> Errors:
    for name, item in items.items():
        if name in evaluated:
            continue
        validator.format_checker.budget.spend(1)
        if allowed is False:
            yield ValidationError(f"{name!r} is not allowed", path=[name])
        else:
            yield from validator.descend(item, allowed, path=name)


def _find_evaluated(validator: Any, instance: Any, schema: Any) -> set[Any]:
    """Return the keys or indexes of `instance` that a schema has evaluated, by which it is valid."""
    if not isinstance(schema, dict):
        return set()
    if isinstance(instance, list):
        is_complete = "unevaluatedItems" in schema
        evaluated = {*range(len(instance))} if is_complete else _find_evaluated_indexes(validator, instance, schema)
    elif schema.keys() & {"additionalProperties", "unevaluatedProperties"}:
        evaluated = {*instance}
    else:
        evaluated = _find_evaluated_names(validator, instance, schema)
    return evaluated | _find_evaluated_by_parts(validator, instance, schema)


def _find_evaluated_by_parts(validator: Any, instance: Any, schema: dict[str, Any]) -> set[Any]:
    run, evaluated = validator.format_checker, set[Any]()
    run.enter_keyword(1 + len(instance) // 16 if isinstance(instance, dict | list) else 1)
    for part in _iterate_applied_parts(validator, instance, schema):
        evaluated |= _find_evaluated(validator, instance, part)
    run.leave_keyword()
    return evaluated


def _iterate_applied_parts(validator: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the schemas within `schema` that look at `instance` itself; where one must hold, it is taken to."""
    targets, keywords = validator.format_checker.targets, validator.VALIDATORS
    yield from (targets[name, id(schema)] for name in REFERENCES if name in schema and name in keywords)
    # These must hold for the whole to be valid, so they are not tried again; the branches of a choice are.
    yield from schema.get("allOf", ())
    yield from (
        part for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if _is_valid(validator, part, instance)
    )
    if "if" in schema:
        is_valid = _is_valid(validator, schema["if"], instance)
        yield schema["if"] if is_valid else True
        yield schema.get("then" if is_valid else "else", True)
    yield from (part for name, part in schema.get("dependentSchemas", {}).items() if name in instance)


def _is_valid(validator: Any, schema: Any, instance: Any) -> bool:
    validator.format_checker.budget.spend(1)
    is_valid: bool = validator.evolve(schema=schema).is_valid(instance)
    return is_valid


def _find_evaluated_names(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> set[Any]:
    search, patterns = validator.format_checker.search_pattern, schema.get("patternProperties", {})
    evaluated = {name for name in schema.get("properties", {}) if name in instance}
    return evaluated | {name for pattern in patterns for name in instance if search(pattern, name)}


def _find_evaluated_indexes(validator: Any, instance: list[Any], schema: dict[str, Any]) -> set[Any]:
    items = schema.get("items")
    if isinstance(items, list):  # before 2020
        return {*range(len(instance) if "additionalItems" in schema else len(items))}
    if items is not None:
        return {*range(len(instance))}
    evaluated = {*range(len(schema.get("prefixItems", ())))}
    if "contains" in schema and "prefixItems" in validator.VALIDATORS:  # since 2020
        evaluated |= {index for index, item in enumerate(instance) if _is_valid(validator, schema["contains"], item)}
    return evaluated
