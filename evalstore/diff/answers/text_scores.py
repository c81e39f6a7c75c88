"""What checks of text share: a score from the languages of a text, and the languages of phrases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.limits import COMPARED
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import Membership, RegexTree


class TextScore(NamedTuple):
    """How the score of a check, before `negate`, follows from which languages contain a text."""

    languages: tuple[RegexTree, ...]
    compute: Callable[[Membership], Fraction]


def is_in_all(found: Membership) -> Fraction:
    """Return 1 for a text that is in all languages, else 0."""
    return Fraction(all(found))


def build_phrases(params: Any, values: Sequence[str] | None = None) -> RegexTree:
    """Return the texts that contain any of these phrases; by default, all that the check lists."""
    listed = params["values"] if values is None else values
    return pattern_comparison.build_phrase_language(
        list(listed), case_sensitive=params["case_sensitive"]
    )


def simplify_phrases(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters without phrases that contain another phrase, if one match is enough."""
    values = params["values"]
    is_listed = isinstance(values, list) and len(values) <= min(COMPARED.items, PHRASE_LIMIT)
    if not is_listed or params.get("min_matches", 1) != 1:
        return params
    texts = values if params["case_sensitive"] else [value.lower() for value in values]
    shortest: list[str] = []
    for text in sorted(texts, key=lambda text: (len(text), text)):
        if not any(known in text for known in shortest):
            shortest.append(text)
    return {**params, "values": shortest}


def find_phrase_limit(params: Any) -> int | None:
    """Return how many phrases a check has if these are too many for a long text; else None."""
    count = len(params["values"])
    return count if count > PHRASE_LIMIT else None


def is_monotone_in_pieces(phrases: Sequence[str], params: Any) -> bool:
    """Whether a phrase that is found in a piece of a text is found in the text.

    It may not be if case is ignored: the lower case of a sigma depends on the letters around it,
    and a piece may lack them.
    """
    return bool(params["case_sensitive"]) or not any(
        sigma in phrase.lower() for phrase in phrases for sigma in "\u03c3\u03c2"
    )
