"""Describes what no grader reads: unknown keys, lists hidden by another list, and values of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.table import FormatTable
from evalstore.migration.words import describe_unknown_keys

_HIDDEN = "{} hides it: nothing in it is asked"


def find_unknown_keys(value: Any, table: FormatTable) -> Iterator[MigrationNote]:
    """Yield a note on each key of the root, or of its parts, that the table does not know, and on each hidden list."""
    first, *hidden_lists = [key for key in table.lists if isinstance(value, dict) and key in value] or [""]
    yield from (MigrationNote((key,), MigrationOutcome.UNMAPPED, _HIDDEN.format(first)) for key in hidden_lists)
    for path, known in {"": (*table.root_data, *table.lists), **table.root_parts}.items():
        for pointer, holder in _find_holders(value, path.split("/") if path else ()):
            for key in holder:
                if key not in known:
                    yield MigrationNote(
                        (*pointer, key), MigrationOutcome.UNMAPPED, "; ".join(describe_unknown_keys([key], known))
                    )


def _find_holders(value: Any, path: Sequence[str], at: Pointer = ()) -> Iterator[tuple[Pointer, dict[Any, Any]]]:
    """Yield the mappings at a path, with their pointers; the step `*` is each item of a list."""
    if not path:
        yield from [(at, value)] if isinstance(value, dict) else []
        return
    step, *rest = path
    if step == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _find_holders(item, rest, (*at, index))
    elif isinstance(value, dict) and step in value:
        yield from _find_holders(value[step], rest, (*at, step))
