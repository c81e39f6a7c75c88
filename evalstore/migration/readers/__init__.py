"""One reader a format: what its files mean. A new format is a new file here, its table, and its cases.

A reader has `read(legacy, table) -> Taken`. One whose artifacts say a source in their own way also has
`give(main, rubrics, table)`: the source's value from the artifact that stands for it and the rubrics that it pins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

from evalstore.migration.fold import unfolded_case, unfolded_root, whole
from evalstore.migration.strangers import strangers
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import Extraction, LegacySource


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return what the reader of a format takes from a file, with a note on each key that nobody reads."""
    taken: Extraction = _reader(table).read(legacy, table)
    told = {note.pointer for note in taken.notes}
    notes = strangers(legacy.document.value, table.of_dialect(taken.dialect))
    return replace(taken, notes=(*taken.notes, *(note for note in notes if note.pointer not in told)))


def give(main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable) -> Any:
    """Return the value of the source that `main` stands for; `rubrics` are those of its questions, by reference."""
    own = getattr(_reader(table), "give", None)
    return own(main, rubrics, table) if own else _given(main, table)


def give_beside(main: Mapping[str, Any], table: FormatTable) -> dict[str, Any]:
    """Return the values of the files that were read beside the source, by the path that it names them by."""
    kept = main["x_source"].get("beside", {})
    return {path: _filled(value, main, table, path) for path, value in kept.items()}


def keeps(table: FormatTable) -> bool:
    """Whether what artifacts do not say of a source is kept beside them, as its reader has no words of its own."""
    return not hasattr(_reader(table), "give")


def are_runs(table: FormatTable) -> bool:
    """Whether the files of a format are runs, which a store keeps as they are."""
    return bool(getattr(_reader(table), "RUNS", False))


def gathers(table: FormatTable) -> bool:
    """Whether a file of a format may name others that hold cases of it."""
    return bool(getattr(_reader(table), "GATHERS", False))


def _given(main: Mapping[str, Any], table: FormatTable) -> Any:
    return _filled(main["x_source"]["kept"], main, table, "")


def _filled(kept: Any, main: Mapping[str, Any], table: FormatTable, path: str) -> Any:
    """Return the value of a file from what was kept of it, and the cases that stood in it."""
    rows = [(row["x_source"], row) for row in main.get("questions", ())]
    cases = [(source["pointer"], unfolded_case(row, table.mirrors)) for source, row in rows if _is_of(path, source)]
    unmapped = [item for item in main.get("x_unmapped", ()) if "pointer" in item]  # else it is a line of no document
    aside = [(item["pointer"], whole(item["value"])) for item in unmapped if _is_of(path, item)]
    return unfolded_root(kept, [*cases, *aside])


def _is_of(path: str, source: Mapping[str, Any]) -> bool:
    return bool(source.get("beside", "") == path)


def _reader(table: FormatTable) -> ModuleType:
    return import_module(f"evalstore.migration.readers.{table.format}")
