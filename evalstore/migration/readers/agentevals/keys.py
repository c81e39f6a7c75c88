"""Names the keys that nobody reads: those the runner does not know, and those it reads and nothing here can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.dialects import is_in_dialect
from evalstore.migration.readers.agentevals.said import CaseScope, Grading, ignored, joined, share
from evalstore.migration.unknown_keys import describe_unknown_keys


def check_keys(raw: Any, pointer: Pointer, scope: CaseScope, *places: str) -> Grading:
    """Return what is to be said of the keys of an object, which may be those that the table has for these places."""
    known = {key: row or {} for place in places for key, row in scope.table.form["keys"].get(place, {}).items()}
    found = [] if not isinstance(raw, dict) else [key for key, value in raw.items() if value is not None]
    strange = [key for key in found if key not in known]
    early = [key for key in found if key in known and not is_in_dialect(scope.dialect.name, known[key])]
    odd = [key for key in found if key in known and key not in early and not _fits(raw[key], known[key])]
    lost = [known[key]["lost"] for key in found if "lost" in known.get(key, ()) and key not in early]
    return joined(
        [
            Grading(lossy=tuple(lost)),
            Grading(
                notes=tuple(
                    MigrationNote((*pointer, key), MigrationOutcome.UNMAPPED, describe_unknown_keys([key], known)[0])
                    for key in strange
                )
            ),
            *(ignored((*pointer, key), f"{scope.dialect.name} has no {key}") for key in early),
            *(ignored((*pointer, key), f"it takes {known[key]['takes']}") for key in odd),
        ]
    )


def _fits(value: Any, row: Mapping[str, Any]) -> bool:
    """Whether a value is of the sort that the runner takes there."""
    return "takes" not in row or any(_TAKES[sort](value) for sort in row["takes"].split(" or "))


_TAKES: Mapping[str, Callable[[Any], bool]] = {
    "true": lambda value: isinstance(value, bool),
    "false": lambda value: isinstance(value, bool),
    "a number above 0 up to 1": lambda value: share(value) is not None,
    "a text": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "a mapping": lambda value: isinstance(value, dict),
}
