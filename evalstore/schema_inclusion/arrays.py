"""Arrays in proofs: their lengths, what stands at each index, and what they must contain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalstore.schema_inclusion.constraints import Domain, domain
from evalstore.schema_inclusion.evaluation import at_index
from evalstore.schema_inclusion.normalization import View

if TYPE_CHECKING:
    from evalstore.schema_inclusion.prover import Prover

_COUNTS = frozenset({"minItems", "maxItems", "contains"})


def types(prover: Prover, some: Domain, known: frozenset[str]) -> frozenset[str]:
    """Return the types without arrays where no length is left."""
    if "array" not in known or not some.any(_COUNTS):
        return known
    least, most = lengths(prover, some)
    odd = any(limit is not None and count > limit for _, count, limit in some.all("contains"))
    return known - {"array"} if odd or least > most else known


def lengths(prover: Prover, some: Domain) -> tuple[float, float]:
    """Return the least and the greatest length of the arrays of a domain."""
    return prover.once("lengths", some, lambda _: _lengths(prover, some))


def at(some: Domain, index: int) -> Domain:
    """Return the values that may stand at one index."""
    return domain(at_index(list_, index) for list_ in some.all("list"))


def _lengths(prover: Prover, some: Domain) -> tuple[float, float]:
    least = max((*some.all("minItems"), *(demand[1] for demand in some.all("contains"))), default=0)
    most = min(some.all("maxItems"), default=math.inf)
    shut = next((index for index in range(_written(some) + 1) if prover.empty(at(some, index))), math.inf)
    return least, min(most, shut)


def _written(some: Domain) -> int:
    return max((len(first) for first, _ in some.all("list")), default=-1)


def _list(prover: Prover, some: Domain, wanted: list[Any]) -> bool:
    # All indexes after those that either side writes are alike.
    indexes = range(max(_written(some), len(wanted[0])) + 1)
    most = lengths(prover, some)[1]
    return all(prover.within(at(some, index), at_index(wanted, index)) for index in indexes if index < most)


def _contains(prover: Prover, some: Domain, demand: list[Any]) -> bool:
    view, least, most = demand
    return _at_least(prover, some, view, least) and (most is None or _at_most(prover, some, view, most))


def _at_least(prover: Prover, some: Domain, view: View, least: int) -> bool:
    enough = [mine for mine, count, _ in some.all("contains") if count >= least]
    if least == 0 or any(prover.within(domain([mine]), view) for mine in enough):
        return True
    first = int(min(least, max(_written(some), 0) + 1))
    return lengths(prover, some)[0] >= least and all(prover.within(at(some, index), view) for index in range(first))


def _at_most(prover: Prover, some: Domain, view: View, most: int) -> bool:
    if lengths(prover, some)[1] <= most:
        return True
    few = [mine for mine, _, count in some.all("contains") if count is not None and count <= most]
    return any(prover.within(domain([view]), mine) for mine in few)


RULES: dict[str, Any] = {
    "minItems": lambda prover, some, least: lengths(prover, some)[0] >= least,
    "maxItems": lambda prover, some, most: lengths(prover, some)[1] <= most,
    "uniqueItems": lambda prover, some, _: lengths(prover, some)[1] <= 1,
    "list": _list,
    "contains": _contains,
}
