"""Numbers of other programs: their floats become the decimals that they are written as, as evalstore reads numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any


def convert_numbers(value: Any, number: Callable[[Any], Any]) -> Any:
    """Return plain data with every number converted by `number`."""
    if isinstance(value, Mapping):
        return {str(key): convert_numbers(item, number) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [convert_numbers(item, number) for item in value]
    return number(value)


def to_decimal(value: Any) -> Any:
    """Return a float as the decimal that it is written as; what is no data, as its text."""
    if isinstance(value, float) and isfinite(value):
        return Decimal(repr(value))
    return value if value is None or isinstance(value, str | int | float | Decimal) else str(value)
