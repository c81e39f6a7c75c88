"""Every Eval Ever: a record of results stays the run that it is; its samples become questions, its judges judges."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.names import make_dataset_id
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.every_eval_ever.results import HELD, notes_of, results_of, rulers_of
from evalstore.migration.readers.every_eval_ever.rows import questions_of
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote
from evalstore.migration.words import named
from evalstore.model import Kind
from evalstore.runs.kept import stem_of

RUNS = True
_LINES = frozenset({".jsonl", ".ndjson"})


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return what a file of rows, or an aggregate, says; the file itself is kept as a run."""
    root: Any = legacy.document.value
    dialect = table.lists["" if isinstance(root, list) else "evaluation_results"]
    if problem := _problem(root, PurePosixPath(legacy.file).suffix.lower()):
        return Extraction(dialect, notes=(MigrationNote((), MigrationOutcome.REFUSED, problem),))
    return _rows(legacy, table) if isinstance(root, list) else _aggregate(legacy, table)


def _problem(root: Any, suffix: str) -> str:
    if isinstance(root, list):
        return "" if suffix in _LINES else "rows stand one a line, in a file that ends in .jsonl; these are one list"
    if suffix != ".json":
        return f"an aggregate is one JSON object in a file that ends in .json; this one ends in {suffix or 'nothing'}"
    results = root["evaluation_results"]
    return "" if isinstance(results, list) else f"evaluation_results is {named(results)} where a list belongs"


def _rows(legacy: LegacySource, table: FormatTable) -> Extraction:
    cases, notes = questions_of(legacy.document.value, (), legacy.document)
    made = any(not case.refused for case in cases)
    return Extraction(table.lists[""], _dataset(legacy, table), cases, notes=notes, run=made)


def _aggregate(legacy: LegacySource, table: FormatTable) -> Extraction:
    root: Any = legacy.document.value
    held = root.get(HELD)
    cases, notes = questions_of(held, (HELD,), legacy.document) if isinstance(held, list) else ((), ())
    asked = any(not case.refused for case in cases)
    found = results_of(root, table.form)
    rulers, judges = rulers_of(found)
    return Extraction(
        table.lists["evaluation_results"],
        _dataset(legacy, table, (HELD,)) if asked else None,
        (*_apart(cases, asked=asked), *rulers),
        judges,
        (*notes, *notes_of(root, found)),
        run=True,
    )


def _apart(cases: tuple[LegacyCase, ...], *, asked: bool) -> tuple[LegacyCase, ...]:
    return cases if asked else tuple(case for case in cases if case.refused)


def _dataset(legacy: LegacySource, table: FormatTable, at: Pointer = ()) -> ArtifactDraft:
    path = PurePosixPath(legacy.file)
    name = str(path.with_name(f"{stem_of(path.name)}.json"))
    return ArtifactDraft(Kind.DATASET, make_dataset_id(name, {}, table), {}, at)
