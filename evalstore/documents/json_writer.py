"""Writes JSON with exact numbers (`json` alone writes no `Decimal`), and canonical JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from evalstore.documents.opaque import OpaqueValue
from evalstore.errors import RefusedError

if TYPE_CHECKING:
    from fractions import Fraction

# Made once: `json.dumps` makes an encoder for every call with non-default options.
_encode = json.JSONEncoder(ensure_ascii=False).encode
_encode_sorted = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def write_json(value: Any) -> str:
    """Return `value` as a JSON document of indented lines."""
    return "".join(_format_parts(value, "\n", ": ")) + "\n"


def write_row(value: Any) -> str:
    """Return `value` as one line of JSONL."""
    return "".join(_format_parts(value, "", ":")) + "\n"


def write_canonical(value: Any) -> str:
    """Return plain data as canonical JSON: sorted keys, exact decimals, no needless white space."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        return "{" + ",".join(_write_canonical_members(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join([write_canonical(item) for item in value]) + "]"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return format_exact(value)
    if value is None:
        return "null"
    return value.text if isinstance(value, OpaqueValue) else _encode(value)


def _write_canonical_members(value: dict[Any, Any]) -> Iterator[str]:
    for key in sorted(value):
        item = value[key]
        # Most values are texts: one call for each would take as long as the rest.
        text = encode_basestring(item) if type(item) is str else write_canonical(item)
        yield f"{_encode_key(key)}:{text}"


def _encode_key(key: Any) -> str:
    return encode_basestring(key) if isinstance(key, str) else _encode(key)


def compute_digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(write_canonical(value).encode("utf-8")).hexdigest()


def compute_document_digest(value: Any) -> str:
    """Return `compute_digest` of a document's value in half the time.

    Such a value has texts for keys, and no floats.
    """
    return hashlib.sha256(_write_document(value).encode("utf-8")).hexdigest()


def _write_document(value: Any) -> str:
    try:
        return _encode_sorted(value)
    except TypeError:  # a decimal
        return write_canonical(value)


def format_exact(value: float | Decimal) -> str:
    """Return the one spelling of a number: no exponent, trailing zero or negative zero.

    A float is spelled as its shortest literal.
    """
    if isinstance(value, int):
        return str(value)
    text = format(value if isinstance(value, Decimal) else Decimal(str(value)), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def convert_fraction(number: Fraction) -> Decimal | str:
    """Return an exact number as data: a decimal if it has one, else the text of the fraction."""
    # A fraction has a finite decimal if its denominator has no prime factors but 2 and 5.
    twos = (number.denominator & -number.denominator).bit_length() - 1
    remainder, fives = number.denominator >> twos, 0
    while remainder % 5 == 0:
        remainder, fives = remainder // 5, fives + 1
    places = max(twos, fives)
    # The default context rounds to 28 digits, so two different numbers could become one.
    return (
        str(number) if remainder > 1 else Decimal(int(number * 10**places)).scaleb(-places, _EXACT)
    )


def _format_parts(value: Any, line: str, colon: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        inner = line and line + "  "
        keys = [_format_key(key) + colon for key in value] if isinstance(value, dict) else None
        yield "{" if keys else "["
        for index, item in enumerate(value.values() if isinstance(value, dict) else value):
            yield ("," if index else "") + inner + (keys[index] if keys else "")
            yield from _format_parts(item, inner, colon)
        yield line + ("}" if keys else "]")
    else:
        yield _format_scalar(value)


def _format_scalar(value: Any) -> str:
    if isinstance(value, OpaqueValue):
        return value.text
    if isinstance(value, str):
        return encode_basestring(value)
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _format_key(key: Any) -> str:
    if not isinstance(key, str):
        raise RefusedError(f"the key {key} is not text, and JSON has no other keys")
    return encode_basestring(key)
