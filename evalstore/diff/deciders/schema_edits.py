"""Finds where two schemas differ as written, keyword by keyword, and the outputs that hold a JSON value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.diff.plain_data import is_same
from evalstore.documents import Pointer, write_canonical
from evalstore.languages.schema_comparison import ANNOTATIONS
from evalstore.languages.schemas import SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS, SINGLE_SCHEMA_KEYWORDS

_NOTES = ANNOTATIONS | {"$schema", "$id"}


def find_schema_edits(old: Any, new: Any) -> list[Pointer]:
    """Return where the keywords are that differ; those of annotations only where there are no others."""
    found = list(_iterate_edits(old, new, ()))
    return [pointer for pointer in found if not _is_note(pointer)] or found


def _is_note(pointer: Pointer) -> bool:
    is_name = len(pointer) > 1 and pointer[-2] in SCHEMA_MAP_KEYWORDS
    return bool(pointer) and pointer[-1] in _NOTES and not is_name


def _iterate_edits(old: Any, new: Any, at: Pointer) -> Iterator[Pointer]:
    """Yield the edits between two schemas."""
    if is_same(old, new):
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield at
        return
    for key in sorted({*new, *old}):
        before, after = old.get(key), new.get(key)
        if (key in old) != (key in new):
            yield (*at, key)
        elif key in SCHEMA_MAP_KEYWORDS and isinstance(before, dict) and isinstance(after, dict):
            yield from _iterate_named_edits(before, after, (*at, key))
        elif (
            key in SCHEMA_LIST_KEYWORDS
            and isinstance(before, list)
            and isinstance(after, list)
            and len(before) == len(after)
        ):
            for index, pair in enumerate(zip(before, after, strict=True)):
                yield from _iterate_edits(*pair, (*at, key, index))
        elif key in SINGLE_SCHEMA_KEYWORDS:
            yield from _iterate_edits(before, after, (*at, key))
        elif not is_same(before, after):
            yield (*at, key)


def _iterate_named_edits(old: dict[str, Any], new: dict[str, Any], at: Pointer) -> Iterator[Pointer]:
    for name in sorted({*new, *old}):
        if (name in old) != (name in new):
            yield (*at, name)
        else:
            yield from _iterate_edits(old[name], new[name], (*at, name))


def list_outputs(value: Any, extract: str) -> tuple[str, ...]:
    """Return outputs from which a check that extracts in this way reads the value; the shortest first."""
    text = write_canonical(value)
    fenced = f"```json\n{text}\n```"
    return {"whole": (text,), "fence": (fenced,)}.get(extract, (text, fenced))
