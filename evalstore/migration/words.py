"""What values and keys are called in a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from evalstore.migration.fold import Mirrors, same
from evalstore.text import excerpt, nearest

_NAMES: Mapping[type, str] = {dict: "an object", str: "a text", list: "a list", int: "a number", Decimal: "a number"}


def named(raw: Any) -> str:
    """Say what kind of value this is, in the words of JSON."""
    return _NAMES.get(type(raw)) or {None: "null", True: "true", False: "false"}[raw]


def unread(keys: Iterable[Any], known: Iterable[str]) -> list[str]:
    """Say of keys that no grader reads them, and which one a misspelt one may have been meant to be."""
    names, known = list(map(str, keys)), list(known)
    if not names:
        return []
    meant = ((name, nearest(name, known)) for name in names)
    guesses = (f"; did you mean {guess} by {excerpt(name)!r}?" for name, guess in meant if guess)
    return [f"no grader reads {', '.join(repr(excerpt(name)) for name in names)}: kept as data{''.join(guesses)}"]


def misfits(raw: Mapping[str, Any], question: Mapping[str, Any], mirrors: Mirrors) -> list[str]:
    """Say which keys of a case its question should hold as they are and does not: no fit, or another came first."""
    fields = [(key, field) for key, field in mirrors.items() if field and field != "id" and raw.get(key) is not None]
    odd = [key for key, field in fields if field not in question or not same(question[field], raw[key])]
    return [f"{', '.join(odd)}: not as graders read it, kept as data"] if odd else []
