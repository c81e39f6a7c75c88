"""Accuracy of single fields of a JSON answer: one schema a field, with the values that the test expects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.judged import read_weight
from evalstore.migration.readers.agentevals.keys import check_keys
from evalstore.migration.readers.agentevals.said import (
    CaseScope,
    Check,
    Grading,
    Term,
    joined,
    name_of,
    number,
    skipped,
    unmapped,
)
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_PATH = re.compile(r"(?:[^.\[\]]+(?:\[[0-9]{1,4}\])*)(?:\.[^.\[\]]+(?:\[[0-9]{1,4}\])*)*")
_SHOWN = 60
_MISSING = object()
_KNOWN = ("exact", "numeric_tolerance", "date")  # no set: what stands there may have no hash
_LOSSY = (
    "the runner leaves out optional fields that the answer lacks; here they count as right",
    "the runner reads the numbers in texts as numbers, and compares what it finds in its own way",
)


def read_fields(raw: Raw, pointer: Pointer, scope: CaseScope, _: Mapping[str, Any]) -> Grading:
    """Read a list of fields, each with its path, its way to compare, and its weight, as one group."""
    given = raw.get("fields")
    if not isinstance(given, list) or not given:
        return skipped(pointer, "it has no fields")
    if isinstance(scope.expected, str):
        return unmapped(
            raw, pointer, "the expected answer is a text, and it is not known whether the runner reads fields in it"
        )
    said = joined(_field(item, (*pointer, "fields", index), scope) for index, item in enumerate(given))
    if not said.terms:
        return said
    combine = "all_pass" if raw.get("aggregation") == "all_or_nothing" else "weighted_avg"
    group = Term(name_of(raw), pointer, members=said.terms, combine=combine, steps=0, unmapped=said.unmapped)
    return Grading((group,), _LOSSY, said.notes)


def _field(raw: Any, pointer: Pointer, scope: CaseScope) -> Grading:
    path = raw.get("path") if isinstance(raw, dict) else None
    if not isinstance(path, str) or not path:
        return skipped(pointer, "it has no path of a field")
    match = raw.get("match")
    if match not in _KNOWN:
        return skipped(pointer, f"it does not know the way {make_excerpt(str(match), _SHOWN)} to compare")
    if not _PATH.fullmatch(path):
        return unmapped(raw, pointer, f"it is not known where the runner finds {make_excerpt(path, _SHOWN)}")
    steps: list[str | int] = [name or int(index) for name, index in _STEP.findall(path)]
    wanted = _at(scope.expected, steps)
    if wanted is not _MISSING and match == "date":
        return unmapped(raw, pointer, "no check kind compares dates")
    value = {} if wanted is _MISSING else _value(wanted, raw)
    if value is None:
        return unmapped(raw, pointer, "the expected value is no number, or its tolerance is none")
    required = raw.get("required") is not False and wanted is not _MISSING
    check: Check = {"kind": "json_schema", "schema": _schema(steps, value, required=required)}
    if wanted is _MISSING:
        check = {"kind": "regex", "pattern": "\\A", "description": "the test expects nothing of this field"}
    said = Grading((Term(path, pointer, check, weight=read_weight(raw, pointer)),))
    return joined([said, check_keys(raw, pointer, scope, "field")])


def _value(wanted: Any, raw: Raw) -> dict[str, Any] | None:
    if raw["match"] == "exact":
        return {"const": wanted}
    middle, width = number(wanted), number(raw.get("tolerance", 0))
    if middle is None or width is None or width < 0:
        return None
    width *= abs(middle) if raw.get("relative") is True else 1
    low, high = _decimal(middle - width), _decimal(middle + width)
    return None if low is None or high is None else {"type": "number", "minimum": low, "maximum": high}


def _schema(steps: list[str | int], value: dict[str, Any], *, required: bool) -> dict[str, Any]:
    for step in reversed(steps):
        if isinstance(step, str):
            need: dict[str, Any] = {"required": [step]} if required else {}
            value = {"type": "object", "properties": {step: value}, **need}
        else:
            need = {"minItems": step + 1} if required else {}
            value = {"type": "array", "prefixItems": [*([True] * step), value], **need}
    return value


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, _MISSING) if isinstance(value, dict) else _MISSING
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else _MISSING
    return value


def _decimal(value: Fraction) -> int | Decimal | None:
    if value.denominator == 1:
        return int(value)
    found = Decimal(value.numerator) / Decimal(value.denominator)
    return found if Fraction(found) == value else None
