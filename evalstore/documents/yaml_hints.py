"""Explains what PyYAML's parser says about a text that is not YAML, with a hint if possible."""

from __future__ import annotations

import re
from typing import Any

from evalstore.errors import LimitError, LoadError, Place

_TAB = "indent with spaces: YAML does not allow tabs"
_UNCLOSED = "it is never closed: quote a string that begins with # or contains a comma or a bracket"
# What the parser says -> what to do; when it cannot name what it looked for, the place where it
# stopped matters.
_HINTS = {
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
    "found unknown escape character": (
        "in double quotes a backslash begins an escape: use single quotes, as in '\\d+'"
    ),
    "found unexpected end of stream": "this quotation mark is never closed",
    "found unexpected document separator": "this quotation mark is never closed",
    "did not find expected ',' or ']'": _UNCLOSED,
    "did not find expected ',' or '}'": _UNCLOSED,
    "did not find expected '-' indicator": (
        "start all items of a list in the same column, each with - and a space"
    ),
    "did not find expected key": (
        "start all keys of a mapping in one column, and write nothing after a quoted string"
    ),
    "did not find expected alphabetic or numeric character": (
        "a string that begins with * or & needs quotes"
    ),
    "could not find expected ':'": (
        "end a key with a colon and a space, and indent every line of a quoted string"
    ),
    "block sequence entries are not allowed in this context": (
        "start the list on the line below its key"
    ),
}
# Nothing is wrong where these end: the slip is where they begin.
_BEGINNINGS = frozenset(
    {
        "while scanning a quoted scalar",
        "while parsing a flow sequence",
        "while parsing a flow mapping",
        "while scanning a simple key",
    }
)
_NO_EXPECTED_KEY = "did not find expected key"
_CUT_SHORT = frozenset(
    {_NO_EXPECTED_KEY, "did not find expected ',' or ']'", "did not find expected ',' or '}'"}
)
_APOSTROPHE = re.compile(r"'[^']*\w'\w")
# A value in brackets with more after it, such as a pattern.
_BRACKETED = re.compile(r"(?:: |- )([\[{])[^\]}]*[\]}]+[^\s,\]}]")
# libyaml 0.2.6, of PyYAML 6.0.4, stops at 1,000 levels, and reads so far ahead that it notices
# before our readers do.
_TOO_DEEP = "exceeded maximum nesting depth"
_COLON, _NO_TOKEN = (
    "mapping values are not allowed in this context",
    "found character that cannot start any token",
)


def explain_yaml_error(error: Any, text: str, file: str, depth_limit: int) -> LoadError:
    """Return the YAML parser's error with its place and a hint.

    It is a `yaml.YAMLError`; `depth_limit` is our own.
    """
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if getattr(error, "context", None) in _BEGINNINGS and error.context_mark:
        mark = error.context_mark
    if mark is None:
        return LoadError(f"not YAML: {problem}", place=Place(file))
    if problem == _TOO_DEEP:
        place = Place(file, mark.line + 1, mark.column + 1)
        return LimitError(f"nested deeper than {depth_limit} levels", place=place)
    line = text.split("\n")[mark.line] if mark.line <= text.count("\n") else ""
    hint = (
        _hint_at_text(problem, line)
        or _HINTS.get(problem)
        or _hint_at_place(problem, line[: mark.column], line[mark.column : mark.column + 1])
    )
    return LoadError(
        f"not YAML: {problem}", place=Place(file, mark.line + 1, mark.column + 1), hint=hint
    )


def _hint_at_text(problem: str, line: str) -> str | None:
    """Return a hint about a text that YAML takes for something else; None if there is none."""
    if problem in _CUT_SHORT and _APOSTROPHE.search(line):
        return "double an apostrophe within '…', as in 'It''s fine'; or use \"…\""
    if problem == _NO_EXPECTED_KEY and (found := _BRACKETED.search(line)):
        return f"a string that begins with {found[1]} needs quotes"
    return None


def _hint_at_place(problem: str, before: str, char: str) -> str | None:
    if problem == _COLON:
        if ": " in before:
            return "a string with a colon needs quotes"
        return "it is indented too far, or a key above has no colon"
    if problem == _NO_TOKEN:
        return _TAB if char == "\t" else f"a string that begins with {char} needs quotes"
    return None
