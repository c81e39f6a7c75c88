"""Text from strangers, made safe where it is shown, and the nearest of several names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

_SHOWN_LIMIT = 200
_NO_CHARACTERS = "\ufffe\uffff"  # no document of XML holds them
# What the log of a CI system takes for a command: the first anywhere in a line, the second at its start.
_COMMANDS = re.compile(r"(?P<anywhere>#(?=#\w*\[))|^(?P<blank>[^\S\n]*):(?=:)", re.MULTILINE)


def printable(text: str) -> str:
    """Escape what could act on a reader: C0, C1, bidirectional controls, zero-width, surrogates, no characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def excerpt(text: str, limit: int = _SHOWN_LIMIT) -> str:
    """Return `text` printable and at most `limit` characters long."""
    return printable(text if len(text) <= limit else text[: limit - 1] + "…")


def inert(text: str) -> str:
    """Escape what the log of a CI system would act on; whole lines, as they are printed."""
    return _COMMANDS.sub(lambda found: "\\x23" if found["anywhere"] else f"{found['blank']}\\x3a", text)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like `name`, or None when nothing is near."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=0.7)), None)


def _shown(char: str) -> str:
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or char in _NO_CHARACTERS:
        return char.encode("unicode_escape").decode("ascii")
    return char
