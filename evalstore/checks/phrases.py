"""Bounds the search for phrases: very many in a very long output take minutes, whatever is looked for."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.patterns.limits import OUTPUT_LIMIT

STEP_LIMIT = 1 << 32  # characters that are looked at, each once for each phrase: some two seconds
PHRASE_LIMIT = STEP_LIMIT // OUTPUT_LIMIT


def find_excess(phrases: Sequence[object], text: str) -> str | None:
    """Say why so many phrases are not looked for in so long a text; None where they are.

    Of `PHRASE_LIMIT` phrases or fewer there is no limit.
    """
    steps = len(phrases) * len(text)
    if len(phrases) <= PHRASE_LIMIT or steps <= STEP_LIMIT:
        return None
    return f"{len(phrases):,} phrases in {len(text):,} characters are {steps:,} steps, more than {STEP_LIMIT:,}"
