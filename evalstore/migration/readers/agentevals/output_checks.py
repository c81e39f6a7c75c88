"""Reads checks of the output itself: substrings, beginnings and ends, patterns, JSON, and fields of a JSON answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalstore.checks.patterns import compile_pattern, find_dialect_difference
from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.grading import (
    CaseScope,
    Check,
    Grading,
    describe_open_places,
    fill_variables,
    grade_by_check,
    join_gradings,
    note_skipped,
    set_aside,
)
from evalstore.migration.readers.agentevals.javascript_patterns import translate_pattern
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_ALWAYS: Check = {"kind": "regex", "pattern": "\\A"}
_SHOWN = 60
_FLAGS = "ims"


def read_substrings(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a text, or for types of several a list of texts, any or all of which must be in the output."""
    value, several = raw.get("value"), row.get("several", False)
    items: list[Any] = [value] if not several else value if isinstance(value, list) else []
    texts = [text for text in items if isinstance(text, str) and (text or several)]
    if not texts:
        return note_skipped((*pointer, "value"), f"its value is no {'list of texts' if several else 'text'}")
    misfits = [index for index, text in enumerate(items) if not isinstance(text, str)]
    values = [fill_variables(text, scope) for text in texts]
    if open_ := next(filter(None, (describe_open_places(text, scope) for text in values)), None):
        return set_aside(raw, pointer, open_)
    grading = grade_by_check(raw, pointer, _build_contains(values, row["check"], every=row.get("all", False)))
    return join_gradings([grading, *(note_skipped((*pointer, "value", index), "it is no text") for index in misfits)])


def _build_contains(texts: list[str], check: Check, *, every: bool) -> Check:
    wanted = list(dict.fromkeys(texts))
    if "" in wanted:  # the empty text is in every output
        wanted = [text for text in wanted if text] if every else []
    if not wanted:
        return dict(_ALWAYS)
    least = {"min_matches": len(wanted)} if every and len(wanted) > 1 else {}
    return {**check, "values": wanted, **least}


def read_trimmed_text(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a text that the output begins with, ends with or equals, after both are trimmed as in JavaScript."""
    value = raw.get("value")
    if not isinstance(value, str) or not value:
        return note_skipped((*pointer, "value"), "its value is no text")
    if open_ := describe_open_places(text := fill_variables(value, scope), scope):
        return set_aside(raw, pointer, open_)
    space = scope.table.form["space"]
    trimmed = re.sub(rf"\A{space}+|{space}+\Z", "", text)
    pattern = row["check"]["pattern"].format(space=space, value=re.escape(trimmed))
    return grade_by_check(raw, pointer, {"kind": "regex", "pattern": pattern})


def read_pattern(raw: Raw, pointer: Pointer, scope: CaseScope, _: Mapping[str, Any]) -> Grading:
    """Read a JavaScript pattern: translated exactly where that is possible, else unchanged with a loss."""
    value = raw.get("value")
    flags = raw["flags"] if isinstance(raw.get("flags"), str) else ""
    if not isinstance(value, str) or not value:
        return note_skipped((*pointer, "value"), "its value is no text")
    if open_ := describe_open_places(value, scope):
        return set_aside(raw, pointer, open_)
    known_flags = "".join(flag for flag in _FLAGS if flag in flags)
    unknown_flags = "".join(sorted({flag for flag in flags if flag not in known_flags or flags.count(flag) > 1}))
    exact = None if unknown_flags else translate_pattern(value, known_flags)
    pattern, own_flags = exact or (value, known_flags)
    if isinstance(problem := compile_pattern(pattern, own_flags), str):
        return set_aside(raw, pointer, f"it is no pattern that evalstore can run: {problem}")
    check: Check = {"kind": "regex", "pattern": pattern, **({"flags": own_flags} if own_flags else {})}
    if exact is not None and find_dialect_difference(pattern, own_flags) is None:
        return grade_by_check(raw, pointer, check)
    why = (
        f"the flags {make_excerpt(unknown_flags, _SHOWN)} are unknown, or come twice"
        if unknown_flags
        else "it has words that JavaScript and Python read otherwise"
    )
    return grade_by_check(
        raw, pointer, check, f"the pattern {make_excerpt(value, _SHOWN)} is JavaScript's, and run as it is: {why}"
    )


def read_fixed_check(raw: Raw, pointer: Pointer, _: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a check that has no parameters."""
    return grade_by_check(raw, pointer, dict(row["check"]), *([row["lossy"]] if "lossy" in row else ()))
