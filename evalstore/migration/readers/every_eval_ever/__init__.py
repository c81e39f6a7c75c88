"""Reads Every Eval Ever: a file becomes a run, its samples questions; judges get rubrics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Document, OpaqueValue, Pointer
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.readers.every_eval_ever.results import (
    SAMPLES,
    find_result_notes,
    list_rubrics,
    pair_results,
)
from evalstore.migration.readers.every_eval_ever.samples import extract_questions
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_type
from evalstore.model import Kind
from evalstore.text import make_excerpt

RUNS = True
_LINES = frozenset({".jsonl", ".ndjson"})


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the extraction of a file of rows or of an aggregate.

    The file itself is stored as a run.
    """
    root: Any = legacy.document.value
    dialect = table.lists["" if isinstance(root, list) else "evaluation_results"]
    problems = _find_json_problems(legacy.document)
    problem = "" if isinstance(root, list) else next(iter(problems.values()), "")
    if problem := problem or _find_file_problem(root, PurePosixPath(legacy.file).suffix.lower()):
        return refuse_source(dialect, (), problem)
    if not isinstance(root, list):
        return _extract_aggregate(root, legacy, table)
    cases, notes = extract_questions(root, (), legacy.document, problems)
    has_questions = any(not case.is_set_aside for case in cases)
    return Extraction(
        dialect, ArtifactDraft(Kind.DATASET, "suite", {}), cases, notes=notes, is_run=has_questions
    )


def _find_json_problems(document: Document) -> dict[Any, str]:
    """Return what the format's own validator does not accept as JSON, by key or row.

    It reads strict JSON, which has no duplicate keys (which one counts is unknown) and no NaN.
    """
    problems: dict[Any, str] = {}
    for key in document.doubled:
        name = make_excerpt(str(key.pointer[-1]))
        problems[key.pointer[0]] = f"duplicate key {name!r}"
    for at in document.opaque:
        if _is_number(document, at):
            problems[at[0]] = "NaN and numbers without end are not JSON"
    return problems


def _is_number(document: Document, pointer: Pointer) -> bool:
    value = document.value
    for step in pointer:
        value = value[step]
    return isinstance(value, OpaqueValue) and value.text[:1] not in {"[", "{"}


def _find_file_problem(root: Any, suffix: str) -> str:
    if isinstance(root, list):
        return (
            ""
            if suffix in _LINES
            else "these rows are one list; write one row per line in a .jsonl file"
        )
    if suffix != ".json":
        return (
            "an aggregate is one JSON object in a file that ends in .json; this one ends in "
            f"{suffix or 'nothing'}"
        )
    results = root["evaluation_results"]
    return (
        ""
        if isinstance(results, list)
        else f"evaluation_results is {describe_type(results)} where a list belongs"
    )


def _extract_aggregate(
    root: Mapping[str, Any], legacy: LegacySource, table: FormatTable
) -> Extraction:
    samples = root.get(SAMPLES)
    cases, notes = (
        extract_questions(samples, (SAMPLES,), legacy.document)
        if isinstance(samples, list)
        else ((), ())
    )
    has_questions = any(not case.is_set_aside for case in cases)
    results = pair_results(root, table.form)
    rubric_cases, judges = list_rubrics(results)
    return Extraction(
        table.lists["evaluation_results"],
        ArtifactDraft(Kind.DATASET, "suite", {}, (SAMPLES,)) if has_questions else None,
        (*cases, *rubric_cases),
        judges,
        (*notes, *find_result_notes(root, results)),
        is_run=True,
    )
