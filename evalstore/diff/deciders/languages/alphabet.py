"""The letters of a comparison: classes of characters that no atom of either side tells apart, each with one example."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import NamedTuple

from evalstore.diff.deciders.languages.budget import Budget
from evalstore.diff.deciders.languages.sets import Ranges, members, word
from evalstore.diff.deciders.languages.tree import At, Atom, Place, Tree, nodes

# What stands beside a place, as bits; 0 is any other letter.
NEWLINE, WORD, NOTHING = 1, 2, 4
Beside = int

# Texts are shown to people: examples are taken from here where the class has one.
_PREFERRED = f"{ascii_lowercase}{digits} {ascii_uppercase}-{punctuation}\n\t"
_LINE_ENDS: Ranges = ((ord("\n"), ord("\n") + 1),)
_WORD_PLACES = frozenset({At(Place.WORD_EDGE), At(Place.NO_WORD_EDGE)})
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x110000


class Alphabet(NamedTuple):
    """An example of each letter, the readable ones first; the letters of each atom, and of each sort of neighbour.

    A set of letters is a mask, a bit each.
    """

    chars: Sequence[str]
    masks: Mapping[Atom, int]
    beside: Mapping[Beside, int]


def alphabet_of(trees: Sequence[Tree], budget: Budget) -> Alphabet:
    """Return the letters that the atoms and places of some trees need."""
    found = [node for tree in trees for node in nodes(tree)]
    held = members((node for node in found if isinstance(node, Atom)), budget)
    words = () if _WORD_PLACES.isdisjoint(node for node in found if isinstance(node, At)) else word(budget)
    # The first two sets are the bits NEWLINE and WORD.
    classes = _classes([_LINE_ENDS, words, *held.values()], budget)
    masks = [0, 0, *(0 for _ in held)]
    beside: dict[Beside, int] = {}
    for place, sets in enumerate(classes):
        sort = sets & (NEWLINE | WORD)
        beside[sort] = beside.get(sort, 0) | 1 << place
        for index in _bits(sets):
            masks[index] |= 1 << place
    return Alphabet(list(classes.values()), dict(zip(held, masks[2:], strict=True)), beside)


def _bits(number: int) -> Iterator[int]:
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


def _classes(sets: Sequence[Ranges], budget: Budget) -> dict[int, str]:
    """Return the classes into which the sets divide all characters: the sets that hold it, a bit each; an example."""
    starts, held = _stretches(sets, budget)
    found: dict[int, str] = {}
    for char in _PREFERRED:
        found.setdefault(held[bisect_right(starts, ord(char)) - 1], char)
    lasts = [start - 1 for start in (*starts[1:], _LAST)]
    # A character that no file can hold is the last to speak for its class.
    for index in sorted(range(len(lasts)), key=lambda index: lasts[index] in _SURROGATES):
        found.setdefault(held[index], chr(lasts[index]))
    return found


def _stretches(sets: Sequence[Ranges], budget: Budget) -> tuple[list[int], list[int]]:
    """Return where each stretch of equal characters starts, and the sets that hold it, a bit each."""
    turns = {0: 0}
    for index, ranges in enumerate(sets):
        budget.spend(len(ranges))
        for start, end in ranges:
            turns[start] = turns.get(start, 0) ^ (1 << index)
            turns[end] = turns.get(end, 0) ^ (1 << index)
    starts, held, now = sorted(turns.keys() - {_LAST}), [], 0
    for start in starts:
        now ^= turns[start]
        held.append(now)
    return starts, held
