"""Arrays in proofs: their lengths, what stands at each index, and what they must contain."""

from __future__ import annotations

import math
from typing import Any

from evalstore.schema_inclusion.constraints import ValueSet, intersect_schemas
from evalstore.schema_inclusion.evaluation import select_item_schema
from evalstore.schema_inclusion.normalization import NormalSchema
from evalstore.schema_inclusion.proof import ProofContext

_LENGTH_CONSTRAINTS = frozenset({"minItems", "maxItems", "contains"})


def narrow_types(prover: ProofContext, value_set: ValueSet, types: frozenset[str]) -> frozenset[str]:
    """Return the types without arrays where no length is left."""
    if "array" not in types or not value_set.has_any(_LENGTH_CONSTRAINTS):
        return types
    least, most = find_lengths(prover, value_set)
    is_contradictory = any(limit is not None and count > limit for _, count, limit in value_set.get_all("contains"))
    return types - {"array"} if is_contradictory or least > most else types


def find_lengths(prover: ProofContext, value_set: ValueSet) -> tuple[float, float]:
    """Return the least and the greatest length of the arrays, in items."""
    return prover.remember("lengths", value_set, lambda _: _compute_lengths(prover, value_set))


def project_index(value_set: ValueSet, index: int) -> ValueSet:
    """Return the values that may stand at one index."""
    return intersect_schemas(select_item_schema(list_, index) for list_ in value_set.get_all("list"))


def _compute_lengths(prover: ProofContext, value_set: ValueSet) -> tuple[float, float]:
    least = max((*value_set.get_all("minItems"), *(count for _, count, _ in value_set.get_all("contains"))), default=0)
    most = min(value_set.get_all("maxItems"), default=math.inf)
    # An array ends before the first index at which nothing may stand.
    indexes = range(_count_written_items(value_set) + 1)
    closed = next((index for index in indexes if prover.is_empty(project_index(value_set, index))), math.inf)
    return least, min(most, closed)


def _count_written_items(value_set: ValueSet) -> int:
    """Return how many items have a schema by index; -1 where no keyword is about items."""
    return max((len(first) for first, _ in value_set.get_all("list")), default=-1)


def _entails_items(prover: ProofContext, value_set: ValueSet, target: list[Any]) -> bool:
    # All indexes after those that either side writes are alike.
    indexes = range(max(_count_written_items(value_set), len(target[0])) + 1)
    most = find_lengths(prover, value_set)[1]
    return all(
        prover.entails_schema(project_index(value_set, index), select_item_schema(target, index))
        for index in indexes
        if index < most
    )


def _entails_contains(prover: ProofContext, value_set: ValueSet, target: list[Any]) -> bool:
    schema, least, most = target
    if not _entails_min_contains(prover, value_set, schema, least):
        return False
    return most is None or _entails_max_contains(prover, value_set, schema, most)


def _entails_min_contains(prover: ProofContext, value_set: ValueSet, schema: NormalSchema, least: int) -> bool:
    enough = [narrow for narrow, count, _ in value_set.get_all("contains") if count >= least]
    if least == 0 or any(prover.entails_schema(intersect_schemas([narrow]), schema) for narrow in enough):
        return True
    # Without a `contains` a set has enough such items where its first ones all are such.
    first = int(min(least, max(_count_written_items(value_set), 0) + 1))
    return find_lengths(prover, value_set)[0] >= least and all(
        prover.entails_schema(project_index(value_set, index), schema) for index in range(first)
    )


def _entails_max_contains(prover: ProofContext, value_set: ValueSet, schema: NormalSchema, most: int) -> bool:
    if find_lengths(prover, value_set)[1] <= most:
        return True
    few = [narrow for narrow, _, count in value_set.get_all("contains") if count is not None and count <= most]
    return any(prover.entails_schema(intersect_schemas([schema]), narrow) for narrow in few)


RULES: dict[str, Any] = {
    "minItems": lambda prover, value_set, least: find_lengths(prover, value_set)[0] >= least,
    "maxItems": lambda prover, value_set, most: find_lengths(prover, value_set)[1] <= most,
    "uniqueItems": lambda prover, value_set, _: find_lengths(prover, value_set)[1] <= 1,
    "list": _entails_items,
    "contains": _entails_contains,
}
