"""Canonical JSON and its SHA-256: one value, one text, whatever its layout (SPEC 2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# Made once: `json.dumps` makes an encoder for every call that is not its default.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def canonical(value: Any) -> str:
    """Write plain data with sorted keys, exact decimals and no insignificant white space."""
    return "".join(_parts(value))


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def exact(value: float | Decimal) -> str:
    """Write a number one way: no exponent, no trailing zeros, no negative zero; a float is its shortest literal."""
    if isinstance(value, int):
        return str(value)
    text = format(value if isinstance(value, Decimal) else Decimal(str(value)), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for index, key in enumerate(sorted(value)):
            yield ("," if index else "") + _encode(key) + ":"
            yield from _parts(value[key])
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            if index:
                yield ","
            yield from _parts(item)
        yield "]"
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield exact(value)
    else:
        yield _encode(value)
