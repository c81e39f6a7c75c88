"""Makes untrusted text safe to show, and finds the nearest of several names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Characters of a text that is quoted within a sentence: a name or a value, one that is the point of it, and a list.
SHORT_EXCERPT, EXCERPT, LONG_EXCERPT = 60, 80, 400
# Characters of a digest, or of a commit, that a message shows, and that no other in one file begins with.
SHORT_DIGEST, LONG_DIGEST = 12, 16
_NONCHARACTERS = "\ufffe\uffff"  # not allowed in XML
# Commands in the log of a CI system: `##[…]` anywhere in a line (Azure Pipelines), `::…` at its start (GitHub Actions).
_CI_COMMANDS = re.compile(r"(?P<anywhere>#(?=#\w*\[))|^(?P<blank>[^\S\n]*):(?=:)", re.MULTILINE)


def make_printable(text: str) -> str:
    """Escape control characters, bidirectional and zero-width ones, surrogates and non-characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(char) for char in text)


def make_excerpt(text: str, limit: int = 200) -> str:
    """Return `text` made printable and cut to `limit` characters."""
    return make_printable(text if len(text) <= limit else text[: limit - 1] + "…")


def escape_ci_commands(text: str) -> str:
    """Escape what the log of a CI system takes for a command; `text` is whole lines, as they are printed."""
    return _CI_COMMANDS.sub(lambda found: "\\x23" if found["anywhere"] else f"{found['blank']}\\x3a", text)


def find_nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like `name`; None when none is near."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=0.7)), None)


def _escape_character(char: str) -> str:
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or char in _NONCHARACTERS:
        return char.encode("unicode_escape").decode("ascii")
    return char
