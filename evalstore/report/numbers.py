"""Exact numbers in JSON documents: the nearest decimal, and the fraction beside it where a decimal cannot hold it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from evalstore.model import format_decimal


def document_number(name: str, value: Fraction | None) -> dict[str, Any]:
    """Return `{name: 0.666666666667, name_exact: "2/3"}`, without the second where the first is exact."""
    if value is None:
        return {name: None}
    shown = format_decimal(value)
    return {name: float(shown), **({} if Fraction(shown) == value else {f"{name}_exact": str(value)})}
