"""Restores legacy cases from questions and rubrics; a migration proves with it that nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalstore.errors import RefusedError
from evalstore.migration.remainder import decode_value
from evalstore.migration.table import CheckRow, FormatTable
from evalstore.migration.value_readings import read_value
from evalstore.model import is_cosmetic

Checks = Sequence[Mapping[str, Any]]


def make_check(row: CheckRow, value: Any) -> dict[str, Any] | None:
    """Return the check that a value asks for; None where it asks for nothing."""
    if value is None or value is False or value in ([], {}):
        return None
    params = value if row.options else {row.into: value} if row.into else {}
    return {"kind": row.kind, **params, **row.parameters}


def restore_legacy_case(question: Mapping[str, Any], checks: Checks, table: FormatTable) -> dict[str, Any]:
    """Return the legacy case of a question and the checks of its rubric, or raise `RefusedError`.

    Current values of the question win. A value in `x_source.kept` (an empty list, say, which no check expresses) is
    restored while it still means what the rubric asks, and the original id while the question still has its label.
    """
    source = question.get("x_source", {})
    values = {
        **{key: decode_value(item) for key, item in question.get("metadata", {}).items()},
        table.id: _restore_id(question, source, table),
        table.input: question["input"],
        **_restore_graded_keys(checks, decode_value(source.get("kept", {})), table),
    }
    return _order_keys(values, source.get("keys") or list_key_order(table))


def restore_suite(dataset: Mapping[str, Any], cases: Iterable[tuple[str, Any]], table: FormatTable) -> dict[str, Any]:
    """Return the legacy file of a dataset and its cases, each with its pointer in the source (empty: at the end)."""
    source = dataset.get("x_source", {})
    unmapped = [(item["pointer"], decode_value(item["value"])) for item in dataset.get("x_unmapped", ())]
    places = sorted([*cases, *unmapped], key=lambda case: _pointer_index(case[0]))
    key = source.get("pointer", "").removeprefix("/") or next(iter(table.lists))
    metadata = {name: decode_value(item) for name, item in dataset.get("metadata", {}).items()}
    values = {**metadata, key: [case for _, case in places]}
    return _order_keys(values, source.get("keys") or table.root_data)


def list_key_order(table: FormatTable) -> list[str]:
    """Return the usual order of a case's keys."""
    return list(dict.fromkeys([*table.order, table.id, table.input, *table.data, *(row.key for row in table.checks)]))


def make_label(raw: int | str, table: FormatTable) -> str:
    """Return the label that the legacy runner gives a case by its id."""
    return raw if isinstance(raw, str) else table.number_format.format(raw)


def _restore_id(question: Mapping[str, Any], source: Mapping[str, Any], table: FormatTable) -> Any:
    name = question["id"]
    original = source.get("id", name)
    # A case with a repeated id has a label with a number.
    own_name = re.compile(rf"{re.escape(make_label(original, table))}(_[0-9]+)?")
    return original if own_name.fullmatch(name) else name


def _restore_graded_keys(checks: Checks, remainder: Mapping[str, Any], table: FormatTable) -> dict[str, Any]:
    checks_by_key = _group_by_key([_strip_check(check) for check in checks], table)
    values = {}
    for row in table.checks:
        check = checks_by_key.get(row.key)
        if row.key in remainder and make_check(row, read_value(remainder[row.key], row).value) == check:
            values[row.key] = remainder[row.key]
        elif check:
            values[row.key] = restore_value(check, row)
    return values


def _group_by_key(checks: list[dict[str, Any]], table: FormatTable) -> dict[str, dict[str, Any]]:
    if checks == table.no_check["checks"]:
        return {}
    # Each key of a case becomes one check, so a second check of a kind has no key.
    rows = {row.kind: row for row in table.checks}
    checks_by_key: dict[str, dict[str, Any]] = {}
    for check in checks:
        row = rows.get(check["kind"])
        if (
            row is None
            or row.key in checks_by_key
            or make_check(row, read_value(restore_value(check, row), row).value) != check
        ):
            raise RefusedError(f"{table.format} has no words for this {check['kind']} check")
        checks_by_key[row.key] = check
    return checks_by_key


def restore_value(check: Mapping[str, Any], row: CheckRow) -> Any:
    """Return the legacy value of a check."""
    if row.options:
        return {option.key: check[option.key] for option in row.options if option.key in check}
    return check.get(row.into) if row.into else True


def _strip_check(check: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in check.items() if key != "id" and not is_cosmetic(key)}


def _order_keys(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values[key] for key in dict.fromkeys([*keys, *values]) if key in values}


def _pointer_index(pointer: str) -> float:
    digits = pointer.rpartition("/")[2]
    return int(digits) if digits.isdecimal() else float("inf")
