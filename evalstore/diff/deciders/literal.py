"""Checks of different kinds that ask for the same plain text."""

from __future__ import annotations

from typing import NamedTuple

from evalstore.diff.change import Change, Proof
from evalstore.diff.state import CheckState

_META = frozenset(".^$*+?{}[]()|")


class Wanted(NamedTuple):
    """The outputs that a check passes: those that hold one of the texts, or those that hold none."""

    texts: frozenset[str]
    case_sensitive: bool
    absent: bool


def same_text(change: Change) -> Proof | None:
    """Prove that the old and the new kind look for the same texts in the same way."""
    before, after = change.checks
    old, new = wanted(before), wanted(after)
    if old is None or old != new or not (before.binary and after.binary):
        return None
    return Proof("both kinds look for the same plain text in the same way")


def wanted(check: CheckState) -> Wanted | None:
    """Return what a check looks for when that is plain text, else None."""
    params = check.params
    if check.kind == "must_not_contain" or (check.kind == "must_contain_any" and params["min_matches"] == 1):
        sensitive: bool = params["case_sensitive"]
        texts = params["values"] if sensitive else [value.lower() for value in params["values"]]
        return Wanted(frozenset(texts), sensitive, check.negate is (check.kind == "must_contain_any"))
    return None


def literal(pattern: str) -> str | None:
    """Return the one text that a pattern matches, or None when it has more than escaped and plain characters."""
    text, rest = [], iter(pattern)
    for char in rest:
        escaped = next(rest, None) if char == "\\" else None
        if char in _META or (char == "\\" and (escaped is None or escaped.isalnum() or escaped == "_")):
            return None
        text.append(escaped or char)
    return "".join(text)
