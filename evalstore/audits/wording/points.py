"""Formats shares of a score as points of a hundred, and joins phrases into a list; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from evalstore.text import make_excerpt

_NOTHING = 1e-12  # the float residue that counts as nothing
# The end of a claim, unless a doubt about it follows.
_CLAIM_END = re.compile(r"[,;] (?!which|within|although|estimated|a bounded|could be|if )")


def format_points(share: Fraction | float) -> str:
    """Format a share of the score in points of a hundred, with sign.

    Only exactly nothing has no sign.
    """
    return f"{float(share) * 100:+.2f}" if abs(float(share)) > _NOTHING else "0.00"


def format_change(old: Fraction | None, new: Fraction | None) -> str:
    """Format the change of a score in points; `-` if either is unknown."""
    return "-" if old is None or new is None else format_points(new - old)


def format_size(share: Fraction | float) -> str:
    """Format the size of a share, in points; anything but nothing is never shown as 0.00."""
    text = f"{abs(float(share)) * 100:.2f}"
    return "less than 0.01" if text == "0.00" and share else text


def shorten_claims(text: str, limit: int) -> str:
    """Return a sentence of several claims, shortened to whole ones.

    No claim is shown without the doubt about it.
    """
    if len(text) <= limit:
        return text
    ends = [found.start() for found in _CLAIM_END.finditer(text, 0, limit - len(", …"))]
    return f"{text[: ends[-1]]}, …" if ends else make_excerpt(text, limit)


def join_phrases(parts: Sequence[str]) -> str:
    """Return `a, b, and c`."""
    if not parts[2:]:  # a list of two needs no comma
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"
