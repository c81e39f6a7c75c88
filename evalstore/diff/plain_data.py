"""Turns values into plain data with exact numbers, and compares such data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from evalstore.diff.limits import COMPARED
from evalstore.documents import Pointer, format_json_pointer, write_canonical
from evalstore.documents.document import DEPTH_LIMIT, DIGIT_LIMIT
from evalstore.errors import LoadError
from evalstore.text import SHORT_EXCERPT, make_excerpt, make_printable
from evalstore.word_diff import count_common_prefix

_BITS = int(DIGIT_LIMIT * math.log2(10))
_FOCUSED = 10_000  # characters and parts: the first difference of larger values is not searched
_BEFORE_DIFFERENCE = 16  # characters that are shown before the first difference of two long values
_SURROGATE = re.compile("[\ud800-\udfff]")


def make_plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as dicts, lists and exact numbers.

    Raises `LoadError` for a value that no file can contain.
    """
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise LoadError("a string contains half of a surrogate pair")
        return str(value)
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise LoadError(f"a number has more than {DIGIT_LIMIT} digits")
    if value is None or isinstance(value, int):
        return value
    if depth > DEPTH_LIMIT:
        raise LoadError(f"the mapping is nested deeper than {DEPTH_LIMIT} levels")
    if isinstance(value, Mapping):
        if unnamed := [key for key in value if not isinstance(key, str)]:
            raise LoadError(f"the key {unnamed[0]!r} is not text")
        return {make_plain(key): make_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item, depth + 1) for item in value]
    # A float is read as its shortest decimal, which is what somebody wrote.
    if isinstance(value, float | Decimal):
        number = Decimal(str(value))
        if not number.is_finite() or abs(number.adjusted()) > DIGIT_LIMIT:
            raise LoadError(f"{value} is not a finite number")
        return number
    raise LoadError(f"an artifact cannot contain a value of type {type(value).__name__}")


def is_same(old: Any, new: Any) -> bool:
    """Whether two plain values are equal: 1.0 is 1, but True is not."""
    if old is new:
        return True
    if isinstance(old, str):  # most values are strings
        return bool(old == new)
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            is_same(item, new[key]) for key, item in old.items()
        )
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)


def is_short(value: Any, limit: int) -> bool:
    """Whether a plain value has at most `limit` characters and parts; reads no more than that."""
    parts = [value]
    while parts and limit >= 0:
        part = parts.pop()
        limit -= 1 + (len(part) if isinstance(part, str | dict | list) else 0)
        if limit >= 0 and isinstance(part, dict | list):
            parts += [*part, *part.values()] if isinstance(part, dict) else part
    return limit >= 0


def describe_value(value: Any) -> str:
    """Return a value as text for a sentence: shortened, and safe to print."""
    if value is None:
        return "unset"
    if isinstance(value, dict):
        pairs = islice(value.items(), SHORT_EXCERPT)
        words = ", ".join(f"{key} {describe_value(item)}" for key, item in pairs)
        return make_excerpt(words or "{}", SHORT_EXCERPT)
    if isinstance(value, list):
        value = value[:SHORT_EXCERPT]
    return make_excerpt(value if isinstance(value, str) else write_canonical(value), SHORT_EXCERPT)


def describe_exchange(old: Any, new: Any) -> tuple[str, str]:
    """Return two values as texts for a sentence; long ones are cut to their first difference."""
    before, after = describe_value(old), describe_value(new)
    if before != after or not is_short([old, new], _FOCUSED) or is_same(old, new):
        return before, after
    texts = [side if isinstance(side, str) else write_canonical(side) for side in (old, new)]
    cut = max(0, count_common_prefix(*texts) - _BEFORE_DIFFERENCE)
    focused = [make_excerpt(f"…{text[cut:]}", SHORT_EXCERPT) for text in texts]
    return focused[0], focused[1]


def write_whole(message: str, old: Any, new: Any) -> str:
    """Return a sentence in which values that `describe_exchange` shortened are written in full."""
    for short, value in zip(describe_exchange(old, new), (old, new), strict=True):
        if "…" in short and short in message:
            whole = value if isinstance(value, str) else write_canonical(value)
            message = message.replace(short, make_printable(whole), 1)
    return message


def list_differences(old: Any, new: Any) -> str:
    """Return where two plain values differ, as pointers, for unclassified changes."""
    if not is_short([old, new], COMPARED.deepdiff_parts):
        return "too much to list"
    # Sorted, because deepdiff finds them in sets, whose order differs from process to process.
    pointers = map(format_json_pointer, sorted(set(_find_differences(old, new))))
    found = [pointer or "the whole value" for pointer in pointers]
    shown = ", ".join(found[: COMPARED.listed_paths])
    more = len(found) - COMPARED.listed_paths
    return f"{shown} and {more} more" if more > 0 else shown


def _find_differences(old: Any, new: Any) -> Iterator[Pointer]:
    from deepdiff import DeepDiff

    # Never `ignore_order`: nested lists make it exponential.
    tree = DeepDiff(
        _canonicalise_leaves(old), _canonicalise_leaves(new), view="tree", verbose_level=0
    )
    return (tuple(level.path(output_format="list")) for levels in tree.values() for level in levels)


def _canonicalise_leaves(value: Any) -> Any:
    # To deepdiff, 1 equals True, and 1.0 differs in type from 1. Canonical texts are right in both
    # cases.
    if isinstance(value, dict):
        return {key: _canonicalise_leaves(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonicalise_leaves(item) for item in value]
    return write_canonical(value)
