"""Checks of the output's text: substrings, beginnings and ends, patterns, JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalstore.checks.patterns import compile_pattern, difference
from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.ecmascript import translated
from evalstore.migration.readers.agentevals.said import Check, Said, Scope, leaf, skipped, unmapped
from evalstore.text import excerpt

Raw = Mapping[str, Any]
_ALWAYS: Check = {"kind": "regex", "pattern": "\\A"}
_SHOWN = 60
_FLAGS = frozenset("ims")
_ENVIRONMENT = re.compile(r"\$\{\{.*?\}\}|\{\{\s*env\..*?\}\}")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


def texts(raw: Raw, pointer: Pointer, scope: Scope, row: Mapping[str, Any]) -> Said:
    """Read a list of texts, or one, of which any or all must be in the output."""
    value = raw.get("value")
    given: list[Any] = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(text, str) for text in given):
        return skipped((*pointer, "value"), "its value is no text, or list of texts")
    filled = [_filled(text, scope) for text in given]
    if (open_ := next((text for text in filled if _open(text, scope)), None)) is not None:
        return unmapped(raw, pointer, f"nobody can say here what fills {excerpt(open_, _SHOWN)}")
    wanted = list(dict.fromkeys(filled))
    every = row.get("all", False)
    if "" in wanted:  # the empty text is in every output
        wanted = [text for text in wanted if text] if every else []
    if not wanted:
        return leaf(raw, pointer, dict(_ALWAYS))
    least = {"min_matches": len(wanted)} if every and len(wanted) > 1 else {}
    return leaf(raw, pointer, {**row["check"], "values": wanted, **least})


def trimmed(raw: Raw, pointer: Pointer, scope: Scope, row: Mapping[str, Any]) -> Said:
    """Read a text that the output begins with, ends with or is, once both are trimmed as JavaScript does it."""
    value = raw.get("value")
    if not isinstance(value, str):
        return skipped((*pointer, "value"), "its value is no text")
    if _open(filled := _filled(value, scope), scope):
        return unmapped(raw, pointer, f"nobody can say here what fills {excerpt(filled, _SHOWN)}")
    space = scope.table.form["space"]
    bare = re.sub(rf"\A{space}+|{space}+\Z", "", filled)
    pattern = row["check"]["pattern"].format(space=space, value=re.escape(bare))
    return leaf(raw, pointer, {"kind": "regex", "pattern": pattern})


def pattern(raw: Raw, pointer: Pointer, scope: Scope, _: Mapping[str, Any]) -> Said:
    """Read a pattern of JavaScript: exactly where its words are translated, else as it is, and lossy."""
    value, flags = raw.get("value"), raw.get("flags") or ""
    if not isinstance(value, str) or not isinstance(flags, str):
        return skipped((*pointer, "value"), "its value is no text")
    if _open(value, scope):
        return unmapped(raw, pointer, f"nobody can say here what fills {excerpt(value, _SHOWN)}")
    kept = "".join(flag for flag in "ims" if flag in flags)
    exact = translated(value, kept) if _FLAGS.issuperset(flags) else None
    wanted, asked = exact or (value, kept)
    if isinstance(problem := compile_pattern(wanted, asked), str):
        return unmapped(raw, pointer, f"it is no pattern that evalstore can run: {problem}")
    check: Check = {"kind": "regex", "pattern": wanted, **({"flags": asked} if asked else {})}
    if exact is not None and difference(wanted, asked) is None:
        return leaf(raw, pointer, check)
    odd = "".join(sorted(set(flags) - _FLAGS))
    told = f"the flags {odd} are not known here" if odd else "it has words that JavaScript and Python read otherwise"
    return leaf(raw, pointer, check, f"the pattern {excerpt(value, _SHOWN)} is JavaScript's, and run as it is: {told}")


def fixed(raw: Raw, pointer: Pointer, _: Scope, row: Mapping[str, Any]) -> Said:
    """Read a check that has no parameters."""
    return leaf(raw, pointer, dict(row["check"]), *([row["lossy"]] if "lossy" in row else ()))


def _filled(text: str, scope: Scope) -> str:
    def of(match: re.Match[str]) -> str:
        value = scope.variables.get(match[1])
        return value if isinstance(value, str) else match[0]

    return _VARIABLE.sub(of, text) if scope.variables else text


def _open(text: str, scope: Scope) -> bool:
    """Whether something fills the text only when the runner starts."""
    return bool(_ENVIRONMENT.search(text)) or (scope.dialect.name == "D4" and bool(_VARIABLE.search(text)))
