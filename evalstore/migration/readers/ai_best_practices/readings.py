"""How legacy graders took a value: what a check makes of it, and whether they did what the file seems to ask.

They are Python that trusts its input (formats: a text is iterated like a list, any true value counts as true), so each
reading follows the language, and says so where that misleads. What crashes them is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalstore.migration.outcome import MigrationOutcome, find_worst_outcome
from evalstore.migration.table import CheckRow
from evalstore.migration.words import named, unread
from evalstore.text import excerpt

# More lines than any output has; a larger bound decides nothing else.
_UNREACHABLE = 1e15


@dataclass(frozen=True, slots=True)
class ValueReading:
    """What one value means; `value` None asks for nothing."""

    value: Any = None
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()


def read(raw: Any, row: CheckRow) -> ValueReading:
    """Return what the legacy grader made of the value of `row.key`."""
    return _READ[row.read](raw, row)


def _texts(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, str | dict | list):
        return _crash(row.key, named(raw))
    items = list(raw)  # of a text its characters, of an object its keys, as the legacy grader had it
    if odd := [item for item in items if not isinstance(item, str)]:
        return _crash(row.key, f"a list that holds {named(odd[0])}")
    reasons = []
    if not isinstance(raw, list):
        part = "character" if isinstance(raw, str) else "key"
        reasons.append(f"{row.key} is {named(raw)} where a list belongs: the legacy grader took each {part} by itself")
    if "" in items and row.empty_passes:
        return _misleading(None, [*reasons, f"{row.key} has an empty text, which is in every answer: it always passes"])
    if "" in items:
        reasons.append(f"{row.key} has an empty text, which is in every answer")
    return _misleading(items, reasons)


def _texts_or_off(raw: Any, row: CheckRow) -> ValueReading:
    return _texts(raw, row) if raw else ValueReading()


def _truth(raw: Any, row: CheckRow) -> ValueReading:
    odd = bool(raw) and raw is not True
    return _misleading(bool(raw), [f"{row.key} is {_shown(raw)}, which counts as true"] if odd else [])


def _at_least(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _crash(row.key, named(raw)) if raw else ValueReading()
    return _bound(raw, row, max(0, raw if isinstance(raw, int) else math.ceil(min(float(raw), _UNREACHABLE))))


def _at_most(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _crash(row.key, named(raw))
    return _bound(raw, row, max(0, raw if isinstance(raw, int) else math.floor(min(float(raw), row.limit))))


def _bound(raw: int | Decimal, row: CheckRow, whole: int) -> ValueReading:
    if raw is True or (raw > 0 and whole != raw):
        outcome = MigrationOutcome.LOSSY if raw is True else MigrationOutcome.MIGRATED
        return ValueReading(int(whole), outcome, (f"{row.key} is {_shown(raw)}, which counts as {int(whole)}",))
    return ValueReading(int(whole))


def _options(raw: Any, row: CheckRow) -> ValueReading:
    if not raw:
        return ValueReading()
    if not isinstance(raw, dict):
        return _crash(row.key, named(raw))
    rows = {option.key: option for option in row.options}
    readings = [(key, read(item, rows[key])) for key, item in raw.items() if key in rows]
    value = {key: reading.value for key, reading in readings if reading.value is not None}
    outcome = find_worst_outcome(reading.outcome for _, reading in readings)
    reasons = [reason for _, reading in readings for reason in reading.reasons]
    if not value and outcome is not MigrationOutcome.REFUSED:
        outcome = MigrationOutcome.LOSSY
        reasons.append("it asks for nothing that the legacy grader reads")
    reasons += unread((key for key in raw if key not in rows), rows)
    return ValueReading(value, outcome, tuple(f"{row.key}: {reason}" for reason in reasons))


def _misleading(value: Any, reasons: list[str]) -> ValueReading:
    return ValueReading(value, MigrationOutcome.LOSSY if reasons else MigrationOutcome.MIGRATED, tuple(reasons))


def _crash(key: str, what: str) -> ValueReading:
    return ValueReading(None, MigrationOutcome.REFUSED, (f"{key} is {what}, which crashes the legacy grader",))


def _shown(raw: Any) -> str:
    if isinstance(raw, str):
        return f"the text {excerpt(raw, 40)!r}"
    return named(raw) if isinstance(raw, bool | list | dict) else str(raw)


_READ: Mapping[str, Callable[[Any, CheckRow], ValueReading]] = {
    "texts": _texts,
    "texts_or_off": _texts_or_off,
    "truth": _truth,
    "at_least": _at_least,
    "at_most": _at_most,
    "options": _options,
}
