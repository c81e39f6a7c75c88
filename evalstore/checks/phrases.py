"""Says what a check's phrase is, and when so many are not looked for in so long a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalstore.languages.patterns import OUTPUT_LIMIT

STEP_LIMIT = 1 << 32  # characters that are looked at, each once for each phrase: some two seconds
PHRASE_LIMIT = STEP_LIMIT // OUTPUT_LIMIT


class Phrase(NamedTuple):
    """A text to look for: in the output as it is if `is_exact`, else both in lower case."""

    text: str
    is_exact: bool


def read_phrase(value: object, params: Mapping[str, Any]) -> Phrase | None:
    """Return what a check of phrases looks for with this one value; None if it is not a text.

    None, too, where it looks in what the steps of `on` leave of the output.
    """
    if not isinstance(value, str) or params.get("on"):
        return None
    is_exact = bool(params.get("case_sensitive", False))
    return Phrase(value if is_exact else value.lower(), is_exact)


def find_excess(phrases: Sequence[object], text: str) -> str | None:
    """Say why so many phrases are not looked for in so long a text; None where they are.

    Of `PHRASE_LIMIT` phrases or fewer there is no limit.
    """
    steps = len(phrases) * len(text)
    if len(phrases) <= PHRASE_LIMIT or steps <= STEP_LIMIT:
        return None
    return (
        f"{len(phrases):,} phrases in {len(text):,} characters are {steps:,} steps, more than "
        f"{STEP_LIMIT:,}"
    )
