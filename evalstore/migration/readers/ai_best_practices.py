"""Reads suites of Drupal's AI best practices.

Substrings, `php -l` and line counts become checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from evalstore.documents import format_json_pointer
from evalstore.errors import RefusedError
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.case_reading import (
    CaseRow,
    RowLabel,
    draft_case_rubric,
    find_cases,
    read_rows,
)
from evalstore.migration.exporting.export_result import EditedRubricError
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.outcome import MigrationOutcome, find_worst_outcome
from evalstore.migration.remainder import decode_value, encode_value, is_same_data
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import CheckRow, FormatTable
from evalstore.migration.value_readings import (
    ValueReading,
    describe_type,
    describe_unknown_keys,
    read_value,
)
from evalstore.model import Kind, is_cosmetic

Checks = Sequence[dict[str, Any]]
_NO_CHECK = "no check: any answer that is not empty passes, as the runner had it"


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions and rubrics of a suite that has one of the table's lists at its root."""
    found = find_cases(legacy, table)
    if isinstance(found, Extraction):
        return found
    root: Mapping[str, Any] = legacy.document.value
    table, key = found.table, found.key
    metadata = {name: encode_value(value) for name, value in root.items() if name != key}
    value = {**({"metadata": metadata} if metadata else {}), "x_source": {"pointer": f"/{key}"}}
    # The order of the root's keys is stored only if it is unusual.
    usual = list(restore_suite(value, [], table)) == list(root)
    source = value["x_source"] | ({} if usual else {"keys": list(root)})
    name = find_suite_name(root, table)
    dataset = ArtifactDraft(
        Kind.DATASET, "suite", value | {"x_source": source}, found.at, name=name
    )
    cases = read_rows(
        found.rows, found.at, partial(_label_case, table=table), partial(_extract_case, table=table)
    )
    return Extraction(found.dialect, dataset, cases)


def restore(
    main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable
) -> Any:
    """Return the suite of a dataset and its rubrics.

    Raises `RefusedError` for what the format cannot express.
    """
    table = table.select_dialect(main.get("x_source", {}).get("dialect"))
    cases: list[tuple[str, Any]] = []
    for question in main["questions"]:
        pointer = question.get("x_source", {}).get("pointer", "")
        cases.append((pointer, _restore_case(question, rubrics, table)))
    return restore_suite(main, cases, table)


def _restore_case(
    question: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable
) -> dict[str, Any]:
    ref = question.get("rubric_ref")
    try:
        return restore_legacy_case(
            question, _list_checks(rubrics[ref], table) if ref else [], table
        )
    except RefusedError as error:
        hint = "export an earlier version of the dataset"
        raise EditedRubricError(question["id"], str(ref), error.message, hint=hint) from None


def _list_checks(rubric: Mapping[str, Any], table: FormatTable) -> Any:
    if rubric["scoring"] != table.scoring:
        raise RefusedError(f"{table.format} has no words for the scoring")
    return rubric["checks"]


def _label_case(raw: Any, _: int, table: FormatTable) -> RowLabel:
    problem = _find_case_problem(raw, table)
    return RowLabel("", problem) if problem else RowLabel(make_label(raw[table.id], table))


def _extract_case(case: CaseRow, table: FormatTable) -> LegacyCase:
    raw, pointer = case.raw, case.pointer
    # A script may decide such a case alone: nothing in it can be graded here.
    script: Mapping[str, Any] = table.form.get("script", {})
    if not all(raw.get(name) == value for name, value in script.get("where", {}).items()):
        script = {}
    if script and raw.get(script["key"]):
        decides, why = script["decides"], script["why_unscored"]
        return LegacyCase(pointer, raw, MigrationOutcome.UNMAPPED, (decides,), why_unscored=why)
    readings = {row.key: read_value(raw[row.key], row) for row in table.checks if row.key in raw}
    outcome = find_worst_outcome(reading.outcome for reading in readings.values())
    reasons = tuple(reason for reading in readings.values() for reason in reading.reasons)
    if outcome is MigrationOutcome.REFUSED:
        return LegacyCase(pointer, raw, outcome, reasons)
    rows = [(row, readings[row.key].value) for row in table.checks if row.key in readings]
    checks = [check for row, value in rows if (check := make_check(row, value))]
    none = "" if checks else table.form.get("no_check", _NO_CHECK)
    if none not in {"", _NO_CHECK}:
        outcome = find_worst_outcome([outcome, MigrationOutcome.LOSSY])
    known = list_key_order(table)
    extra = describe_unknown_keys((key for key in raw if key not in known), known)
    question = _build_question(raw, case.label, readings, table)
    # The proof of order: restoring the case from its question and checks gives the same keys.
    keys = (
        {}
        if list(raw) == list(restore_legacy_case(question, checks, table))
        else {"keys": list(raw)}
    )
    source = {"pointer": format_json_pointer(pointer), **question["x_source"], **keys}
    apart = script.get("absent", "")
    return LegacyCase(
        pointer,
        raw,
        outcome,
        tuple(filter(None, (*case.remarks, apart, *reasons, none))),
        question | {"x_source": source},
        draft_case_rubric(checks, table.scoring, table, _name_checks(checks, table)),
        remarks=tuple(extra),
    )


def _name_checks(checks: Checks, table: FormatTable) -> str:
    """Return what the first check asks for, in a word or two; empty if there is none."""
    if not checks:
        return ""
    kind: str = checks[0]["kind"]
    row = next(row for row in table.checks if row.kind == kind)
    texts = checks[0][row.into] if row.name_format and row.into else [""]
    slug = make_slug(texts[0])
    return row.name_format.format(slug) if row.name_format and slug else kind


def _find_case_problem(raw: Any, table: FormatTable) -> str:
    if not isinstance(raw, dict):
        return f"the case is {describe_type(raw)} where an object belongs"
    for key in (table.id, table.input):
        if key not in raw:
            return f"{key} is missing, without which the legacy runner crashes"
    if not isinstance(raw[table.id], int | str):
        return (
            f"{table.id} is {describe_type(raw[table.id])}, of which the legacy runner makes no "
            "label"
        )
    if raw[table.id] == "":
        return f"{table.id} is empty, so nothing can name the question"
    asked = raw[table.input]
    return "" if isinstance(asked, str) else f"{table.input} is {describe_type(asked)}, not a text"


def _build_question(
    raw: Mapping[str, Any], label: str, readings: Mapping[str, ValueReading], table: FormatTable
) -> dict[str, Any]:
    """Return the question.

    The `kept` in its `x_source` has the values that its checks do not restore.
    """
    mapped_keys = {table.id, table.input, *readings}
    metadata = {key: encode_value(value) for key, value in raw.items() if key not in mapped_keys}
    source: dict[str, Any] = {} if is_same_data(label, raw[table.id]) else {"id": raw[table.id]}
    remainder: dict[str, Any] = {}
    for row in table.checks:
        if row.key in readings:
            check = make_check(row, readings[row.key].value)
            if not check or not is_same_data(restore_value(check, row), raw[row.key]):
                remainder[row.key] = encode_value(raw[row.key])
    return {
        "id": label,
        "input": raw[table.input],
        **({"metadata": metadata} if metadata else {}),
        "x_source": source | ({"kept": remainder} if remainder else {}),
    }


def make_check(row: CheckRow, value: Any) -> dict[str, Any] | None:
    """Return the check that a value asks for; None if it asks for nothing."""
    if value is None or value is False or value in ([], {}):
        return None
    params = {row.into: value} if row.into else {}
    if row.options:
        params = value
    return {"kind": row.kind, **params, **row.parameters}


def restore_legacy_case(
    question: Mapping[str, Any], checks: Sequence[Mapping[str, Any]], table: FormatTable
) -> dict[str, Any]:
    """Return the legacy case of a question and its rubric's checks, or raise `RefusedError`.

    Current values of the question win. A value in `x_source.kept` (such as an empty list, which no
    check expresses) is restored as long as it still means what the rubric asks, and the original id
    as long as the question still has its label.
    """
    source = question.get("x_source", {})
    values = {
        **{key: decode_value(item) for key, item in question.get("metadata", {}).items()},
        table.id: _restore_id(question, source, table),
        table.input: question["input"],
        **_restore_graded_keys(checks, decode_value(source.get("kept", {})), table),
    }
    return _order_keys(values, source.get("keys") or list_key_order(table))


def restore_suite(
    dataset: Mapping[str, Any], cases: Iterable[tuple[str, Any]], table: FormatTable
) -> dict[str, Any]:
    """Return the legacy file of a dataset; cases come with their pointers (empty: at the end)."""
    source = dataset.get("x_source", {})
    unmapped = [
        (item["pointer"], decode_value(item["value"])) for item in dataset.get("x_unmapped", ())
    ]
    places = sorted([*cases, *unmapped], key=lambda case: _pointer_index(case[0]))
    key = source.get("pointer", "").removeprefix("/") or next(iter(table.lists))
    metadata = {name: decode_value(item) for name, item in dataset.get("metadata", {}).items()}
    values = {**metadata, key: [case for _, case in places]}
    return _order_keys(values, source.get("keys") or table.root_data)


def list_key_order(table: FormatTable) -> list[str]:
    """Return the usual order of a case's keys."""
    return list(
        dict.fromkeys(
            [*table.order, table.id, table.input, *table.data, *(row.key for row in table.checks)]
        )
    )


def make_label(raw: int | str, table: FormatTable) -> str:
    """Return the label that the legacy runner gives a case by its id."""
    return raw if isinstance(raw, str) else table.number_format.format(raw)


def _restore_id(question: Mapping[str, Any], source: Mapping[str, Any], table: FormatTable) -> Any:
    name = question["id"]
    original = source.get("id", name)
    # A case with a repeated id has a label with a number.
    own_name = re.compile(rf"{re.escape(make_label(original, table))}(_[0-9]+)?")
    return original if own_name.fullmatch(name) else name


def _strip_check(check: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a check asks for, without its id and unread keys."""
    return {key: item for key, item in check.items() if key != "id" and not is_cosmetic(key)}


def _restore_graded_keys(
    checks: Sequence[Mapping[str, Any]], remainder: Mapping[str, Any], table: FormatTable
) -> dict[str, Any]:
    checks_by_key = _group_by_key(list(map(_strip_check, checks)), table)
    values = {}
    for row in table.checks:
        check = checks_by_key.get(row.key)
        kept = remainder.get(row.key)
        if row.key in remainder and make_check(row, read_value(kept, row).value) == check:
            values[row.key] = kept
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
        again = make_check(row, read_value(restore_value(check, row), row).value) if row else None
        if row is None or row.key in checks_by_key or again != check:
            raise RefusedError(f"{table.format} has no words for this {check['kind']} check")
        checks_by_key[row.key] = check
    return checks_by_key


def restore_value(check: Mapping[str, Any], row: CheckRow) -> Any:
    """Return the legacy value of a check."""
    if row.options:
        return {option.key: check[option.key] for option in row.options if option.key in check}
    return check.get(row.into) if row.into else True


def _order_keys(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values[key] for key in dict.fromkeys([*keys, *values]) if key in values}


def _pointer_index(pointer: str) -> float:
    digits = pointer.rpartition("/")[2]
    return int(digits) if digits.isdecimal() else float("inf")
