"""The keywords of JSON Schema as evalstore applies them: counted, exact in numbers, patterns by the guard's engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from attrs import evolve
from jsonschema import ValidationError, validators

from evalstore.schemas import places
from evalstore.schemas.parts import REFERENCES
from evalstore.schemas.plain import key

Errors = Iterator[Any]
Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]

# An error travels up through every keyword around it, and one that is kept takes a kilobyte or two.
_ERROR_STEPS = 5


@cache
def validator_class(dialect: Any, *, literal: bool) -> Any:
    """Return the library's validator of a dialect with our keywords in place of its own; `literal` as in `Guard`."""
    table = {name: _counted(_OURS.get(name, keyword), _COSTS.get(name)) for name, keyword in dialect.VALIDATORS.items()}
    for name in REFERENCES:
        if name in dialect.VALIDATORS:
            table[name] = _counted(_reference(name, dialect.VALIDATORS[name]), None)
    types = dialect.TYPE_CHECKER
    types = types if literal else types.redefine("integer", lambda _, value: _is_integer(value))
    made: Any = validators.extend(dialect, table, type_checker=types)  # type: ignore[no-untyped-call]  # has no types
    # The library's own goes by a part's `$schema` to a class of its own, and so to its own keywords.
    made.evolve = evolve
    return made


def _counted(keyword: Keyword, cost: Callable[[Any, Any], int] | None) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        run = validator.format_checker
        run.enter(1 if cost is None else 1 + cost(value, instance))
        try:
            for error in keyword(validator, value, instance, schema) or ():
                run.spend(_ERROR_STEPS)
                yield error
        finally:
            run.leave()

    return apply


def _size(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


# What a keyword of the library does once an item, a part or a name, and no keyword within counts; names cost little.
_COSTS: Mapping[str, Callable[[Any, Any], int]] = {
    **dict.fromkeys(
        ("items", "prefixItems", "additionalItems", "contains", "propertyNames"), lambda _, instance: _size(instance)
    ),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda value, _: _size(value)),
    **dict.fromkeys(("properties", "required", "dependentSchemas"), lambda value, _: _size(value) // 16),
    **dict.fromkeys(
        ("dependencies", "dependentRequired"), lambda value, _: _size(value) + sum(map(_size, value.values()))
    ),
}


def _is_integer(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    return hasattr(value, "as_integer_ratio") and value.as_integer_ratio()[1] == 1


def _reference(keyword: str, of_library: Keyword) -> Keyword:
    """Go where the reference was found to lead; only a dialect's own schema refers to what it does not hold."""

    def apply(validator: Any, ref: Any, instance: Any, schema: Any) -> Errors:
        targets = validator.format_checker.targets
        if (keyword, id(schema)) in targets:
            yield from validator.descend(instance, targets[keyword, id(schema)])
        else:
            yield from of_library(validator, ref, instance, schema) or ()

    return apply


def _pattern(validator: Any, pattern: str, instance: Any, _: Any) -> Errors:
    if isinstance(instance, str) and not validator.format_checker.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unique_items(validator: Any, wanted: bool, instance: Any, _: Any) -> Errors:  # noqa: FBT001  # a keyword's signature
    if not wanted or not isinstance(instance, list):
        return
    seen = set()
    for item in instance:
        validator.format_checker.spend(1 + _weight(item) // 8)
        seen.add(key(item))
    if len(seen) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _weight(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_weight, value.values()))
    return len(value) + sum(map(_weight, value)) if isinstance(value, list) else 0


def _const(validator: Any, wanted: Any, instance: Any, _: Any) -> Errors:
    if not _equal(wanted, instance, validator.format_checker):
        yield ValidationError(f"{instance!r} is not {wanted!r}")


def _enum(validator: Any, allowed: list[Any], instance: Any, _: Any) -> Errors:
    validator.format_checker.spend(len(allowed) // 16)
    if not any(_equal(one, instance, validator.format_checker) for one in allowed):
        yield ValidationError(f"{instance!r} is not one of {allowed!r}")


def _equal(one: Any, other: Any, run: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        run.spend(1 + len(one) // 4)
        return one.keys() == other.keys() and all(_equal(item, other[name], run) for name, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        run.spend(1 + len(one) // 4)
        return len(one) == len(other) and all(_equal(*pair, run) for pair in zip(one, other, strict=True))
    return bool(one == other)


def _multiple_of(_: Any, unit: Any, instance: Any, __: Any) -> Errors:
    if isinstance(instance, bool) or not hasattr(instance, "as_integer_ratio"):
        return
    if (Fraction(instance) / Fraction(unit)).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {unit!r}")


_OURS: Mapping[str, Keyword] = {
    "additionalProperties": places.additional_properties,
    "const": _const,
    "enum": _enum,
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": places.pattern_properties,
    "unevaluatedItems": places.unevaluated_items,
    "unevaluatedProperties": places.unevaluated_properties,
    "uniqueItems": _unique_items,
}
