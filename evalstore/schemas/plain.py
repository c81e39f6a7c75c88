"""Copies of values for the library: exact numbers, and containers that show little of themselves in its messages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalstore.errors import SchemaError

_DEEPEST = 100
_MOST = 200_000
_FEW, _LONG = 12, 80


class _Object(dict[str, Any]):
    def __repr__(self) -> str:
        return "{…}" if self else "{}"


class _Array(list[Any]):
    def __repr__(self) -> str:
        few = len(self) <= _FEW and not any(isinstance(item, dict | list) for item in self)
        return super().__repr__() if few else "[…]"


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[: _LONG - 1] + "…")


class _Number(Decimal):
    def __repr__(self) -> str:
        return str(self)


def plain(value: Any) -> Any:
    """Return a copy free of aliases, every float as its shortest literal."""
    if isinstance(value, str):
        return _Text(value) if len(value) > _LONG else value
    if isinstance(value, Mapping):
        return _Object((name, plain(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return _Array([plain(item) for item in value])
    if isinstance(value, float | Decimal):
        return _Number(str(value))
    return value


def key(value: Any) -> Any:
    """Return a hashable value that is equal exactly when JSON Schema says so: 1 is 1.0, and true is not 1.

    Numbers are texts in it: Python's hashes of numbers are the same everywhere, and chosen ones collide.
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return ("b", value)
    if isinstance(value, Mapping):
        return frozenset((name, key(item)) for name, item in value.items())
    if isinstance(value, list):
        return ("[", *map(key, value))
    over, under = value.as_integer_ratio()
    return ("n", f"{over}/{under}")


def check_size(value: Any) -> None:
    """Raise `SchemaError` for a value of more parts or levels than a file may have; one that holds itself has."""
    level, parts, depth = [value], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > _MOST or depth > _DEEPEST:
            limit = f"has more than {_MOST:,} values" if parts > _MOST else f"is nested deeper than {_DEEPEST} levels"
            raise SchemaError(f"the schema {limit}")
        level = [item for node in level for item in _items(node)]


def _items(node: Any) -> Any:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list | tuple) else ()
