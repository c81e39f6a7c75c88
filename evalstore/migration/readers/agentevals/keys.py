"""Names the keys that nobody reads: those the runner does not know, and those it reads and nothing here can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.dialects import is_in_dialect
from evalstore.migration.readers.agentevals.said import CaseScope, Grading, join_gradings, note_ignored, parse_share
from evalstore.migration.unknown_keys import describe_unknown_keys


def check_keys(raw: Any, pointer: Pointer, scope: CaseScope, *places: str) -> Grading:
    """Return losses and notes for the keys of an object, checked against the table's keys for these `places`."""
    known = {key: row or {} for place in places for key, row in scope.table.form["keys"].get(place, {}).items()}
    keys = [] if not isinstance(raw, dict) else [key for key, value in raw.items() if value is not None]
    unknown = [key for key in keys if key not in known]
    too_early = [key for key in keys if key in known and not is_in_dialect(scope.dialect.name, known[key])]
    misfits = [key for key in keys if key in known and key not in too_early and not _fits_row(raw[key], known[key])]
    losses = [known[key]["lost"] for key in keys if "lost" in known.get(key, ()) and key not in too_early]
    return join_gradings(
        [
            Grading(lossy=tuple(losses)),
            Grading(
                notes=tuple(
                    MigrationNote((*pointer, key), MigrationOutcome.UNMAPPED, describe_unknown_keys([key], known)[0])
                    for key in unknown
                )
            ),
            *(note_ignored((*pointer, key), f"{scope.dialect.name} has no {key}") for key in too_early),
            *(note_ignored((*pointer, key), f"it takes {known[key]['takes']}") for key in misfits),
        ]
    )


def _fits_row(value: Any, row: Mapping[str, Any]) -> bool:
    """Whether a value has a type that the runner accepts for its key."""
    return "takes" not in row or any(_TAKES[sort](value) for sort in row["takes"].split(" or "))


_TAKES: Mapping[str, Callable[[Any], bool]] = {
    "true": lambda value: isinstance(value, bool),
    "false": lambda value: isinstance(value, bool),
    "a number above 0 up to 1": lambda value: parse_share(value) is not None,
    "a text": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "a mapping": lambda value: isinstance(value, dict),
}
