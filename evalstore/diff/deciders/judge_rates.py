"""Decides whether newly measured rates of a judge are lower than chance explains."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

from evalstore.diff.change import Change, Proof
from evalstore.model import parse_fraction

_RATES = ("tpr", "tnr")
_SQUARED = Fraction("1.96") ** 2  # the quantile of the normal distribution for 95 %, squared


def prove_rates_not_lower(change: Change) -> Proof | None:
    """Prove that no new rate of the judge is lower than chance explains.

    This is proved, too, if only the judge's noise is new.
    """
    old, new = (side if isinstance(side, dict) else {} for side in (change.old, change.new))
    if _drop_noise(old) == _drop_noise(new):
        return Proof("only the judge's own noise was measured")
    before, after = _read_rates(old), _read_rates(new)
    if len(after) < len(_RATES):
        return None
    lower = [name for name, rate in before.items() if after[name] < rate]
    if not before:
        return Proof("it was measured for the first time, and scoring does not use it")
    if not lower:
        return Proof("it was measured again, and no rate is lower")
    rows = [size for size in map(_read_sample_size, (old, new)) if size > 0]
    if len(rows) < len((old, new)) or not all(
        _are_close(before[name], after[name], rows) for name in lower
    ):
        return None
    within = f"Wilson's 95 % intervals on {rows[0]} and {rows[1]} rows"
    return Proof(f"it was measured again, and {' and '.join(lower)} is within {within}")


def _drop_noise(validation: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in validation.items() if not key.startswith("noise_")}


def _read_sample_size(validation: Mapping[str, Any]) -> int:
    size = validation.get("sample_size")
    return size if isinstance(size, int) and not isinstance(size, bool) else 0


def _are_close(old: Fraction, new: Fraction, rows: list[int]) -> bool:
    return _is_within_interval(old, new, rows[0]) and _is_within_interval(new, old, rows[1])


def _is_within_interval(measured: Fraction, other: Fraction, rows: int) -> bool:
    # Whether `other` is in Wilson's interval, squared so that no root is needed. A rate is measured
    # on only a part of the rows, so its real interval is wider still, and this says "lower" too
    # often rather than too seldom.
    return (measured - other) ** 2 * rows <= _SQUARED * other * (1 - other)


def _read_rates(validation: Mapping[str, Any]) -> dict[str, Fraction]:
    rates = {name: validation.get(name) for name in _RATES}
    return {name: parse_fraction(rate) for name, rate in rates.items() if _is_number(rate)}


def _is_number(value: object) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
