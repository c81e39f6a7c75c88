"""Checks of the output's text: substrings, beginnings and ends, patterns, JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalstore.checks.patterns import compile_pattern, find_dialect_difference
from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.ecmascript import translate_pattern
from evalstore.migration.readers.agentevals.filling import fill_variables, describe_open_places
from evalstore.migration.readers.agentevals.said import CaseScope, Check, Grading, joined, leaf, skipped, unmapped
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_ALWAYS: Check = {"kind": "regex", "pattern": "\\A"}
_SHOWN = 60
_FLAGS = "ims"


def texts(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a text, or for a type of several a list, of which any or all must be in the output."""
    value, several = raw.get("value"), row.get("several", False)
    items: list[Any] = [value] if not several else value if isinstance(value, list) else []
    given = [text for text in items if isinstance(text, str) and (text or several)]
    if not given:
        return skipped((*pointer, "value"), f"its value is no {'list of texts' if several else 'text'}")
    odd = [index for index, text in enumerate(items) if not isinstance(text, str)]
    whole = [fill_variables(text, scope) for text in given]
    if open_ := next(filter(None, (describe_open_places(text, scope) for text in whole)), None):
        return unmapped(raw, pointer, open_)
    said = leaf(raw, pointer, _contains(whole, row["check"], every=row.get("all", False)))
    return joined([said, *(skipped((*pointer, "value", index), "it is no text") for index in odd)])


def _contains(texts: list[str], check: Check, *, every: bool) -> Check:
    wanted = list(dict.fromkeys(texts))
    if "" in wanted:  # the empty text is in every output
        wanted = [text for text in wanted if text] if every else []
    if not wanted:
        return dict(_ALWAYS)
    least = {"min_matches": len(wanted)} if every and len(wanted) > 1 else {}
    return {**check, "values": wanted, **least}


def trimmed(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a text that the output begins with, ends with or is, once both are trimmed as JavaScript does it."""
    value = raw.get("value")
    if not isinstance(value, str) or not value:
        return skipped((*pointer, "value"), "its value is no text")
    if open_ := describe_open_places(whole := fill_variables(value, scope), scope):
        return unmapped(raw, pointer, open_)
    space = scope.table.form["space"]
    bare = re.sub(rf"\A{space}+|{space}+\Z", "", whole)
    pattern = row["check"]["pattern"].format(space=space, value=re.escape(bare))
    return leaf(raw, pointer, {"kind": "regex", "pattern": pattern})


def pattern(raw: Raw, pointer: Pointer, scope: CaseScope, _: Mapping[str, Any]) -> Grading:
    """Read a pattern of JavaScript: exactly where its words are translated, else as it is, and lossy."""
    value = raw.get("value")
    flags = raw["flags"] if isinstance(raw.get("flags"), str) else ""
    if not isinstance(value, str) or not value:
        return skipped((*pointer, "value"), "its value is no text")
    if open_ := describe_open_places(value, scope):
        return unmapped(raw, pointer, open_)
    kept = "".join(flag for flag in _FLAGS if flag in flags)
    odd = "".join(sorted({flag for flag in flags if flag not in kept or flags.count(flag) > 1}))
    exact = None if odd else translate_pattern(value, kept)
    wanted, asked = exact or (value, kept)
    if isinstance(problem := compile_pattern(wanted, asked), str):
        return unmapped(raw, pointer, f"it is no pattern that evalstore can run: {problem}")
    check: Check = {"kind": "regex", "pattern": wanted, **({"flags": asked} if asked else {})}
    if exact is not None and find_dialect_difference(wanted, asked) is None:
        return leaf(raw, pointer, check)
    told = (
        f"the flags {make_excerpt(odd, _SHOWN)} are unknown, or come twice"
        if odd
        else "it has words that JavaScript and Python read otherwise"
    )
    return leaf(raw, pointer, check, f"the pattern {make_excerpt(value, _SHOWN)} is JavaScript's, and run as it is: {told}")


def fixed(raw: Raw, pointer: Pointer, _: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a check that has no parameters."""
    return leaf(raw, pointer, dict(row["check"]), *([row["lossy"]] if "lossy" in row else ()))
