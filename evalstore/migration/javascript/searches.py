"""Writes JavaScript's searches in a text, such as `includes`, as patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from evalstore.migration.javascript.expressions import STRING, UnreadError
from evalstore.migration.javascript.values import SPACE, has_half_character, trim_space

_MADE = r"(?P<made>(?:\.trim\(\)|\.toLowerCase\(\))*)"
# How code searches for a text: what follows the text that it searches in.
CALL = (
    rf"{_MADE}\.(?P<name>includes|startsWith|endsWith)"
    rf"\(\s*(?P<text>{STRING})\s*\)(?!\s*[=<>.\[])"
)
EQUAL = rf"{_MADE}\s*===\s*(?P<text>{STRING})"
# Besides capitals, these become an ASCII letter in lower case: the Kelvin sign, and a capital I
# with a dot, which leaves a combining dot after it.
_ALSO = {"k": "\\u212a", "i": "\\u0130"}


class Search(NamedTuple):
    """A pattern for the start of a text, or for any place in it."""

    pattern: str
    is_anywhere: bool


def write_search(name: str, text: str, made: str) -> Search:
    """Return the pattern that finds a text; raises `UnreadError` if none is certain.

    `name` is the function that searches, or `===`; `made` are the calls on the searched text first.
    """
    is_trimmed, is_lower = ".trim()" in made, ".toLowerCase()" in made
    if has_half_character(text) or (is_trimmed and (not text or text != trim_space(text))):
        raise UnreadError
    if is_lower and (not text.isascii() or text != text.lower()):
        raise UnreadError
    has_end, is_anywhere = name in {"endsWith", "==="}, name in {"includes", "endsWith"}
    said = "".join(_fold(text, has_end=has_end)) if is_lower else re.escape(text)
    blank = f"[{SPACE}]*" if is_trimmed else ""
    start, end = "" if is_anywhere else blank, f"{blank}\\Z" if has_end else ""
    return Search(f"{start}{said}{end}", is_anywhere)


def _fold(text: str, *, has_end: bool) -> Iterator[str]:
    """Yield a pattern for each letter of a text that is searched for in lower case."""
    for place, letter in enumerate(text, 1):
        is_dotted = letter == "i" and (has_end or place < len(text))
        also = "" if is_dotted else _ALSO.get(letter, "")
        is_letter = letter.isalpha()
        yield f"[{letter.upper()}{letter}{also}]" if is_letter else re.escape(letter)
