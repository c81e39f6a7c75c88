"""Numbers and lists as people write them."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, word: str) -> str:
    """Return `1 rubric`, `1,200 rubrics`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(words: Iterable[str], limit: int | None = None) -> str:
    """Return `a, b and c`; of more than `limit` the first ones, and how many more there are."""
    shown = list(words)
    if limit is not None and len(shown) > limit:
        shown = [*shown[:limit], f"{len(shown) - limit:,} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
