"""Copies values for the library: exact numbers, and containers that show little of themselves in its messages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalstore.errors import SchemaError

_DEPTH_LIMIT = 100
_VALUE_LIMIT = 200_000
_SHORT_LIST, _LONG_TEXT = 12, 80


class _PlainObject(dict[str, Any]):
    def __repr__(self) -> str:
        return "{…}" if self else "{}"


class _PlainArray(list[Any]):
    def __repr__(self) -> str:
        is_short = len(self) <= _SHORT_LIST and not any(isinstance(item, dict | list) for item in self)
        return super().__repr__() if is_short else "[…]"


class _PlainText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[: _LONG_TEXT - 1] + "…")


class _PlainNumber(Decimal):
    def __repr__(self) -> str:
        return str(self)


def copy_plain(value: Any) -> Any:
    """Return a copy free of aliases, every float as its shortest literal."""
    if isinstance(value, str):
        return _PlainText(value) if len(value) > _LONG_TEXT else value
    if isinstance(value, Mapping):
        return _PlainObject((name, copy_plain(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return _PlainArray([copy_plain(item) for item in value])
    if isinstance(value, float | Decimal):
        return _PlainNumber(str(value))
    return value


def make_equality_key(value: Any) -> Any:
    """Return a hashable value that is equal exactly when JSON Schema says so: 1 is 1.0, and true is not 1.

    Numbers are texts in it: Python's hashes of numbers are the same everywhere, and chosen ones collide.
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return ("b", value)
    if isinstance(value, Mapping):
        return frozenset((name, make_equality_key(item)) for name, item in value.items())
    if isinstance(value, list):
        return ("[", *map(make_equality_key, value))
    numerator, denominator = value.as_integer_ratio()
    return ("n", f"{numerator}/{denominator}")


def check_size(value: Any) -> None:
    """Raise `SchemaError` for a value of more parts or levels than a file may have, as one that holds itself has."""
    # Level by level, not by recursion: a value may nest deeper than Python's stack, or hold itself.
    level, parts, depth = [value], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > _VALUE_LIMIT or depth > _DEPTH_LIMIT:
            too_many = parts > _VALUE_LIMIT
            limit = (
                f"has more than {_VALUE_LIMIT:,} values" if too_many else f"is nested deeper than {_DEPTH_LIMIT} levels"
            )
            raise SchemaError(f"the schema {limit}")
        level = [item for node in level for item in _iterate_items(node)]


def _iterate_items(node: Any) -> Any:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list | tuple) else ()
