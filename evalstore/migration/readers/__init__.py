"""One reader a format: what its files mean. A new format is a new file here, its table, and its cases.

A reader has `read(legacy, table) -> Taken`. One whose artifacts say a source in their own way also has
`give(main, rubrics, table)`: the source's value from the artifact that stands for it and the rubrics that it pins.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from evalstore.migration.fold import unfolded_case, unfolded_root, whole
from evalstore.migration.table import Table
from evalstore.migration.taken import Legacy, Taken


def read(legacy: Legacy, table: Table) -> Taken:
    """Return what the reader of a format takes from a file."""
    taken: Taken = _reader(table).read(legacy, table)
    return taken


def give(main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: Table) -> Any:
    """Return the value of the source that `main` stands for; `rubrics` are those of its questions, by reference."""
    own = getattr(_reader(table), "give", None)
    return own(main, rubrics, table) if own else _given(main, table)


def keeps(table: Table) -> bool:
    """Whether what artifacts do not say of a source is kept beside them, as its reader has no words of its own."""
    return not hasattr(_reader(table), "give")


def _given(main: Mapping[str, Any], table: Table) -> Any:
    kept = main["x_source"]["kept"]
    if "questions" not in main:
        return whole(kept)
    cases = [(row["x_source"]["pointer"], unfolded_case(row, table.mirrors)) for row in main["questions"]]
    aside = [(item["pointer"], whole(item["value"])) for item in main.get("x_unmapped", ())]
    return unfolded_root(kept, [*cases, *aside])


def _reader(table: Table) -> ModuleType:
    return import_module(f"evalstore.migration.readers.{table.format}")
