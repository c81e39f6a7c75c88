"""The letters of a comparison: classes of characters that no atom of either side tells apart, each with one example."""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import NamedTuple

from evalstore.budget import SharedBudget
from evalstore.checks.patterns import compile_pattern
from evalstore.regex_inclusion.syntax_tree import At, Atom, Chars, Folded, Place, Set, Tree, nodes
from evalstore.regex_inclusion.unsupported import UndecidedError

# Half-open, ascending, apart.
Ranges = tuple[tuple[int, int], ...]

# Measured: what takes as long as so many steps of a comparison. A look at all characters, for each item of a class; a
# look at a few characters.
_LOOK, _LOOK_FOR, _FEW = 2_000, 600, 200
_CHAR = r"(?:\\(?:x..|u.{4}|U.{8}|.)|[^\\])"
_ITEM = re.compile(rf"{_CHAR}(?:-{_CHAR})?", re.DOTALL)


def members(atoms: Iterable[Atom], budget: SharedBudget) -> Mapping[Atom, Ranges]:
    """Return the characters of each atom."""
    distinct = list(dict.fromkeys(atoms))
    folded = frozenset(atom.char for atom in distinct if isinstance(atom, Folded))
    near = _near(folded, budget) if folded else ""
    return {atom: _members(atom, near, budget) for atom in distinct}


def word(budget: SharedBudget) -> Ranges:
    """Return the characters of words, whose edges are places."""
    return _looked_up(r"\w", "", budget)


def _members(atom: Atom, near: str, budget: SharedBudget) -> Ranges:
    if isinstance(atom, Set):
        return _looked_up(atom.source, atom.flag, budget)
    if isinstance(atom, Chars):
        return _ranges(atom.chars)
    budget.spend(_FEW)
    return _ranges(_folded(atom.char, near))


def _near(chars: frozenset[str], budget: SharedBudget) -> str:
    """Return every character that one of `chars` can match under flag i: a few, among which each is then looked up.

    What is ASCII is always among them, so that most patterns share one look.
    """
    others = "".join(_escaped(char) for char in sorted(chars) if not char.isascii())
    found = _looked_up(rf"[\x00-\x7f{others}]", "i", budget)
    return "".join(chr(code) for start, end in found for code in range(start, end))


def _looked_up(source: str, flag: str, budget: SharedBudget) -> Ranges:
    budget.spend(_LOOK + _LOOK_FOR * len(_ITEM.findall(source)))
    return _found(source, flag)


@lru_cache(maxsize=1024)
def _folded(char: str, near: str) -> str:
    return "".join(near[start:end] for start, end in _scan(_escaped(char), "i", near))


@lru_cache(maxsize=256)
def _found(source: str, flags: str) -> Ranges:
    return _scan(source, flags, _everything())


def _scan(source: str, flags: str, text: str) -> Ranges:
    compiled = compile_pattern(f"(?:{source})+", flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    return tuple(match.span() for match in compiled.finditer(text))


@cache
def _everything() -> str:
    codes = array("I", range(sys.maxunicode + 1)).tobytes()
    return codes.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


def _escaped(char: str) -> str:
    return f"\\U{ord(char):08x}"


def _ranges(chars: Iterable[str]) -> Ranges:
    ranges: list[tuple[int, int]] = []
    for code in sorted({ord(char) for char in chars}):
        if ranges and ranges[-1][1] == code:
            ranges[-1] = (ranges[-1][0], code + 1)
        else:
            ranges.append((code, code + 1))
    return tuple(ranges)


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


def alphabet_of(trees: Sequence[Tree], budget: SharedBudget) -> Alphabet:
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


def _classes(sets: Sequence[Ranges], budget: SharedBudget) -> dict[int, str]:
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


def _stretches(sets: Sequence[Ranges], budget: SharedBudget) -> tuple[list[int], list[int]]:
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
