"""Replaces keywords of the library: steps are counted, numbers exact, patterns guarded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from attrs import evolve
from jsonschema import ValidationError, validators

from evalstore.languages.schemas.guard import make_equality_key
from evalstore.languages.schemas.subschemas import LOOKING_KEYWORDS, REFERENCES

Errors = Iterator[Any]
Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]

# Steps beyond one for what a keyword of the library does for each item, part or name without
# counting by itself.
_COSTS: Mapping[str, Callable[[Any, Any], int]] = {
    **dict.fromkeys(
        ("items", "prefixItems", "additionalItems", "contains", "propertyNames"),
        lambda _, instance: _count_parts(instance),
    ),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda value, _: _count_parts(value)),
    **dict.fromkeys(
        ("properties", "required", "dependentSchemas"), lambda value, _: _count_parts(value) // 16
    ),
    **dict.fromkeys(
        ("dependencies", "dependentRequired"),
        lambda value, _: _count_parts(value) + sum(map(_count_parts, value.values())),
    ),
}


def apply_pattern_properties(
    validator: Any, schemas: Mapping[str, Any], instance: Any, _: Any
) -> Errors:
    """Apply to every property the schemas whose patterns match its name."""
    for pattern, schema in schemas.items() if isinstance(instance, dict) else ():
        for name, item in instance.items():
            if validator.format_checker.search_pattern(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def apply_additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Apply a schema to the properties that `properties` and `patternProperties` do not name."""
    if isinstance(instance, dict) and allowed is not True:
        yield from _apply_to_rest(
            validator, allowed, instance, _find_evaluated_names(validator, instance, schema)
        )


def apply_unevaluated_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Errors:
    """Apply a schema to the properties that no part of the schema around it has evaluated."""
    if isinstance(instance, dict) and allowed is not True:
        evaluated = _find_evaluated_names(validator, instance, schema)
        # If no other schema looks at the object, it takes the steps of `additionalProperties`.
        if LOOKING_KEYWORDS & schema.keys():
            evaluated |= _find_evaluated_by_parts(validator, instance, schema)
        # `additionalProperties` next to it has evaluated everything that is left.
        evaluated = evaluated if "additionalProperties" not in schema else {*instance}
        yield from _apply_to_rest(validator, allowed, instance, evaluated)


def apply_unevaluated_items(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    """Apply a schema to the items that no part of the schema around it has evaluated."""
    if isinstance(instance, list):
        evaluated = _find_evaluated_indexes(validator, instance, schema)
        evaluated |= _find_evaluated_by_parts(validator, instance, schema)
        yield from _apply_to_rest(validator, allowed, dict(enumerate(instance)), evaluated)


def _apply_to_rest(
    validator: Any, allowed: Any, items: Mapping[Any, Any], evaluated: set[Any]
) -> Errors:
    for name, item in items.items():
        if name in evaluated:
            continue
        validator.format_checker.budget.spend(1)
        if allowed is False:
            yield ValidationError(f"{name!r} is not allowed", path=[name])
        else:
            yield from validator.descend(item, allowed, path=name)


def _find_evaluated(validator: Any, instance: Any, schema: Any) -> set[Any]:
    """Return the keys or indexes of `instance` that a schema it meets has evaluated."""
    if not isinstance(schema, dict):
        return set()
    if isinstance(instance, list):
        is_complete = "unevaluatedItems" in schema
        evaluated = (
            {*range(len(instance))}
            if is_complete
            else _find_evaluated_indexes(validator, instance, schema)
        )
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
    """Yield the schemas within `schema` for `instance`; those that must hold are assumed to."""
    targets, keywords = validator.format_checker.targets, validator.VALIDATORS
    for name in REFERENCES:
        if name in schema and name in keywords:
            yield targets[name, id(schema)]
    # These must hold for the whole to be valid, so they are not tried again; the branches of a
    # choice are.
    yield from schema.get("allOf", ())
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if _is_valid(validator, part, instance):
            yield part
    if "if" in schema:
        is_valid = _is_valid(validator, schema["if"], instance)
        yield schema["if"] if is_valid else True
        yield schema.get("then" if is_valid else "else", True)
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield part


def _is_valid(validator: Any, schema: Any, instance: Any) -> bool:
    validator.format_checker.budget.spend(1)
    is_valid: bool = validator.evolve(schema=schema).is_valid(instance)
    return is_valid


def _find_evaluated_names(
    validator: Any, instance: dict[str, Any], schema: dict[str, Any]
) -> set[Any]:
    search, patterns = validator.format_checker.search_pattern, schema.get("patternProperties", {})
    evaluated = {name for name in schema.get("properties", {}) if name in instance}
    return evaluated | {name for pattern in patterns for name in instance if search(pattern, name)}


def _find_evaluated_indexes(
    validator: Any, instance: list[Any], schema: dict[str, Any]
) -> set[Any]:
    items = schema.get("items")
    if isinstance(items, list):  # before 2020
        return {*range(len(instance) if "additionalItems" in schema else len(items))}
    if items is not None:
        return {*range(len(instance))}
    evaluated = {*range(len(schema.get("prefixItems", ())))}
    if "contains" in schema and "prefixItems" in validator.VALIDATORS:  # since 2020
        for index, item in enumerate(instance):
            if _is_valid(validator, schema["contains"], item):
                evaluated.add(index)
    return evaluated


@cache
def make_validator_class(dialect: Any, *, literal: bool) -> Any:
    """Return the library's validator of a dialect with our keywords.

    `literal` is as in `Guard`.
    """
    table = {}
    for name, keyword in dialect.VALIDATORS.items():
        if name in REFERENCES:
            table[name] = _wrap_counting(_make_reference_keyword(name, keyword), None)
        elif name != "format":  # an annotation, which takes no step
            table[name] = _wrap_counting(_OWN_KEYWORDS.get(name, keyword), _COSTS.get(name))
    types = dialect.TYPE_CHECKER
    # Under draft-04, 1.0 is not an integer.
    if not literal and dialect is not validators.Draft4Validator:
        types = types.redefine("integer", lambda _, value: _is_integer(value))
    extend: Any = validators.extend  # has no types
    validator_class = extend(dialect, table, type_checker=types)
    # The library's `evolve` chooses another class by a part's `$schema`, and with it the library's
    # keywords instead of ours.
    validator_class.evolve = evolve
    return validator_class


def _wrap_counting(keyword: Keyword, cost: Callable[[Any, Any], int] | None) -> Keyword:
    """Return the keyword as one that takes steps, and more for each error that it yields."""

    def apply_keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        run = validator.format_checker
        run.enter_keyword(1 if cost is None else 1 + cost(value, instance))
        try:
            for error in keyword(validator, value, instance, schema) or ():
                # Each keyword passes an error on to the next one, and a collected error takes a
                # kilobyte or two.
                run.budget.spend(5)
                yield error
        finally:
            run.leave_keyword()

    return apply_keyword


def _count_parts(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_integer(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    return hasattr(value, "as_integer_ratio") and value.as_integer_ratio()[1] == 1


def _make_reference_keyword(keyword: str, of_library: Keyword) -> Keyword:
    """Return the keyword that follows a reference.

    The library's own is for a dialect's own schema.
    """

    def apply_keyword(validator: Any, ref: Any, instance: Any, schema: Any) -> Errors:
        targets = validator.format_checker.targets
        if (keyword, id(schema)) in targets:
            yield from validator.descend(instance, targets[keyword, id(schema)])
        else:
            yield from of_library(validator, ref, instance, schema) or ()

    return apply_keyword


def _apply_pattern(validator: Any, pattern: str, instance: Any, _: Any) -> Errors:
    if isinstance(instance, str) and not validator.format_checker.search_pattern(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _apply_unique_items(
    validator: Any,
    is_unique: bool,  # noqa: FBT001  # a keyword's signature
    instance: Any,
    _: Any,
) -> Errors:
    if not is_unique or not isinstance(instance, list):
        return
    seen = set()
    for item in instance:
        validator.format_checker.budget.spend(1 + _count_nested(item) // 8)
        # A set, not pairs: the library compares all items with one another, which is quadratic.
        seen.add(make_equality_key(item))
    if len(seen) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _count_nested(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_count_nested, value.values()))
    return len(value) + sum(map(_count_nested, value)) if isinstance(value, list) else 0


def _apply_const(validator: Any, constant: Any, instance: Any, _: Any) -> Errors:
    if not _is_listed(validator, [constant], instance):
        yield ValidationError(f"{instance!r} is not {constant!r}")


def _apply_enum(validator: Any, allowed: list[Any], instance: Any, _: Any) -> Errors:
    if not _is_listed(validator, allowed, instance):
        yield ValidationError(f"{instance!r} is not one of {allowed!r}")


def _is_listed(validator: Any, allowed: list[Any], instance: Any) -> bool:
    # In Python 1 == True; in JSON they are two values. The order of a list does not affect the
    # steps.
    keys = validator.format_checker.list_equality_keys(allowed)
    validator.format_checker.budget.spend(len(keys) // 16)
    if isinstance(instance, dict | list):
        if not any(isinstance(value, type(instance)) for value in allowed):
            return False
        validator.format_checker.budget.spend(1 + _count_nested(instance) // 4)
    return make_equality_key(instance) in keys


def _apply_multiple_of(_: Any, unit: Any, instance: Any, __: Any) -> Errors:
    if isinstance(instance, bool) or not hasattr(instance, "as_integer_ratio"):
        return
    # Exact: the library divides floats, and 0.3 is not a multiple of 0.1 there.
    if (Fraction(instance) / Fraction(unit)).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {unit!r}")


_OWN_KEYWORDS: Mapping[str, Keyword] = {
    "additionalProperties": apply_additional_properties,
    "const": _apply_const,
    "enum": _apply_enum,
    "multipleOf": _apply_multiple_of,
    "pattern": _apply_pattern,
    "patternProperties": apply_pattern_properties,
    "unevaluatedItems": apply_unevaluated_items,
    "unevaluatedProperties": apply_unevaluated_properties,
    "uniqueItems": _apply_unique_items,
}
