"""Names the keys of a source that nobody reads: lists that another one hides, and keys that its table does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import MigrationNote
from evalstore.migration.words import unread

_HIDDEN = "{} hides it: nothing in it is asked"


def strangers(value: Any, table: FormatTable) -> Iterator[MigrationNote]:
    """Yield a note on each key that stands where the table names all there are, and is none of them."""
    first, *hidden = [key for key in table.lists if isinstance(value, dict) and key in value] or [""]
    yield from (MigrationNote((key,), MigrationOutcome.UNMAPPED, _HIDDEN.format(first)) for key in hidden)
    for path, known in {"": (*table.root_data, *table.lists), **table.root_parts}.items():
        for pointer, holder in _holders(value, path.split("/") if path else ()):
            for key in holder:
                if key not in known:
                    yield MigrationNote((*pointer, key), MigrationOutcome.UNMAPPED, "; ".join(unread([key], known)))


def _holders(value: Any, path: Sequence[str], at: Pointer = ()) -> Iterator[tuple[Pointer, dict[Any, Any]]]:
    """Yield the objects that stand at a path, where `*` is each item of a list."""
    if not path:
        yield from [(at, value)] if isinstance(value, dict) else []
        return
    step, *rest = path
    if step == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _holders(item, rest, (*at, index))
    elif isinstance(value, dict) and step in value:
        yield from _holders(value[step], rest, (*at, step))
