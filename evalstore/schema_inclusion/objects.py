"""Objects in proofs: which names there must and can be, and what stands under each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from evalstore.schema_inclusion.constraints import NOTHING, Domain, domain
from evalstore.schema_inclusion.evaluation import accepts, at_name
from evalstore.schema_inclusion.normalization import View
from evalstore.schema_inclusion.strings import ANY

if TYPE_CHECKING:
    from evalstore.schema_inclusion.prover import Prover

# A name may match any of the patterns that stand in two shapes; more combinations are not gone through.
_PATTERNS = 5
_COUNTS = frozenset({"minProperties", "maxProperties", "required"})


def types(prover: Prover, some: Domain, known: frozenset[str]) -> frozenset[str]:
    """Return the types without objects where what must be there cannot be."""
    if "object" not in known or not some.any(_COUNTS):
        return known
    least, most = counts(prover, some)
    if least > most or any(prover.empty(at(some, name)) for name in required(some)):
        return known - {"object"}
    return known


def required(some: Domain, *more: str) -> set[str]:
    """Return the names that an object of the domain must have, when it has these."""
    names = {*more, *(name for listed in some.all("required") for name in listed)}
    size = -1
    while size < len(names):
        size = len(names)
        names |= {
            name
            for pairs in some.all("dependentRequired")
            for has, wants in pairs.items()
            if has in names
            for name in wants
        }
    return names


def counts(prover: Prover, some: Domain) -> tuple[float, float]:
    """Return the least and the greatest number of properties."""
    names = possible(prover, some)
    least = max((*some.all("minProperties"), len(required(some))))
    return least, min((*some.all("maxProperties"), math.inf if names is None else len(names)))


def possible(prover: Prover, some: Domain) -> frozenset[str] | None:
    """Return the names that an object can have; None where they are not known to be finite."""
    return prover.once("names", some, lambda _: _possible(prover, some))


def at(some: Domain, name: str) -> Domain:
    """Return the values that may stand under a name."""
    found = domain(view for shape in some.all("shape") for view in at_name(shape, name))
    allowed = all(accepts(view, name) is not False for view in some.all("propertyNames"))
    return found if allowed else found.but(None, NOTHING)


def _possible(prover: Prover, some: Domain) -> frozenset[str] | None:
    lists: list[Collection[str]] = [[]] if 0 in some.all("maxProperties") else []
    lists += [
        properties for properties, patterns, rest in some.all("shape") if not patterns and prover.empty(domain([rest]))
    ]
    of_names = prover.values(_names(some)) if some.all("propertyNames") else None
    lists += [] if of_names is None else [of_names]
    if not lists:
        return None
    return frozenset(name for name in min(lists, key=len) if not prover.empty(at(some, name)))


def _names(some: Domain) -> Domain:
    return domain([*some.all("propertyNames"), {"type": ["string"]}])


def _shape(prover: Prover, some: Domain, wanted: list[Any]) -> bool:
    names = {*wanted[0], *required(some), *(name for shape in some.all("shape") for name in shape[0])}
    can = possible(prover, some)
    for name in sorted(names if can is None else can):
        if not all(prover.within(at(some, name), view) for view in at_name(wanted, name)):
            return False
    return can is not None or _others(prover, some, wanted)


def _others(prover: Prover, some: Domain, wanted: list[Any]) -> bool:
    """Whether every name that neither side writes is proved to have what is wanted, whichever patterns it matches."""
    shapes = some.all("shape")
    patterns = sorted({pattern for shape in (*shapes, wanted) for pattern in shape[1]})
    if len(patterns) > _PATTERNS:
        return False
    asked = _names(some).all("pattern") or [ANY]
    always = {pattern for pattern in patterns if any(prover.implies(mine, pattern) for mine in asked)}
    brings = {one: {other for other in patterns if prover.implies(one, other)} for one in patterns}
    return all(
        prover.within(domain(mine for shape in shapes for mine in _under(shape, matched)), view)
        for matched in _subsets(patterns)
        if always.union(*(brings[one] for one in matched)).issubset(matched)
        for view in _under(wanted, matched)
    )


def _under(shape: list[Any], matched: Collection[str]) -> list[View]:
    return [view for pattern, view in shape[1].items() if pattern in matched] or [shape[2]]


def _subsets(items: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _dependent(prover: Prover, some: Domain, wanted: dict[str, list[str]]) -> bool:
    return all(required(some, name) >= set(names) or prover.empty(at(some, name)) for name, names in wanted.items())


def _property_names(prover: Prover, some: Domain, view: View) -> bool:
    names = possible(prover, some)
    if names is not None:
        return all(accepts(view, name) is True for name in names)
    shut = [shape for shape in some.all("shape") if prover.empty(domain([shape[2]]))]
    return prover.within(_names(some), view) or any(_named_within(prover, shape, view) for shape in shut)


def _named_within(prover: Prover, shape: list[Any], view: View) -> bool:
    """Whether all names that a shape writes, or matches, are proved to meet a view."""
    matched = (domain([{"type": ["string"], "pattern": pattern}]) for pattern in shape[1])
    return all(accepts(view, name) is True for name in shape[0]) and all(prover.within(one, view) for one in matched)


RULES: dict[str, Any] = {
    "minProperties": lambda prover, some, least: counts(prover, some)[0] >= least,
    "maxProperties": lambda prover, some, most: counts(prover, some)[1] <= most,
    "required": lambda _, some, names: required(some) >= set(names),
    "propertyNames": _property_names,
    "dependentRequired": _dependent,
    "shape": _shape,
}
