"""Objects in proofs: which names there must and can be, and what stands under each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

from evalstore.schema_inclusion.constraints import NOTHING, ValueSet, intersect_schemas, list_constraints
from evalstore.schema_inclusion.evaluation import evaluate_schema, select_property_schemas
from evalstore.schema_inclusion.normalization import NormalSchema
from evalstore.schema_inclusion.proof import ProofContext
from evalstore.schema_inclusion.strings import ANY_PATTERN

# A name may match any of the patterns that stand in two shapes; more combinations are not gone through.
_PATTERN_LIMIT = 5
_COUNT_CONSTRAINTS = frozenset({"minProperties", "maxProperties", "required"})


def narrow_types(prover: ProofContext, value_set: ValueSet, types: frozenset[str]) -> frozenset[str]:
    """Return the types without objects where what must be there cannot be."""
    if "object" not in types or not value_set.has_any(_COUNT_CONSTRAINTS):
        return types
    least, most = find_counts(prover, value_set)
    if least > most or any(prover.is_empty(project_name(value_set, name)) for name in find_required_names(value_set)):
        return types - {"object"}
    return types


def find_required_names(value_set: ValueSet) -> set[str]:
    """Return the names that an object must have."""
    # The closure of `dependentRequired`: it ends when a round brings no name.
    names = {name for listed in value_set.get_all("required") for name in listed}
    size = -1
    while size < len(names):
        size = len(names)
        names |= {
            name
            for pairs in value_set.get_all("dependentRequired")
            for trigger, dependents in pairs.items()
            if trigger in names
            for name in dependents
        }
    return names


def find_counts(prover: ProofContext, value_set: ValueSet) -> tuple[float, float]:
    """Return the least and the greatest number of properties."""
    names = find_possible_names(prover, value_set)
    least = max((*value_set.get_all("minProperties"), len(find_required_names(value_set))))
    return least, min((*value_set.get_all("maxProperties"), math.inf if names is None else len(names)))


def find_possible_names(prover: ProofContext, value_set: ValueSet) -> frozenset[str] | None:
    """Return the names that an object can have; None where they are not known to be finite."""
    return prover.remember("names", value_set, lambda _: _compute_possible_names(prover, value_set))


def project_name(value_set: ValueSet, name: str) -> ValueSet:
    """Return the values that may stand under a name."""
    found = intersect_schemas(
        schema for shape in value_set.get_all("shape") for schema in select_property_schemas(shape, name)
    )
    is_allowed = all(evaluate_schema(schema, name) is not False for schema in value_set.get_all("propertyNames"))
    return found if is_allowed else found.narrow(NOTHING)


def _compute_possible_names(prover: ProofContext, value_set: ValueSet) -> frozenset[str] | None:
    # Three reasons for a finite set of names: none may be, only the written ones may be, or `propertyNames` lists them.
    lists: list[Collection[str]] = [[]] if 0 in value_set.get_all("maxProperties") else []
    lists += [
        properties
        for properties, patterns, rest in value_set.get_all("shape")
        if not patterns and prover.is_empty(intersect_schemas([rest]))
    ]
    of_names = prover.list_values(_build_name_set(value_set)) if value_set.get_all("propertyNames") else None
    lists += [] if of_names is None else [of_names]
    if not lists:
        return None
    return frozenset(name for name in min(lists, key=len) if not prover.is_empty(project_name(value_set, name)))


def _build_name_set(value_set: ValueSet) -> ValueSet:
    """Return the strings that may be names."""
    return intersect_schemas([*value_set.get_all("propertyNames"), {"type": ["string"]}])


def _entails_properties(prover: ProofContext, value_set: ValueSet, target: list[Any]) -> bool:
    written = (name for shape in value_set.get_all("shape") for name in shape[0])
    names = {*target[0], *find_required_names(value_set), *written}
    possible_names = find_possible_names(prover, value_set)
    for name in sorted(names if possible_names is None else possible_names):
        values = project_name(value_set, name)
        if not all(prover.entails_schema(values, schema) for schema in select_property_schemas(target, name)):
            return False
    return possible_names is not None or _entails_other_names(prover, value_set, target)


def _entails_other_names(prover: ProofContext, value_set: ValueSet, target: list[Any]) -> bool:
    """Whether each name that neither side writes is proved to have what `target` asks, whatever it matches."""
    shapes = value_set.get_all("shape")
    patterns = sorted({pattern for shape in (*shapes, target) for pattern in shape[1]})
    if len(patterns) > _PATTERN_LIMIT:
        return False
    name_patterns = _build_name_set(value_set).get_all("pattern") or [ANY_PATTERN]
    always = {pattern for pattern in patterns if any(prover.implies_pattern(own, pattern) for own in name_patterns)}
    implied = {pattern: {other for other in patterns if prover.implies_pattern(pattern, other)} for pattern in patterns}
    # Each subset of the patterns stands for the names that match just these; a subset that cannot be is left out.
    return all(
        prover.entails_schema(
            intersect_schemas(own for shape in shapes for own in _select_schemas(shape, matched)), schema
        )
        for matched in _iterate_subsets(patterns)
        if always.union(*(implied[pattern] for pattern in matched)).issubset(matched)
        for schema in _select_schemas(target, matched)
    )


def _select_schemas(shape: list[Any], matched: Collection[str]) -> list[NormalSchema]:
    """Return the schemas of a shape for a name that it does not write, by the patterns that the name matches."""
    return [schema for pattern, schema in shape[1].items() if pattern in matched] or [shape[2]]


def _iterate_subsets(items: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _entails_dependent_required(prover: ProofContext, value_set: ValueSet, target: dict[str, list[str]]) -> bool:
    return all(
        prover.entails_schema(
            value_set.narrow(*list_constraints({"type": ["object"], "required": [name]})), {"required": names}
        )
        for name, names in target.items()
    )


def _entails_property_names(prover: ProofContext, value_set: ValueSet, schema: NormalSchema) -> bool:
    names = find_possible_names(prover, value_set)
    if names is not None:
        return all(evaluate_schema(schema, name) is True for name in names)
    # A shape that refuses all other names has only those that it writes, or whose patterns match.
    closed_shapes = [shape for shape in value_set.get_all("shape") if prover.is_empty(intersect_schemas([shape[2]]))]
    if prover.entails_schema(_build_name_set(value_set), schema):
        return True
    return any(_entails_schema_of_names(prover, shape, schema) for shape in closed_shapes)


def _entails_schema_of_names(prover: ProofContext, shape: list[Any], schema: NormalSchema) -> bool:
    """Whether all names that a shape writes, or matches, are proved to meet a schema."""
    matched = (intersect_schemas([{"type": ["string"], "pattern": pattern}]) for pattern in shape[1])
    return all(evaluate_schema(schema, name) is True for name in shape[0]) and all(
        prover.entails_schema(names, schema) for names in matched
    )


RULES: dict[str, Any] = {
    "minProperties": lambda prover, value_set, least: find_counts(prover, value_set)[0] >= least,
    "maxProperties": lambda prover, value_set, most: find_counts(prover, value_set)[1] <= most,
    "required": lambda _, value_set, names: find_required_names(value_set) >= set(names),
    "propertyNames": _entails_property_names,
    "dependentRequired": _entails_dependent_required,
    "shape": _entails_properties,
}
