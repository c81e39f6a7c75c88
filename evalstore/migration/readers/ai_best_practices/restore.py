"""From questions and rubrics back to legacy cases; a migration proves with it that nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalstore.errors import RefusedError
from evalstore.migration.fold import whole
from evalstore.migration.readers.ai_best_practices.readings import read
from evalstore.migration.table import CheckRow, FormatTable
from evalstore.model import is_cosmetic

Checks = Sequence[Mapping[str, Any]]


def check_of(row: CheckRow, value: Any) -> dict[str, Any] | None:
    """Return the check that a value asks for; None when it asks for nothing."""
    if value is None or value is False or value in ([], {}):
        return None
    params = value if row.options else {row.into: value} if row.into else {}
    return {"kind": row.kind, **params, **row.fixed}


def case_of(question: Mapping[str, Any], checks: Checks, table: FormatTable) -> dict[str, Any]:
    """Return the legacy case of a question and the checks of its rubric, or raise `RefusedError`.

    What the question says today comes first. A value of the source that the format's other words cannot give back
    (`x_source.kept`: an empty list, say) speaks as long as it still means what the rubric asks, and its id as long as
    the question is called by it.
    """
    source = question.get("x_source", {})
    found = {
        **question.get("metadata", {}),
        table.id: _id(question, source, table),
        table.input: question["input"],
        **_graded(checks, source.get("kept", {}), table),
    }
    return _ordered(found, source.get("keys") or order(table))


def suite_of(dataset: Mapping[str, Any], cases: Iterable[tuple[str, Any]], table: FormatTable) -> dict[str, Any]:
    """Return the legacy file of a dataset and its cases, each with its pointer in the source (or empty)."""
    source = dataset.get("x_source", {})
    unmapped = [(item["pointer"], whole(item["value"])) for item in dataset.get("x_unmapped", ())]
    places = sorted([*cases, *unmapped], key=lambda case: _index(case[0]))
    key = source.get("pointer", "").removeprefix("/") or next(iter(table.lists))
    found = {**dataset.get("metadata", {}), key: [case for _, case in places]}
    return _ordered(found, source.get("keys") or table.root_data)


def order(table: FormatTable) -> list[str]:
    """Return the usual order of a case's keys."""
    return list(dict.fromkeys([*table.order, table.id, table.input, *table.data, *(row.key for row in table.checks)]))


def label_of(raw: int | str, table: FormatTable) -> str:
    """Return what the legacy runner calls a case by its id."""
    return raw if isinstance(raw, str) else table.number.format(raw)


def _id(question: Mapping[str, Any], source: Mapping[str, Any], table: FormatTable) -> Any:
    name = question["id"]
    kept = source.get("id", name)
    # A case whose id another one has, too, is called by a number behind that.
    called = re.compile(rf"{re.escape(label_of(kept, table))}(_[0-9]+)?")
    return kept if called.fullmatch(name) else name


def _graded(checks: Checks, kept: Mapping[str, Any], table: FormatTable) -> dict[str, Any]:
    asked = _by_key([_bare(check) for check in checks], table)
    found = {}
    for row in table.checks:
        check = asked.get(row.key)
        if row.key in kept and check_of(row, read(kept[row.key], row).value) == check:
            found[row.key] = kept[row.key]
        elif check:
            found[row.key] = back(check, row)
    return found


def _by_key(checks: list[dict[str, Any]], table: FormatTable) -> dict[str, dict[str, Any]]:
    if checks == table.no_check["checks"]:
        return {}
    rows = {row.kind: row for row in table.checks}
    asked: dict[str, dict[str, Any]] = {}
    for check in checks:
        row = rows.get(check["kind"])
        if row is None or row.key in asked or check_of(row, read(back(check, row), row).value) != check:
            raise RefusedError(f"{table.format} has no words for this {check['kind']} check")
        asked[row.key] = check
    return asked


def back(check: Mapping[str, Any], row: CheckRow) -> Any:
    """Return the legacy value that asks for a check."""
    if row.options:
        return {option.key: check[option.key] for option in row.options if option.key in check}
    return check.get(row.into) if row.into else True


def _bare(check: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in check.items() if key != "id" and not is_cosmetic(key)}


def _ordered(found: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: found[key] for key in dict.fromkeys([*keys, *found]) if key in found}


def _index(pointer: str) -> float:
    digits = pointer.rpartition("/")[2]
    return int(digits) if digits.isdecimal() else float("inf")
