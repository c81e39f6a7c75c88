"""Lists the ways not to meet one constraint, each as constraints that a value can be built from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import combinations, islice
from typing import Any

from evalstore.schema_inclusion import arrays, objects
from evalstore.schema_inclusion.constraints import (
    NUMBERS,
    TYPES,
    Constraint,
    ValueSet,
    deny_constraint,
    deny_schemas,
    intersect_schemas,
    list_constraints,
    make_type_constraint,
)
from evalstore.schema_inclusion.evaluation import select_item_schema
from evalstore.schema_inclusion.normalization import NormalSchema
from evalstore.schema_inclusion.strings import find_matching_texts, find_unmatched_texts, is_pattern_found

Constraints = tuple[Constraint, ...]
Alternatives = Iterator[Constraints]
ValueFinder = Callable[[ValueSet], Iterator[Any]]

# A constraint of this builder alone: two items are one value.
EQUAL_ITEMS = Constraint("two equal items", None, "two equal items")
# Names that a schema hardly writes, and how many of the names that are found are tried.
_FRESH_NAMES = ("x", "other")
_NAME_LIMIT = 4


def iterate_violations(value_set: ValueSet, constraint: Constraint, find: ValueFinder) -> Alternatives:
    """Yield the ways in which values of a set may fail to meet a constraint; `find` finds values of a set."""
    if constraint.name == "propertyNames":
        yield from _violate_property_names(value_set, constraint.value, find)
    elif constraint.name == "shape":
        yield from _violate_properties(value_set, constraint.value, find)
    elif constraint.name in _VIOLATIONS:
        yield from _VIOLATIONS[constraint.name](value_set, constraint.value)
    else:
        yield deny_constraint(constraint) or ()  # where nothing is known, whatever there is in the set


def _list_all(*schemas: NormalSchema) -> Constraints:
    return tuple(constraint for schema in schemas for constraint in list_constraints(schema))


def _make_alternative(type_: str, **keywords: Any) -> Alternatives:
    yield _list_all({"type": [type_], **keywords})


def _violate_type(_: ValueSet, types: frozenset[str]) -> Alternatives:
    yield from ((make_type_constraint({type_}),) for type_ in sorted(TYPES - types))


def _violate_multiple(_: ValueSet, unit: int | Decimal) -> Alternatives:
    # Every second multiple of the half is none of the whole.
    yield (make_type_constraint({"fraction"}), *list_constraints({"multipleOf": Decimal(unit) / 2}))
    yield (make_type_constraint(NUMBERS),)


def _violate_pattern(value_set: ValueSet, pattern: str) -> Alternatives:
    texts = find_unmatched_texts(pattern, value_set.get_all("pattern"))
    if texts:
        yield from _make_alternative("string", enum=list(texts))
    yield from _make_alternative("string")


def _violate_required(_: ValueSet, names: list[str]) -> Alternatives:
    for name in names:
        yield from _make_alternative("object", properties={name: False})


def _violate_dependent_required(_: ValueSet, dependent: Mapping[str, list[str]]) -> Alternatives:
    for name, names in dependent.items():
        for other in names:
            yield from _make_alternative("object", required=[name], properties={other: False})


def _violate_property_names(value_set: ValueSet, schema: NormalSchema, find: ValueFinder) -> Alternatives:
    refused_names = intersect_schemas([*value_set.get_all("propertyNames"), {"type": ["string"], "not": schema}])
    for name in (*_list_written_names(value_set), *islice(find(refused_names), _NAME_LIMIT)):
        yield from _make_alternative("object", required=[name])


def _violate_properties(value_set: ValueSet, shape: list[Any], find: ValueFinder) -> Alternatives:
    properties, patterns, rest = shape
    for name, schema in properties.items():
        yield from _violate_property(value_set, name, schema)
    for pattern, schema in patterns.items():
        for name in dict.fromkeys((*find_matching_texts(pattern), *_list_written_names(value_set), *_FRESH_NAMES)):
            if is_pattern_found(pattern, name):
                yield from _violate_property(value_set, name, schema)
    # A name that no keyword writes shows what `additionalProperties` refuses.
    if rest is not True:
        names = intersect_schemas([*value_set.get_all("propertyNames"), {"type": ["string"]}])
        for name in dict.fromkeys((*_list_written_names(value_set), *_FRESH_NAMES, *islice(find(names), _NAME_LIMIT))):
            if name not in properties:
                yield from _violate_property(value_set, name, rest)


def _violate_property(value_set: ValueSet, name: str, schema: NormalSchema) -> Alternatives:
    if not objects.project_name(value_set, name).has_all_of(schema):
        yield from _make_alternative("object", required=[name], properties={name: {"not": schema}})


def _list_written_names(value_set: ValueSet) -> list[str]:
    written = {name for shape in value_set.get_all("shape") for name in shape[0]}
    return sorted(written | objects.find_required_names(value_set))


def _violate_unevaluated(value_set: ValueSet, schema: dict[str, Any]) -> Alternatives:
    written = {name for one in (schema, *value_set.get_all("unevaluated")) for name in one.get("properties", {})}
    for name in dict.fromkeys((*sorted(written), *_list_written_names(value_set), *_FRESH_NAMES)):
        yield from _make_alternative("object", required=[name])
    longest = max((len(first) for first, _ in value_set.get_all("list")), default=0)
    yield from _make_alternative("array", minItems=1 + longest)


def _violate_items(value_set: ValueSet, list_: list[Any]) -> Alternatives:
    most = max(len(first) for first, _ in (list_, *value_set.get_all("list")))
    for index in range(most + 1):
        schema = select_item_schema(list_, index)
        if not arrays.project_index(value_set, index).has_all_of(schema):
            yield from _make_alternative("array", minItems=index + 1, prefixItems=[*[True] * index, {"not": schema}])


def _violate_contains(_: ValueSet, contains: list[Any]) -> Alternatives:
    schema, least, most = contains
    if least:
        yield from _make_alternative("array", items={"not": schema})
    if least > 1:
        yield from _make_alternative("array", contains=schema, minContains=least - 1, maxContains=least - 1)
    if most is not None:
        yield from _make_alternative("array", contains=schema, minContains=most + 1)


def _violate_unique_items(_: ValueSet, __: Any) -> Alternatives:
    yield (make_type_constraint({"array"}), EQUAL_ITEMS)


def _violate_one_of(_: ValueSet, schemas: list[NormalSchema]) -> Alternatives:
    yield deny_schemas(schemas)
    yield from (_list_all(*pair) for pair in combinations(schemas, 2))


_VIOLATIONS: Mapping[str, Callable[[ValueSet, Any], Alternatives]] = {
    "type": _violate_type,
    "multipleOf": _violate_multiple,
    "pattern": _violate_pattern,
    "uniqueItems": _violate_unique_items,
    "list": _violate_items,
    "contains": _violate_contains,
    "unevaluated": _violate_unevaluated,
    "required": _violate_required,
    "dependentRequired": _violate_dependent_required,
    "oneOf": _violate_one_of,
}
