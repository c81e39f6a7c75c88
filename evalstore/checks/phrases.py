"""Says what a check's phrase is, and when there are too many to search for in a long text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalstore.languages.patterns import OUTPUT_LIMIT

STEP_LIMIT = 1 << 32  # characters examined, each once per phrase: some two seconds
PHRASE_LIMIT = STEP_LIMIT // OUTPUT_LIMIT


class Phrase(NamedTuple):
    """A text to search for: in the output as it is if `is_exact`, else both in lower case."""

    text: str
    is_exact: bool


def read_phrase(value: object, params: Mapping[str, Any]) -> Phrase | None:
    """Return what a check of phrases searches for with this value; None if it is not a text.

    Also None if it searches what the steps of `on` leave of the output.
    """
    if not isinstance(value, str) or params.get("on"):
        return None
    is_exact = bool(params.get("case_sensitive", False))
    return Phrase(value if is_exact else value.lower(), is_exact)


def find_excess(phrases: Sequence[object], text: str) -> str | None:
    """Say why so many phrases are not searched for in so long a text; None if they are.

    There is no limit for `PHRASE_LIMIT` phrases or fewer.
    """
    steps = len(phrases) * len(text)
    if len(phrases) <= PHRASE_LIMIT or steps <= STEP_LIMIT:
        return None
    return (
        f"{len(phrases):,} phrases in {len(text):,} characters are {steps:,} steps, more than "
        f"{STEP_LIMIT:,}"
    )
