"""What values and keys are called in a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from evalstore.migration.fold import Mirrors, is_same_data
from evalstore.text import make_excerpt, find_nearest

_NAMES: Mapping[type, str] = {dict: "an object", str: "a text", list: "a list", int: "a number", Decimal: "a number"}


def describe_type(raw: Any) -> str:
    """Return the JSON type of a value, in words."""
    return _NAMES.get(type(raw)) or {None: "null", True: "true", False: "false"}[raw]


def describe_unknown_keys(keys: Iterable[Any], known: Iterable[str]) -> list[str]:
    """Return a sentence that no grader reads these keys, with guesses for misspelt ones; none for no keys."""
    names, known = list(map(str, keys)), list(known)
    if not names:
        return []
    meant = ((name, find_nearest(name, known)) for name in names)
    guesses = (f"; did you mean {guess} by {make_excerpt(name)!r}?" for name, guess in meant if guess)
    return [f"no grader reads {', '.join(repr(make_excerpt(name)) for name in names)}: kept as data{''.join(guesses)}"]


def describe_misfits(raw: Mapping[str, Any], question: Mapping[str, Any], mirrors: Mirrors) -> list[str]:
    """Return a sentence on the keys of a case that its question should mirror and does not; none where all match."""
    fields = [(key, field) for key, field in mirrors.items() if field and field != "id" and raw.get(key) is not None]
    misfits = [key for key, field in fields if field not in question or not is_same_data(question[field], raw[key])]
    return [f"{', '.join(misfits)}: not as graders read it, kept as data"] if misfits else []
