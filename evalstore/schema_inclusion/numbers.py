"""Numbers in proofs: bounds and multiples, exact, and rounded to what the type or the unit leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.schema_inclusion.constraints import NUMBERS, Domain

_BITS = 4096
_ABOUT = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


class Bound(NamedTuple):
    """Where numbers end; `open` when the bound itself is not among them."""

    at: Fraction
    open: bool


def types(_: Any, some: Domain, known: frozenset[str]) -> frozenset[str]:
    """Return the types without those of numbers that the bounds and units leave no room for."""
    if not some.any(_ABOUT):
        return known
    return known - {type_ for type_ in known & NUMBERS if _is_empty(some, type_)}


def unit(some: Domain, type_: str) -> Fraction | None:
    """Return what all numbers of a type in a domain are multiples of."""
    units = [Fraction(value) for value in some.all("multipleOf")] + [Fraction(1)] * (type_ == "integer")
    common = units[0] if units else None
    for other in units[1:]:
        if common is None or common.numerator.bit_length() + common.denominator.bit_length() > _BITS:
            break
        common = _multiple(common, other)
    return common


def low(some: Domain, type_: str) -> Bound | None:
    """Return the lower bound of the numbers of one type."""
    bounds = [Bound(Fraction(value), open=False) for value in some.all("minimum")]
    bounds += [Bound(Fraction(value), open=True) for value in some.all("exclusiveMinimum")]
    return _rounded(max(bounds, default=None), unit(some, type_), type_)


def high(some: Domain, type_: str) -> Bound | None:
    """Return the upper bound of the numbers of one type."""
    mirrored = [Bound(-Fraction(value), open=False) for value in some.all("maximum")]
    mirrored += [Bound(-Fraction(value), open=True) for value in some.all("exclusiveMaximum")]
    found = _rounded(max(mirrored, default=None), unit(some, type_), type_)
    return found and Bound(-found.at, found.open)


def _rounded(bound: Bound | None, step: Fraction | None, type_: str) -> Bound | None:
    """Move a lower bound up to the first number that there can be."""
    if bound is None:
        return None
    if step is None:
        return Bound(bound.at, bound.open or (type_ == "fraction" and bound.at.denominator == 1))
    count = bound.at / step
    return Bound((math.floor(count) + 1 if bound.open else math.ceil(count)) * step, open=False)


def _is_empty(some: Domain, type_: str) -> bool:
    step = unit(some, type_)
    if type_ == "fraction" and step is not None and step.denominator == 1:
        return True
    least, most = low(some, type_), high(some, type_)
    if least is None or most is None:
        return False
    return least.at > most.at or (least.at == most.at and (least.open or most.open))


def _multiple(one: Fraction, other: Fraction) -> Fraction:
    under = one.denominator * other.denominator
    return Fraction(math.lcm(one.numerator * other.denominator, other.numerator * one.denominator), under)


def _from(some: Domain, wanted: Bound, types_: frozenset[str]) -> bool:
    found = (low(some, type_) for type_ in types_ & NUMBERS)
    return all(bound is not None and bound >= wanted for bound in found)


def _to(some: Domain, wanted: Bound, types_: frozenset[str]) -> bool:
    found = (high(some, type_) for type_ in types_ & NUMBERS)
    return all(bound is not None and (-bound.at, bound.open) >= (-wanted.at, wanted.open) for bound in found)


def _multiples(some: Domain, wanted: Any, types_: frozenset[str]) -> bool:
    units = (unit(some, type_) for type_ in types_ & NUMBERS)
    return all(step is not None and (step / Fraction(wanted)).denominator == 1 for step in units)


def _rule(test: Callable[[Domain, Any, frozenset[str]], bool], read: Callable[[Any], Any]) -> Any:
    return lambda prover, some, value: test(some, read(value), prover.types(some))


RULES = {
    "minimum": _rule(_from, lambda value: Bound(Fraction(value), open=False)),
    "exclusiveMinimum": _rule(_from, lambda value: Bound(Fraction(value), open=True)),
    "maximum": _rule(_to, lambda value: Bound(Fraction(value), open=False)),
    "exclusiveMaximum": _rule(_to, lambda value: Bound(Fraction(value), open=True)),
    "multipleOf": _rule(_multiples, lambda value: value),
}
