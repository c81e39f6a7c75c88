"""Where two schemas differ as written: the keywords by name, with the way to each; notes apart from what decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.diff.plain import is_same
from evalstore.documents import Pointer, canonical
from evalstore.schema_inclusion.normalization import ANNOTATIONS, LISTED, NAMED, ONE

_SCHEMAS = ONE | {"additionalItems"}
_LISTS = LISTED | {"items"}
_NAMES = NAMED | {"$defs", "definitions", "dependencies"}
_NOTES = ANNOTATIONS | {"$schema", "$id"}


def edits(old: Any, new: Any) -> list[Pointer]:
    """Return the ways to the keywords that differ; those of notes where there are no others."""
    found = list(_edits(old, new, ()))
    return [pointer for pointer in found if not _is_note(pointer)] or found


def _is_note(pointer: Pointer) -> bool:
    named = len(pointer) > 1 and pointer[-2] in _NAMES
    return bool(pointer) and pointer[-1] in _NOTES and not named


def _edits(old: Any, new: Any, at: Pointer) -> Iterator[Pointer]:
    """Yield the edits between two schemas."""
    if is_same(old, new):
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield at
        return
    for key in sorted({*new, *old}):
        mine, theirs = old.get(key), new.get(key)
        if (key in old) != (key in new):
            yield (*at, key)
        elif key in _NAMES and isinstance(mine, dict) and isinstance(theirs, dict):
            yield from _names(mine, theirs, (*at, key))
        elif key in _LISTS and isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
            for index, pair in enumerate(zip(mine, theirs, strict=True)):
                yield from _edits(*pair, (*at, key, index))
        elif key in _SCHEMAS:
            yield from _edits(mine, theirs, (*at, key))
        elif not is_same(mine, theirs):
            yield (*at, key)


def _names(old: dict[str, Any], new: dict[str, Any], at: Pointer) -> Iterator[Pointer]:
    for name in sorted({*new, *old}):
        if (name in old) != (name in new):
            yield (*at, name)
        else:
            yield from _edits(old[name], new[name], (*at, name))


def outputs_of(value: Any, extract: str) -> tuple[str, ...]:
    """Return texts from which a check that extracts in this way reads the value; the shortest first."""
    text = canonical(value)
    fenced = f"```json\n{text}\n```"
    return {"whole": (text,), "fence": (fenced,)}.get(extract, (text, fenced))
