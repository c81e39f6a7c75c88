"""Reads single values as the legacy grader did: what a check needs, and whether the file misleads about it.

The grader is Python that trusts its input (it iterates a text like a list, and any true value counts as true), so each
reading follows Python and reports where that misleads. A value that crashes the grader is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalstore.migration.outcome import MigrationOutcome, classify_losses, find_worst_outcome
from evalstore.migration.table import CheckRow
from evalstore.migration.unknown_keys import describe_type, describe_unknown_keys
from evalstore.text import make_excerpt

# More lines than any output has: larger bounds have the same effect.
_UNREACHABLE = 1e15


@dataclass(frozen=True, slots=True)
class ValueReading:
    """What one value asks for (`value`; None: nothing), with its outcome and reasons."""

    value: Any = None
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()


def read_value(raw: Any, row: CheckRow) -> ValueReading:
    """Return how the legacy grader reads the value of `row.key`."""
    return _READERS[row.reader](raw, row)


def _read_texts(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, str | dict | list):
        return _refuse_crash(row.key, describe_type(raw))
    items = list(raw)  # like the legacy grader: the characters of a text, the keys of a mapping
    if misfits := [item for item in items if not isinstance(item, str)]:
        return _refuse_crash(row.key, f"a list that holds {describe_type(misfits[0])}")
    reasons = []
    if not isinstance(raw, list):
        part = "character" if isinstance(raw, str) else "key"
        reasons.append(
            f"{row.key} is {describe_type(raw)} where a list belongs: the legacy grader took each {part} by itself"
        )
    # The empty text is in every output: where any item suffices, the check is always passed.
    if "" in items and row.empty_passes:
        return _make_reading(
            None, [*reasons, f"{row.key} has an empty text, which is in every answer: it always passes"]
        )
    if "" in items:
        reasons.append(f"{row.key} has an empty text, which is in every answer")
    return _make_reading(items, reasons)


def _read_texts_or_off(raw: Any, row: CheckRow) -> ValueReading:
    return _read_texts(raw, row) if raw else ValueReading()


def _read_truth(raw: Any, row: CheckRow) -> ValueReading:
    is_misleading = bool(raw) and raw is not True
    return _make_reading(
        bool(raw), [f"{row.key} is {_describe_value(raw)}, which counts as true"] if is_misleading else []
    )


def _read_minimum(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _refuse_crash(row.key, describe_type(raw)) if raw else ValueReading()
    # A count is whole, so a bound between two counts is the next one.
    return _make_bound(raw, row, max(0, raw if isinstance(raw, int) else math.ceil(min(float(raw), _UNREACHABLE))))


def _read_maximum(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _refuse_crash(row.key, describe_type(raw))
    return _make_bound(raw, row, max(0, raw if isinstance(raw, int) else math.floor(min(float(raw), row.limit))))


def _make_bound(raw: int | Decimal, row: CheckRow, whole: int) -> ValueReading:
    if raw is True or (raw > 0 and whole != raw):
        outcome = MigrationOutcome.LOSSY if raw is True else MigrationOutcome.MIGRATED
        return ValueReading(
            int(whole), outcome, (f"{row.key} is {_describe_value(raw)}, which counts as {int(whole)}",)
        )
    return ValueReading(int(whole))


def _read_options(raw: Any, row: CheckRow) -> ValueReading:
    if not raw:
        return ValueReading()
    if not isinstance(raw, dict):
        return _refuse_crash(row.key, describe_type(raw))
    rows = {option.key: option for option in row.options}
    readings = [(key, read_value(item, rows[key])) for key, item in raw.items() if key in rows]
    value = {key: reading.value for key, reading in readings if reading.value is not None}
    outcome = find_worst_outcome(reading.outcome for _, reading in readings)
    reasons = [reason for _, reading in readings for reason in reading.reasons]
    if not value and outcome is not MigrationOutcome.REFUSED:
        outcome = MigrationOutcome.LOSSY
        reasons.append("it asks for nothing that the legacy grader reads")
    reasons += describe_unknown_keys((key for key in raw if key not in rows), rows)
    return ValueReading(value, outcome, tuple(f"{row.key}: {reason}" for reason in reasons))


def _make_reading(value: Any, reasons: list[str]) -> ValueReading:
    return ValueReading(value, classify_losses(reasons), tuple(reasons))


def _refuse_crash(key: str, description: str) -> ValueReading:
    return ValueReading(None, MigrationOutcome.REFUSED, (f"{key} is {description}, which crashes the legacy grader",))


def _describe_value(raw: Any) -> str:
    if isinstance(raw, str):
        return f"the text {make_excerpt(raw, 40)!r}"
    return describe_type(raw) if isinstance(raw, bool | list | dict) else str(raw)


def _read_text(raw: Any, row: CheckRow) -> ValueReading:
    return ValueReading(raw) if raw is None or isinstance(raw, str) else _refuse_type(raw, row, "a text")


def _read_texts_or_text(raw: Any, row: CheckRow) -> ValueReading:
    items = [raw] if isinstance(raw, str) else [] if raw is None else raw
    if not isinstance(items, list):
        return _refuse_type(raw, row, "a list of texts")
    if misfits := [item for item in items if not isinstance(item, str)]:
        return _refuse_type(misfits[0], row, "only texts", " in its list")
    # The empty text is in every answer: where one item is enough, all of them ask for nothing.
    if "" in items and row.kind == "must_contain_any":
        rest = [item for item in items if item] if row.is_each else []
        return ValueReading(rest, reasons=(f"{row.key} has an empty text, which is in every answer",))
    return ValueReading(items)


def _read_number(raw: Any, row: CheckRow) -> ValueReading:
    is_number = isinstance(raw, int | Decimal) and not isinstance(raw, bool)
    return ValueReading(raw) if raw is None or is_number else _refuse_type(raw, row, "a number")


def _read_anything(raw: Any, _: CheckRow) -> ValueReading:
    return ValueReading(raw)


def _refuse_type(raw: Any, row: CheckRow, wanted: str, where: str = "") -> ValueReading:
    reason = f"{row.key} has {describe_type(raw)}{where} where the table wants {wanted}"
    return ValueReading(None, MigrationOutcome.REFUSED, (reason,))


_READERS: Mapping[str, Callable[[Any, CheckRow], ValueReading]] = {
    "texts": _read_texts,
    "texts_or_off": _read_texts_or_off,
    "truth": _read_truth,
    "at_least": _read_minimum,
    "at_most": _read_maximum,
    "options": _read_options,
    # The readings below take nothing for granted of the grader: they are for tables of the user's own.
    "text": _read_text,
    "texts_or_text": _read_texts_or_text,
    "number": _read_number,
    "value": _read_anything,
}
