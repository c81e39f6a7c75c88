"""Parts of a document that may have any shape; what is not as expected is skipped: the schema says it already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def mapping(value: Any, key: str) -> dict[str, Any]:
    """Return the mapping under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items(value: Any, key: str) -> list[Any]:
    """Return the list under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def mappings(value: Any, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (index, item) for every mapping in the list under `key`."""
    return ((index, item) for index, item in enumerate(items(value, key)) if isinstance(item, dict))


def texts(value: Any, key: str) -> Iterator[tuple[int, str]]:
    """Yield (index, item) for every text in the list under `key`."""
    return ((index, item) for index, item in enumerate(items(value, key)) if isinstance(item, str))
