"""Detects the format of a document by its content alone, with a confidence and a reason; the file name never counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.migration.outcome import FormatGuess
from evalstore.migration.table import ForeignShape, FormatSign, FormatTable

SURE = 0.5
_MARGIN = 0.05  # what is so much less sure than the best match is no doubt


@dataclass(frozen=True, slots=True)
class FormatMatch:
    """A detected format, or the shape of a file that is something else, or neither; `also` are close alternatives."""

    table: FormatTable | None
    shape: ForeignShape | None
    confidence: float
    reason: str
    also: tuple[FormatGuess, ...] = ()


NO_MATCH = FormatMatch(None, None, 0.0, "this is no format that evalstore migrates")
OWN_MATCH = FormatMatch(None, None, 1.0, "a migration has made this")


def detect_format(value: Any, tables: Sequence[FormatTable]) -> FormatMatch:
    """Return the best match among the tables; a foreign shape (`not_this`) wins over every format."""
    if _is_ours(value):
        return OWN_MATCH
    shapes = (shape for table in tables for shape in table.not_this if _has_shape(value, shape, table))
    if shape := next(shapes, None):
        return FormatMatch(None, shape, 1.0, shape.reason)
    matches = sorted((_match_table(value, table) for table in tables), key=lambda match: -match.confidence)
    best, *others = matches or [NO_MATCH]
    least = max(SURE, best.confidence - _MARGIN)
    return replace(best, also=tuple(_make_guess(match) for match in others if match.table and match.confidence >= least))


def _is_ours(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("x_source"), dict)


def select_variant(value: Any, table: FormatTable) -> FormatTable:
    """Return the variant of a table whose signs a document shows, else the table itself."""
    return next((dialect_table for dialect_table in table.variants if _match_table(value, dialect_table).table), table)


def _make_guess(match: FormatMatch) -> FormatGuess:
    return FormatGuess(match.table.format if match.table else "", match.confidence, match.reason)


def _match_table(value: Any, table: FormatTable) -> FormatMatch:
    lists = [key for key in table.lists if _has_list(value, key)]
    if table.lists and not lists:
        return NO_MATCH
    cases = _list_items(value, lists[0]) if lists else []
    sign = next((sign for sign in table.signs if _has_sign(value, cases, sign)), None)
    return FormatMatch(table, None, sign.confidence, sign.because) if sign else NO_MATCH


def _has_list(value: Any, key: str) -> bool:
    return key in value if isinstance(value, dict) else isinstance(value, list) and not key


def _has_sign(root: Any, cases: Iterable[dict[str, Any]], sign: FormatSign) -> bool:
    holders = ([root] if isinstance(root, dict) else []) if sign.at == "root" else cases
    return any(_is_sign_of(holder, sign) for holder in holders)


def _is_sign_of(holder: dict[str, Any], sign: FormatSign) -> bool:
    some = not sign.keys or not sign.keys.isdisjoint(holder)
    return some and sign.all <= holder.keys() and all(holder.get(key) in items for key, items in sign.values.items())


def _has_shape(value: Any, shape: ForeignShape, table: FormatTable) -> bool:
    if shape.holder not in {None, *table.lists} and any(_has_list(value, key) for key in table.lists):
        return False  # the file has cases of this format: the foreign list only stands beside them
    if shape.root and not (isinstance(value, dict) and shape.root <= value.keys()):
        return False
    return shape.holder is None or any(_fits_shape(item, shape) for item in _list_items(value, shape.holder))


def _fits_shape(item: dict[str, Any], shape: ForeignShape) -> bool:
    return all(key in item and (not values or item[key] in values) for key, values in shape.item.items())


def _list_items(value: Any, key: str) -> list[dict[str, Any]]:
    items = value.get(key) if key and isinstance(value, dict) else None if key else value
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
