"""Plain data for comparing: exact numbers, one spelling a value; lists what differs within two trees."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from evalstore.documents import Pointer, canonical, json_pointer
from evalstore.documents.document import DEPTH_LIMIT, DIGIT_LIMIT
from evalstore.errors import LoadError
from evalstore.text import excerpt

_BITS = int(DIGIT_LIMIT * math.log2(10))
_HALF = re.compile("[\ud800-\udfff]")
_LISTED = 5
_TOLD = 60
_READABLE = 100_000  # characters and parts; deepdiff takes seconds for more


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as dicts, lists and exact numbers; raises `LoadError` for what no file can hold."""
    if isinstance(value, str):
        if _HALF.search(value):
            raise LoadError("a text holds half of a surrogate pair")
        return str(value)
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise LoadError(f"a number has more than {DIGIT_LIMIT} digits")
    if value is None or isinstance(value, int):
        return value
    if depth > DEPTH_LIMIT:
        raise LoadError(f"the mapping is nested deeper than {DEPTH_LIMIT} levels")
    if isinstance(value, Mapping):
        if unnamed := [key for key in value if not isinstance(key, str)]:
            raise LoadError(f"the key {unnamed[0]!r} is no text")
        return {plain(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, float | Decimal):
        number = Decimal(str(value))
        if not number.is_finite() or abs(number.adjusted()) > DIGIT_LIMIT:
            raise LoadError(f"{value} is no number that can be calculated with")
        return number
    raise LoadError(f"a value of type {type(value).__name__} cannot stand in an artifact")


def same(old: Any, new: Any) -> bool:
    """Whether two plain values are one: 1.0 is 1, but True is not; it ends where they part, and writes nothing."""
    if old is new:
        return True
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(item, new[key]) for key, item in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)


def short(value: Any, limit: int) -> bool:
    """Whether a plain value has at most so many characters and parts; what is too long is not read to its end."""
    parts = [value]
    while parts and limit >= 0:
        part = parts.pop()
        limit -= 1 + (len(part) if isinstance(part, str | dict | list) else 0)
        if limit >= 0 and isinstance(part, dict | list):
            parts += [*part, *part.values()] if isinstance(part, dict) else part
    return limit >= 0


def told(value: Any) -> str:
    """Write a value within a sentence: short, and safe to show."""
    if value is None:
        return "unset"
    if isinstance(value, dict):
        return excerpt(", ".join(f"{key} {told(item)}" for key, item in islice(value.items(), _TOLD)) or "{}", _TOLD)
    if isinstance(value, list):
        value = value[:_TOLD]
    return excerpt(value if isinstance(value, str) else canonical(value), _TOLD)


def leftovers(old: Any, new: Any) -> str:
    """List in words what differs within two plain values; for changes that no rule understands."""
    if not short([old, new], _READABLE):
        return "too much to list"
    # In the order of the document: deepdiff finds them in sets, which have another order in every process.
    found = [json_pointer(path) or "the whole value" for path in sorted(set(_leftovers(old, new)))]
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(found[:_LISTED]) + more


def _leftovers(old: Any, new: Any) -> Iterator[Pointer]:
    from deepdiff import DeepDiff

    # Never `ignore_order`: nested lists make it exponential.
    tree = DeepDiff(_spelled(old), _spelled(new), view="tree", verbose_level=0)
    return (tuple(level.path(output_format="list")) for levels in tree.values() for level in levels)


def _spelled(value: Any) -> Any:
    # deepdiff takes 1 for True and 1 for another type than 1.0; the canonical text of a leaf knows better.
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return canonical(value)
