"""Reads ai_eval: datasets that pin rubrics, rubrics with two-part versions, judges, and targets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from evalstore.migration.case_reading import CaseRow, RowLabel, read_rows, refuse_source
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.outcome import classify_losses
from evalstore.migration.readers.ai_eval.judges import read_judge
from evalstore.migration.readers.ai_eval.rubrics import read_rubric
from evalstore.migration.readers.ai_eval.shapes import parse_version, read_names
from evalstore.migration.readers.ai_eval.targets import read_target
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import (
    describe_misfits,
    describe_type,
    describe_unknown_keys,
    is_question_value,
)
from evalstore.model import Kind, is_id
from evalstore.text import make_excerpt

_REF = re.compile(r"rubric/(?P<id>[^@]+)@(?P<version>[^@]+)")
_TOOL = {"name", "args"}


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the extraction of a dataset, a rubric, a target or a judge.

    Their root keys distinguish them.
    """
    root: Mapping[str, Any] = legacy.document.value
    if "questions" in root:
        return _read_dataset(root, table)
    if "checks" in root:
        return read_rubric(root, table)
    # Detection has seen one of the keys of the table, so one of them exists.
    return read_target(root, legacy, table) if "graders" in root else read_judge(root, table)


def _read_dataset(root: Mapping[str, Any], table: FormatTable) -> Extraction:
    rows = root["questions"]
    if not isinstance(rows, list):
        empty = (
            f"questions is {describe_type(rows)}: the program takes the dataset for an empty one"
        )
        return refuse_source("dataset", ("questions",), empty)
    name = find_suite_name(root, table)
    head = ArtifactDraft(Kind.DATASET, "suite", read_names(root), ("questions",), name=name)
    cases = read_rows(rows, ("questions",), _label_row, partial(_read_row, table=table))
    return Extraction("dataset", head, cases)


def _label_row(row: Any, _: int) -> RowLabel:
    if not isinstance(row, dict):
        return RowLabel(problem=f"the row is {describe_type(row)} where a mapping belongs")
    for key in ("id", "input"):
        if not isinstance(row.get(key), str) or not row[key]:
            return RowLabel(problem=f"{key} is not text, so the row cannot be asked or named")
    return RowLabel(row["id"])


def _read_row(case: CaseRow, table: FormatTable) -> LegacyCase:
    row: Mapping[str, Any] = case.raw
    known = [key for keys in table.form["known"] for key in keys]
    ref, reasons = _parse_rubric_ref(row.get("rubric_ref"))
    reasons += [f"{key}: {reason}" for key, reason in table.form["lost"].items() if row.get(key)]
    aside = {key: reason for key, reason in table.form["aside"].items() if row.get(key)}
    remarks = [f"{key}: {reason}; kept as data" for key, reason in aside.items()]
    remarks += describe_unknown_keys((key for key in row if key not in known), known)
    question = _build_question(row, case.label, table)
    return LegacyCase(
        case.pointer,
        row,
        classify_losses(reasons),
        tuple(reasons),
        question | ref,
        remarks=(*describe_misfits(row, question, table.mirrors), *remarks, *case.remarks),
    )


def _build_question(row: Mapping[str, Any], name: str, table: FormatTable) -> dict[str, Any]:
    """Return the question: mirrored fields that fit, and the criteria as context for a judge."""
    fields = ((key, field) for key, field in table.mirrors.items() if field and key in row)
    mapped = {field: row[key] for key, field in fields if _fits(field, row[key])}
    criteria = (
        {"context": mapped["criteria"]} if "criteria" in mapped and "context" not in row else {}
    )
    return mapped | {"id": name} | criteria


def _parse_rubric_ref(value: Any) -> tuple[dict[str, str], list[str]]:
    if value is None:
        return {}, []
    match = _REF.fullmatch(value) if isinstance(value, str) else None
    version = parse_version(match["version"]) if match else None
    if match is None or version is None or not is_id(match["id"]):
        return {}, [
            f"rubric_ref {make_excerpt(str(value))!r} names no rubric and version: kept as it is"
        ]
    return {"rubric_ref": f"rubric/{match['id']}@{version}"}, []


def _fits(field: str, value: Any) -> bool:
    """Whether a question can hold a value; other properties of an expected tool may forbid it."""
    tools = value if field == "expected_tools" and isinstance(value, list) else []
    return is_question_value(field, value) and not any(
        isinstance(item, dict) and item.keys() - _TOOL for item in tools
    )
