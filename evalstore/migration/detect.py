"""Says by its content alone which format a document has, how sure that is, and why; a file's name never counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.migration.outcome import FormatGuess
from evalstore.migration.table import ForeignShape, FormatSign, FormatTable

SURE = 0.5
_CLOSE = 0.05  # what is so much less sure than the best match is no doubt


@dataclass(frozen=True, slots=True)
class FormatMatch:
    """What a document is: a format, a shape that is something else, or neither; and what else it may be."""

    table: FormatTable | None
    shape: ForeignShape | None
    confidence: float
    reason: str
    also: tuple[FormatGuess, ...] = ()


NOTHING = FormatMatch(None, None, 0.0, "this is no format that evalstore migrates")
OURS = FormatMatch(None, None, 1.0, "a migration has made this")


def detect_format(value: Any, tables: Sequence[FormatTable]) -> FormatMatch:
    """Return the best match among the tables; a shape that is something else comes before any format."""
    if _is_ours(value):
        return OURS
    shapes = (shape for table in tables for shape in table.not_this if _has_shape(value, shape, table))
    if shape := next(shapes, None):
        return FormatMatch(None, shape, 1.0, shape.reason)
    matches = sorted((_matched(value, table) for table in tables), key=lambda match: -match.confidence)
    best, *others = matches or [NOTHING]
    least = max(SURE, best.confidence - _CLOSE)
    return replace(best, also=tuple(_guess(match) for match in others if match.table and match.confidence >= least))


def _is_ours(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("x_source"), dict)


def select_variant(value: Any, table: FormatTable) -> FormatTable:
    """Return the table as the dialect of a document has it."""
    return next((own for own in table.variants if _matched(value, own).table), table)


def _guess(match: FormatMatch) -> FormatGuess:
    return FormatGuess(match.table.format if match.table else "", match.confidence, match.reason)


def _matched(value: Any, table: FormatTable) -> FormatMatch:
    lists = [key for key in table.lists if _holds(value, key)]
    if table.lists and not lists:
        return NOTHING
    cases = _items(value, lists[0]) if lists else []
    sign = next((sign for sign in table.signs if _shows(value, cases, sign)), None)
    return FormatMatch(table, None, sign.confidence, sign.because) if sign else NOTHING


def _holds(value: Any, key: str) -> bool:
    return key in value if isinstance(value, dict) else isinstance(value, list) and not key


def _shows(root: Any, cases: Iterable[dict[str, Any]], sign: FormatSign) -> bool:
    holders = ([root] if isinstance(root, dict) else []) if sign.at == "root" else cases
    return any(_bears(holder, sign) for holder in holders)


def _bears(holder: dict[str, Any], sign: FormatSign) -> bool:
    some = not sign.keys or not sign.keys.isdisjoint(holder)
    return some and sign.all <= holder.keys() and all(holder.get(key) in items for key, items in sign.values.items())


def _has_shape(value: Any, shape: ForeignShape, table: FormatTable) -> bool:
    if shape.holder not in {None, *table.lists} and any(_holds(value, key) for key in table.lists):
        return False  # such items lie beside the cases of a suite
    if shape.root and not (isinstance(value, dict) and shape.root <= value.keys()):
        return False
    return shape.holder is None or any(_fits(item, shape) for item in _items(value, shape.holder))


def _fits(item: dict[str, Any], shape: ForeignShape) -> bool:
    return all(key in item and (not allowed or item[key] in allowed) for key, allowed in shape.item.items())


def _items(value: Any, key: str) -> list[dict[str, Any]]:
    items = value.get(key) if key and isinstance(value, dict) else None if key else value
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
