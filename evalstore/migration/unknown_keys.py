"""Describes what no grader reads: unknown keys, lists hidden by another list, and values of the wrong type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from evalstore.documents import OpaqueValue, Pointer
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import Mirrors, is_same_data
from evalstore.migration.table import FormatTable, has_path, split_path
from evalstore.text import find_nearest, make_excerpt

_NAMES: Mapping[type, str] = {dict: "an object", str: "a text", list: "a list", int: "a number", Decimal: "a number"}
# Words of a key that turn a demand around.
_BANS = re.compile(r"(?:^|[_\W])(?:not?|never|without)(?:[_\W]|$)|forbid|exclude|banned|disallow|avoid|[a-z]Not[A-Z]")
_HIDDEN = "{} hides it: nothing in it is asked"


def find_unknown_keys(value: Any, table: FormatTable) -> Iterator[MigrationNote]:
    """Yield a note on each key of the root, or of its parts, that the table does not know, and on each hidden list."""
    # A grader reads the first list of the table that a file has; later ones are hidden.
    first, *hidden_lists = [key for key in table.lists if has_path(value, key)] or [""]
    for path in hidden_lists:
        yield MigrationNote(split_path(value, path), MigrationOutcome.UNMAPPED, _HIDDEN.format(first))
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


def describe_type(raw: Any) -> str:
    """Return the JSON type of a value, in words."""
    if isinstance(raw, OpaqueValue):
        return raw.description
    return _NAMES.get(type(raw)) or {None: "null", True: "true", False: "false"}[raw]


def describe_unknown_keys(keys: Iterable[Any], known: Iterable[str]) -> list[str]:
    """Return a sentence that no grader reads these keys, with guesses for misspelt ones; none for no keys."""
    names, known = list(map(str, keys)), list(known)
    if not names:
        return []
    nearest = ((name, find_nearest(name, select_same_side(name, known))) for name in names)
    guesses = (f"; did you mean {guess} by {make_excerpt(name)!r}?" for name, guess in nearest if guess)
    return [f"no grader reads {', '.join(repr(make_excerpt(name)) for name in names)}: kept as data{''.join(guesses)}"]


def is_ban(name: str) -> bool:
    """Whether the words of a key ban something."""
    return _BANS.search(name) is not None


def select_same_side(name: str, known: Iterable[str]) -> list[str]:
    """Return the known keys that ask for or ban something as `name` does: a guess must not turn a demand around."""
    side, letters = is_ban(name), make_slug(name).replace("_", "")
    # The same letters, only joined otherwise, mean the same: nojquery is no-jquery.
    return [key for key in known if is_ban(key) == side or make_slug(key).replace("_", "") == letters]


def describe_misfits(raw: Mapping[str, Any], question: Mapping[str, Any], mirrors: Mirrors) -> list[str]:
    """Return a sentence on the keys of a case that its question should mirror and does not; none where all match."""
    fields = [(key, field) for key, field in mirrors.items() if field and field != "id" and raw.get(key) is not None]
    misfits = [key for key, field in fields if field not in question or not is_same_data(question[field], raw[key])]
    return [f"{', '.join(misfits)}: not as graders read it, kept as data"] if misfits else []
