"""Canonical JSON and its SHA-256: one value, one text, whatever its layout (SPEC 2)."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

# Made once: `json.dumps` makes an encoder for every call that is not its default.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def canonical(value: Any) -> str:
    """Write plain data with sorted keys, exact decimals and no insignificant white space."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{_encode(key)}:{canonical(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([canonical(item) for item in value]) + "]"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return exact(value)
    return "null" if value is None else _encode(value)


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
