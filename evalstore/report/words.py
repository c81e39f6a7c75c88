"""Numbers, lists and sentences as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import TextWrapper

from evalstore.report.screen import PAPER
from evalstore.text import make_printable


def counted(number: int, word: str) -> str:
    """Return `1 rubric`, `1,200 rubrics`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(words: Iterable[str], limit: int | None = None) -> str:
    """Return `a, b and c`; of more than `limit` the first ones, and how many more there are."""
    shown = list(words)
    if limit is not None and len(shown) > limit:
        shown = [*shown[:limit], f"{len(shown) - limit:,} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def wrapped(*sentences: str, width: int = PAPER.width, lead: str = "", inner: str = "") -> list[str]:
    """Return sentences, safe to show, in lines of at most `width` characters.

    The first line of each begins with `lead`, the others with `inner`. No word is cut, at a hyphen or where it is
    longer than a line: options, rules and paths are copied.
    """
    lines = TextWrapper(
        width, initial_indent=lead, subsequent_indent=inner, break_on_hyphens=False, break_long_words=False
    )
    return [line for sentence in sentences for line in lines.wrap(make_printable(sentence))]
