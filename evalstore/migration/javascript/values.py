"""Writes values like JavaScript's `String()`, and trims texts by JavaScript's white space."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isinf
from typing import Any

# What JavaScript's `\\s` and `trim` take for white space, as the inside of a class of characters.
SPACE = "\\t-\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_TRIMMED = re.compile(rf"\A[{SPACE}]+|[{SPACE}]+\Z")
# The step of a check that does the same as `trim`.
TRIM_STEP: Mapping[str, Any] = {
    "regex_group": {"pattern": f"[^{SPACE}](?:(?s:.)*[^{SPACE}])?|\\Z", "group": 0}
}
# The step that turns a text into its UTF-16 units, which are JavaScript's characters.
UNITS_STEP = "utf16"
# From these powers of ten on, JavaScript writes numbers with an exponent.
_LARGE, _SMALL = 21, -6
_SURROGATE = re.compile("[\ud800-\udfff]")


def trim_space(text: str) -> str:
    """Return a text without the white space around it."""
    return _TRIMMED.sub("", text)


def has_half_character(text: str) -> bool:
    """Whether a text has half of a character above U+FFFF, which UTF-8 cannot encode."""
    return _SURROGATE.search(text) is not None


def write_number(value: int | Decimal) -> str:
    """Return a number as a double is written: 1.0 as `1`, 1e21 as `1e+21`."""
    number = _to_double(value)
    if isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  # it is finite
    text, point = "".join(map(str, digits)), len(digits) + exponent
    minus = "-" if sign else ""
    if not _SMALL < point <= _LARGE:
        rest = f".{text[1:]}" if text[1:] else ""
        return f"{minus}{text[0]}{rest}e{point - 1:+d}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    if point >= len(text):
        return f"{minus}{text}{'0' * (point - len(text))}"
    return f"{minus}{text[:point]}.{text[point:]}"


def write_value(value: Any) -> str:
    """Return a value of JSON as `String()` writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | Decimal):
        return write_number(value)
    return _write_list(value) if isinstance(value, list) else "[object Object]"


def _write_list(items: Sequence[Any]) -> str:
    return ",".join("" if item is None else write_value(item) for item in items)


def _to_double(value: int | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
