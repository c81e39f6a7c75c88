"""How legacy graders took a value: what a check makes of it, and whether they did what the file seems to ask.

They are Python that trusts its input (formats: a text is iterated like a list, any true value counts as true), so each
reading follows the language, and says so where that misleads. What crashes them is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalstore.migrate.outcome import Outcome, worst
from evalstore.migrate.table import Row
from evalstore.text import excerpt, nearest

# More lines than any output has; a larger bound decides nothing else.
_UNREACHABLE = 1e15
_NAMES: Mapping[type, str] = {dict: "an object", str: "a text", list: "a list", int: "a number", Decimal: "a number"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one value means; `value` None asks for nothing."""

    value: Any = None
    outcome: Outcome = Outcome.MIGRATED
    reasons: tuple[str, ...] = ()


def read(raw: Any, row: Row) -> Reading:
    """Return what the legacy grader made of the value of `row.key`."""
    return _READ[row.read](raw, row)


def named(raw: Any) -> str:
    """Say what kind of value this is, in the words of JSON."""
    return _NAMES.get(type(raw)) or {None: "null", True: "true", False: "false"}[raw]


def _texts(raw: Any, row: Row) -> Reading:
    if not isinstance(raw, str | dict | list):
        return _crash(row.key, named(raw))
    if odd := [item for item in raw if not isinstance(item, str)]:
        return _crash(row.key, f"a list that holds {named(odd[0])}")
    reasons = []
    if not isinstance(raw, list):
        part = "character" if isinstance(raw, str) else "key"
        reasons.append(f"{row.key} is {named(raw)} where a list belongs: the legacy grader took each {part} by itself")
    if "" in raw and row.empty_passes:
        return _misleading(None, [*reasons, f"{row.key} has an empty text, which is in every answer: it always passes"])
    if "" in raw:
        reasons.append(f"{row.key} has an empty text, which is in every answer")
    return _misleading(list(raw), reasons)


def _truth(raw: Any, row: Row) -> Reading:
    odd = bool(raw) and raw is not True
    return _misleading(bool(raw), [f"{row.key} is {_shown(raw)}, which counts as true"] if odd else [])


def _at_least(raw: Any, row: Row) -> Reading:
    if not isinstance(raw, int | Decimal):
        return _crash(row.key, named(raw)) if raw else Reading()
    return _bound(raw, row, max(0, raw if isinstance(raw, int) else math.ceil(min(float(raw), _UNREACHABLE))))


def _at_most(raw: Any, row: Row) -> Reading:
    if not isinstance(raw, int | Decimal):
        return _crash(row.key, named(raw))
    return _bound(raw, row, max(0, raw if isinstance(raw, int) else math.floor(min(float(raw), row.limit))))


def _bound(raw: int | Decimal, row: Row, whole: int) -> Reading:
    odd = raw is True or whole != raw > 0
    return _misleading(int(whole), [f"{row.key} is {_shown(raw)}, which counts as {int(whole)}"] if odd else [])


def _options(raw: Any, row: Row) -> Reading:
    if not raw:
        return Reading()
    if not isinstance(raw, dict):
        return _crash(row.key, named(raw))
    rows = {option.key: option for option in row.options}
    readings = {key: read(value, rows[key]) for key, value in raw.items() if key in rows}
    ignored = [unread(key, rows) for key in raw if key not in rows]
    value = {key: reading.value for key, reading in readings.items() if reading.value is not None}
    reasons = [f"{row.key}: {reason}" for reading in readings.values() for reason in reading.reasons]
    if not value:
        reasons.append(f"{row.key} asks for nothing that the legacy grader reads")
    outcome = worst([*(reading.outcome for reading in readings.values()), Outcome.MIGRATED if value else Outcome.LOSSY])
    return Reading(value, outcome, (*reasons, *(f"{row.key}: {reason}" for reason in ignored)))


def unread(key: str, known: Iterable[str]) -> str:
    """Say of a key that no grader reads it, and which one it may have been meant to be."""
    guess = nearest(key, known)
    return f"no grader reads {excerpt(key)!r}, kept as data" + (f"; did you mean {guess}?" if guess else "")


def _misleading(value: Any, reasons: list[str]) -> Reading:
    return Reading(value, Outcome.LOSSY if reasons else Outcome.MIGRATED, tuple(reasons))


def _crash(key: str, what: str) -> Reading:
    return Reading(None, Outcome.REFUSED, (f"{key} is {what}, which crashes the legacy grader",))


def _shown(raw: Any) -> str:
    if isinstance(raw, str):
        return f"the text {excerpt(raw, 40)!r}"
    return named(raw) if isinstance(raw, bool | list | dict) else str(raw)


_READ: Mapping[str, Callable[[Any, Row], Reading]] = {
    "texts": _texts,
    "truth": _truth,
    "at_least": _at_least,
    "at_most": _at_most,
    "options": _options,
}
