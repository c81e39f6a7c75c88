"""Looks for phrases in a text: one by one, or, of very many in a long text, only those whose pieces it has.

A text is indexed when many phrases were looked for in it: for each piece of a few characters, whether one of its hash
is there (a Bloom filter of one hash). What has a piece that the text lacks is not in it; all else is looked for as
ever, so that no answer depends on a hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from evalstore.languages.patterns import OUTPUT_LIMIT

STEP_LIMIT = 1 << 32  # characters that are looked at, each once for each phrase: some two seconds
PHRASE_LIMIT = STEP_LIMIT // OUTPUT_LIMIT

_PHRASE_KINDS = frozenset({"must_contain_any", "must_not_contain"})
# Shorter texts are looked through sooner than indexed.
_INDEXED_LENGTH = 2_048
# Measured: about so many phrases take as long as the index.
_PHRASES_BEFORE = 300
# The lengths of pieces, the longest that a phrase has first; and of one phrase so many are looked up at most.
_PIECE_LENGTHS = (8, 4)


class Phrase(NamedTuple):
    """A text to look for, in an output as it is where `is_exact`, else in lower case as the phrase is."""

    text: str
    is_exact: bool


def read_phrase(kind: str, value: object, params: Mapping[str, Any]) -> Phrase | None:
    """Return what a check of this kind looks for where it has this one value; None for what is not a plain phrase."""
    if kind not in _PHRASE_KINDS or not isinstance(value, str):
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
    return f"{len(phrases):,} phrases in {len(text):,} characters are {steps:,} steps, more than {STEP_LIMIT:,}"


def prepare_search(text: str, count: int) -> Callable[[str], bool]:
    """Return whether a phrase is in a text, as a function for so many phrases; searches of one text share its index."""
    if len(text) < _INDEXED_LENGTH:
        return text.__contains__
    index = _keep_index(text)
    index.expected += count
    return index.has_phrase if index.expected > _PHRASES_BEFORE else text.__contains__


class PhraseIndex:
    """The pieces of one text, once enough phrases were looked for that have pieces of that length."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.expected = 0
        self._mask = (1 << (4 * len(text)).bit_length()) - 1  # about one entry in so many is taken
        self._pieces: dict[int, bytearray] = {}
        self._asked: Counter[int] = Counter()

    def has_phrase(self, phrase: str) -> bool:
        """Whether a phrase is in the text."""
        length = next((length for length in _PIECE_LENGTHS if length <= len(phrase)), 0)
        self._asked[length] += 1
        if length and self._asked[length] > _PHRASES_BEFORE and not self._has_pieces(phrase, length):
            return False
        return phrase in self._text

    def _has_pieces(self, phrase: str, length: int) -> bool:
        if length not in self._pieces:
            self._pieces[length] = self._list_pieces(length)
        pieces, mask, last = self._pieces[length], self._mask, len(phrase) - length
        places = range(last, -1, -(last // 32 + 1))  # of one phrase so many are looked up at most
        return all(pieces[hash(phrase[place : place + length]) & mask] for place in places)

    def _list_pieces(self, length: int) -> bytearray:
        found, mask = bytearray(self._mask + 1), self._mask
        shifted = (self._text[start:] for start in range(length))
        for number in map(hash, map("".join, zip(*shifted, strict=False))):
            found[number & mask] = 1
        return found


@lru_cache(maxsize=3)
def _keep_index(text: str) -> PhraseIndex:
    return PhraseIndex(text)
