"""Numbers in proofs: bounds and multiples, exact, and rounded to what the type or the unit leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.schema_inclusion.constraints import NUMBERS, ValueSet

# Beyond it no more units are joined: the common one is a multiple of what is left out or not, and nothing is claimed.
_UNIT_BITS = 4096
_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


class Bound(NamedTuple):
    """Where numbers end; open when the bound itself is not among them."""

    value: Fraction
    is_open: bool


def narrow_types(_: Any, value_set: ValueSet, types: frozenset[str]) -> frozenset[str]:
    """Return the types without those of numbers that the bounds and units exclude."""
    if not value_set.has_any(_KEYWORDS):
        return types
    return types - {type_ for type_ in types & NUMBERS if _is_empty(value_set, type_)}


def find_unit(value_set: ValueSet, type_: str) -> Fraction | None:
    """Return what all numbers of one type are multiples of; None where there is no such unit."""
    units = [Fraction(value) for value in value_set.get_all("multipleOf")] + [Fraction(1)] * (type_ == "integer")
    common = units[0] if units else None
    for other in units[1:]:
        if common is None or common.numerator.bit_length() + common.denominator.bit_length() > _UNIT_BITS:
            break
        common = _find_common_multiple(common, other)
    return common


def find_lower_bound(value_set: ValueSet, type_: str) -> Bound | None:
    """Return the lower bound of the numbers of one type."""
    bounds = [Bound(Fraction(value), is_open=False) for value in value_set.get_all("minimum")]
    bounds += [Bound(Fraction(value), is_open=True) for value in value_set.get_all("exclusiveMinimum")]
    return _round_up(max(bounds, default=None), find_unit(value_set, type_), type_)


def find_upper_bound(value_set: ValueSet, type_: str) -> Bound | None:
    """Return the upper bound of the numbers of one type."""
    # An upper bound is a lower one of the negated numbers.
    mirrored = [Bound(-Fraction(value), is_open=False) for value in value_set.get_all("maximum")]
    mirrored += [Bound(-Fraction(value), is_open=True) for value in value_set.get_all("exclusiveMaximum")]
    found = _round_up(max(mirrored, default=None), find_unit(value_set, type_), type_)
    return found and Bound(-found.value, found.is_open)


def _round_up(bound: Bound | None, unit: Fraction | None, type_: str) -> Bound | None:
    """Move a lower bound up to the first number that there can be."""
    if bound is None:
        return None
    # Without a unit there is no first number; an integer is no first fraction either.
    if unit is None:
        return Bound(bound.value, bound.is_open or (type_ == "fraction" and bound.value.denominator == 1))
    count = bound.value / unit
    return Bound((math.floor(count) + 1 if bound.is_open else math.ceil(count)) * unit, is_open=False)


def _is_empty(value_set: ValueSet, type_: str) -> bool:
    unit = find_unit(value_set, type_)
    if type_ == "fraction" and unit is not None and unit.denominator == 1:
        return True
    least, most = find_lower_bound(value_set, type_), find_upper_bound(value_set, type_)
    if least is None or most is None:
        return False
    return least.value > most.value or (least.value == most.value and (least.is_open or most.is_open))


def _find_common_multiple(left: Fraction, right: Fraction) -> Fraction:
    denominator = left.denominator * right.denominator
    return Fraction(math.lcm(left.numerator * right.denominator, right.numerator * left.denominator), denominator)


def _entails_lower_bound(value_set: ValueSet, target: Bound, types_: frozenset[str]) -> bool:
    found = (find_lower_bound(value_set, type_) for type_ in types_ & NUMBERS)
    # Of two bounds at one place the open one is stronger, and `Bound` sorts so.
    return all(bound is not None and bound >= target for bound in found)


def _entails_upper_bound(value_set: ValueSet, target: Bound, types_: frozenset[str]) -> bool:
    found = (find_upper_bound(value_set, type_) for type_ in types_ & NUMBERS)
    return all(
        bound is not None and (-bound.value, bound.is_open) >= (-target.value, target.is_open) for bound in found
    )


def _entails_multiple(value_set: ValueSet, target: Any, types_: frozenset[str]) -> bool:
    units = (find_unit(value_set, type_) for type_ in types_ & NUMBERS)
    return all(unit is not None and (unit / Fraction(target)).denominator == 1 for unit in units)


def _make_rule(entails: Callable[[ValueSet, Any, frozenset[str]], bool], read: Callable[[Any], Any]) -> Any:
    return lambda prover, value_set, value: entails(value_set, read(value), prover.find_types(value_set))


RULES = {
    "minimum": _make_rule(_entails_lower_bound, lambda value: Bound(Fraction(value), is_open=False)),
    "exclusiveMinimum": _make_rule(_entails_lower_bound, lambda value: Bound(Fraction(value), is_open=True)),
    "maximum": _make_rule(_entails_upper_bound, lambda value: Bound(Fraction(value), is_open=False)),
    "exclusiveMaximum": _make_rule(_entails_upper_bound, lambda value: Bound(Fraction(value), is_open=True)),
    "multipleOf": _make_rule(_entails_multiple, lambda value: value),
}
