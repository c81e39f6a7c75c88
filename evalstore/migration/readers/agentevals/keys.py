"""Names the keys that nobody reads: those the runner does not know, and those it reads and nothing here can say."""

from __future__ import annotations

from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.outcome import Outcome
from evalstore.migration.readers.agentevals.dialects import among
from evalstore.migration.readers.agentevals.said import Said, Scope, ignored, joined
from evalstore.migration.taken import Note
from evalstore.migration.words import unread


def keys_of(raw: Any, pointer: Pointer, scope: Scope, *places: str) -> Said:
    """Return what is to be said of the keys of an object, which may be those that the table has for these places."""
    known = {key: row or {} for place in places for key, row in scope.table.form["keys"].get(place, {}).items()}
    found = [] if not isinstance(raw, dict) else [key for key, value in raw.items() if value is not None]
    strange = [key for key in found if key not in known]
    early = [key for key in found if key in known and not among(scope.dialect.name, known[key])]
    lost = [known[key]["lost"] for key in found if "lost" in known.get(key, ()) and key not in early]
    return joined(
        [
            Said(lossy=tuple(lost)),
            Said(notes=tuple(Note((*pointer, key), Outcome.UNMAPPED, unread([key], known)[0]) for key in strange)),
            *(ignored((*pointer, key), f"{scope.dialect.name} has no {key}") for key in early),
        ]
    )
