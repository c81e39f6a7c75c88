"""Runs the reader of a format. A new format is a module here, its table in `migrations/`, and its case folders.

A table of the user's own, which has no module, is read by `own_format`. A reader module has the pure function
`read(legacy, table) -> Extraction`. A reader that does not store a remainder also has `restore(main, rubrics, table)`:
the source's value from the artifact that stands for it and the rubrics it pins.
`RUNS = True` says that its files are runs, which a store keeps unchanged; `COMPANIONS = True` that its files may name
other files with cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

from evalstore.errors import RefusedError
from evalstore.migration.doubled_keys import add_doubled_keys
from evalstore.migration.extraction import Extraction, LegacySource
from evalstore.migration.folded_values import restore_parts
from evalstore.migration.judge_losses import add_judge_losses
from evalstore.migration.opaque_values import set_opaque_aside
from evalstore.migration.remainder import decode_value, restore_case, restore_root
from evalstore.migration.table import FormatTable
from evalstore.migration.unknown_keys import find_unknown_keys

Rubrics = Mapping[str, Mapping[str, Any]]


def run_reader(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return what the reader of a format extracts from a file, with a note on each key that no grader reads."""
    extraction = _load_reader(table).read(legacy, table)
    extraction = replace(extraction, drafts=tuple(map(legacy.prompts.explain_absence, extraction.drafts)))
    extraction = set_opaque_aside(extraction, legacy.document, table)
    extraction = add_judge_losses(extraction)
    extraction = add_doubled_keys(extraction, legacy.document)
    # A reader's own note on a key says more than the general one.
    noted = {note.pointer for note in extraction.notes}
    notes = find_unknown_keys(legacy.document.value, table.select_dialect(extraction.dialect))
    return replace(extraction, notes=(*extraction.notes, *(note for note in notes if note.pointer not in noted)))


def restore_source(main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable) -> Any:
    """Return the value of the source that `main` stands for; `rubrics` are those its questions pin, by reference."""
    reader_restore = getattr(_load_reader(table), "restore", None)
    return reader_restore(main, rubrics, table) if reader_restore else _restore_main(main, rubrics, table)


def restore_companions(
    main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable
) -> dict[str, Any]:
    """Return the values of the companion files, by the path by which the source names them."""
    remainders = main["x_source"].get("beside", {})
    return {path: _restore_file(value, main, rubrics, table, path) for path, value in remainders.items()}


def has_remainder(table: FormatTable) -> bool:
    """Whether the artifacts of a format store the remainder of their source, as its reader has no `restore`."""
    return not hasattr(_load_reader(table), "restore")


def has_run_files(table: FormatTable) -> bool:
    """Whether the files of a format are runs, which a store keeps unchanged."""
    return bool(getattr(_load_reader(table), "RUNS", False))


def may_have_companions(table: FormatTable) -> bool:
    """Whether a file of a format may name other files with cases."""
    return bool(getattr(_load_reader(table), "COMPANIONS", False))


def _restore_main(main: Mapping[str, Any], rubrics: Rubrics, table: FormatTable) -> Any:
    remainder = main["x_source"]["kept"]
    # A rubric that stands for its source refers to itself.
    return _restore_file(_unfold(remainder, main) if "checks" in main else remainder, main, rubrics, table, "")


def _restore_file(remainder: Any, main: Mapping[str, Any], rubrics: Rubrics, table: FormatTable, path: str) -> Any:
    """Return the value of a file from its remainder, its cases, and the cases that were set aside."""
    rows = [(row["x_source"], _unfold_row(row, rubrics)) for row in main.get("questions", ())]
    cases = [(source["pointer"], restore_case(row, table.mirrors)) for source, row in rows if _is_in_file(path, source)]
    unmapped = [item for item in main.get("x_unmapped", ()) if "pointer" in item]  # else it is a line of no document
    set_aside = [(item["pointer"], decode_value(item["value"])) for item in unmapped if _is_in_file(path, item)]
    return restore_root(remainder, [*cases, *set_aside])


def _unfold_row(row: Mapping[str, Any], rubrics: Rubrics) -> Mapping[str, Any]:
    """Return a question whose remainder says all that the question and its rubric say for it."""
    source = row["x_source"]
    if "kept" not in source:
        return row
    parts = {**rubrics.get(row.get("rubric_ref", ""), {}), "question": row}
    return {**row, "x_source": {**source, "kept": _unfold(source["kept"], parts)}}


def _unfold(kept: Any, parts: Mapping[str, Any]) -> Any:
    try:
        return restore_parts(kept, parts)
    except (LookupError, TypeError, ValueError):
        name = parts.get("question", parts).get("id")
        hint = "export an earlier version, or take the edit back"
        raise RefusedError(
            f"{name}: a check that its source needs was edited since it was migrated", hint=hint
        ) from None


def _is_in_file(path: str, source: Mapping[str, Any]) -> bool:
    return bool(source.get("beside", "") == path)


def _load_reader(table: FormatTable) -> ModuleType:
    # Imported on demand: a run with one format loads one reader.
    return import_module(f"evalstore.migration.readers.{'own_format' if table.is_own else table.format}")
