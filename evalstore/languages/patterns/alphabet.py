"""Divides all code points into classes that no atom on either side tells apart: the letters.

Automata theory calls such classes minterms. The engine itself is asked which characters an atom
matches, so that nothing about classes, cases or Unicode can differ from what a check does.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from sys import maxunicode
from typing import NamedTuple

from evalstore.budget import SharedBudget
from evalstore.languages.patterns.anchors import KINDS_ASKED, NEWLINE, WORD, Neighbour
from evalstore.languages.patterns.engine import compile_pattern
from evalstore.languages.patterns.syntax_tree import (
    Anchor,
    AnchorKind,
    Atom,
    CharClass,
    Chars,
    FoldedChar,
    RegexTree,
    UndecidedError,
    iterate_tree,
)

# Code points: half-open, ascending, disjoint.
CodeRanges = tuple[tuple[int, int], ...]

_CLASS_CHAR = r"(?:\\(?:x..|u.{4}|U.{8}|.)|[^\\])"
_CLASS_ITEM = re.compile(rf"{_CLASS_CHAR}(?:-{_CLASS_CHAR})?", re.DOTALL)

# Texts are shown to people: examples are taken from here if the class has one.
PLAIN_CHARS = f"{ascii_lowercase}{digits} {ascii_uppercase}-{punctuation}\n\t"
_NEWLINE_RANGES: CodeRanges = ((ord("\n"), ord("\n") + 1),)
_WORD_ANCHORS = frozenset({Anchor(AnchorKind.WORD_EDGE), Anchor(AnchorKind.NO_WORD_EDGE)})
_SURROGATES = range(0xD800, 0xE000)
_CODE_LIMIT = maxunicode + 1


class Alphabet(NamedTuple):
    """An example of each letter, readable ones first; the letters of each atom and neighbour kind.

    A letter is its number; a set of letters is a mask, with a bit for each.
    """

    examples: Sequence[str]
    masks: Mapping[Atom, int]
    by_neighbour: Mapping[Neighbour, int]


def build_alphabet(trees: Sequence[RegexTree], budget: SharedBudget) -> Alphabet:
    """Return the letters that the atoms and anchors of some trees need."""
    nodes = [node for tree in trees for node in iterate_tree(tree)]
    ranges = find_ranges((node for node in nodes if isinstance(node, Atom)), budget)
    has_edges = not _WORD_ANCHORS.isdisjoint(node for node in nodes if isinstance(node, Anchor))
    word_ranges = _look_up_class(r"\w", "", budget) if has_edges else ()
    # The first two sets are the bits NEWLINE and WORD.
    classes = _partition_chars([_NEWLINE_RANGES, word_ranges, *ranges.values()], budget)
    masks = [0, 0, *(0 for _ in ranges)]
    by_neighbour: dict[Neighbour, int] = {}
    for letter, members in enumerate(classes):
        neighbour = members & (NEWLINE | WORD)
        by_neighbour[neighbour] = by_neighbour.get(neighbour, 0) | 1 << letter
        for index in iterate_bits(members):
            masks[index] |= 1 << letter
    return Alphabet(list(classes.values()), dict(zip(ranges, masks[2:], strict=True)), by_neighbour)


def merge_neighbours(alphabet: Alphabet, tree: RegexTree) -> Mapping[Neighbour, int]:
    """Return the letters of each kind that the anchors of a tree tell apart."""
    asked = 0
    for node in iterate_tree(tree):
        if isinstance(node, Anchor) and isinstance(node.kind, AnchorKind):
            asked |= KINDS_ASKED.get(node.kind, 0)
    merged: dict[Neighbour, int] = {}
    for neighbour, letters in alphabet.by_neighbour.items():
        merged[neighbour & asked] = merged.get(neighbour & asked, 0) | letters
    return merged


def find_ranges(atoms: Iterable[Atom], budget: SharedBudget) -> Mapping[Atom, CodeRanges]:
    """Return the characters that the engine matches for each atom."""
    distinct = list(dict.fromkeys(atoms))
    folded = frozenset(atom.char for atom in distinct if isinstance(atom, FoldedChar))
    relatives = _find_case_relatives(folded, budget) if folded else ""
    return {atom: _find_atom_ranges(atom, relatives, budget) for atom in distinct}


def _partition_chars(sets: Sequence[CodeRanges], budget: SharedBudget) -> dict[int, str]:
    """Return the classes into which the sets divide all characters, each with an example.

    A class is the sets that contain it, with a bit for each.
    """
    starts, members = _cut_stretches(sets, budget)
    classes: dict[int, str] = {}
    for char in PLAIN_CHARS:
        classes.setdefault(members[bisect_right(starts, ord(char)) - 1], char)
    lasts = [start - 1 for start in (*starts[1:], _CODE_LIMIT)]
    # A surrogate, which no file can contain, is the example of a class only if it has no other
    # character.
    for index in sorted(range(len(lasts)), key=lambda index: lasts[index] in _SURROGATES):
        classes.setdefault(members[index], chr(lasts[index]))
    return classes


def _cut_stretches(sets: Sequence[CodeRanges], budget: SharedBudget) -> tuple[list[int], list[int]]:
    """Return where each stretch of equal characters starts, and the sets with it as bits."""
    # A sweep line: at each code, the bits of the sets that begin or end there.
    turns = {0: 0}
    for index, ranges in enumerate(sets):
        budget.spend(len(ranges))
        for start, end in ranges:
            turns[start] = turns.get(start, 0) ^ (1 << index)
            turns[end] = turns.get(end, 0) ^ (1 << index)
    starts, members, now = sorted(turns.keys() - {_CODE_LIMIT}), [], 0
    for start in starts:
        now ^= turns[start]
        members.append(now)
    return starts, members


def iterate_bits(number: int) -> Iterator[int]:
    """Yield the positions of a number's set bits, lowest first."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


def _find_atom_ranges(atom: Atom, relatives: str, budget: SharedBudget) -> CodeRanges:
    if isinstance(atom, CharClass):
        return _look_up_class(atom.source, atom.flag, budget)
    if isinstance(atom, Chars):
        return _merge_codes(atom.chars)
    budget.spend(200)  # measured: looking at a few
    return _merge_codes(_fold_char(atom.char, relatives))


def _find_case_relatives(chars: frozenset[str], budget: SharedBudget) -> str:
    """Return every character that one of `chars` can match under flag i, to look each of them up.

    ASCII is always included, so that most patterns share one look-up.
    """
    others = "".join(_escape_char(char) for char in sorted(chars) if not char.isascii())
    ranges = _look_up_class(rf"[\x00-\x7f{others}]", "i", budget)
    return "".join(chr(code) for start, end in ranges for code in range(start, end))


@lru_cache(maxsize=1024)
def _fold_char(char: str, relatives: str) -> str:
    return "".join(
        relatives[start:end] for start, end in _scan_text(_escape_char(char), "i", relatives)
    )


def _look_up_class(source: str, flag: str, budget: SharedBudget) -> CodeRanges:
    # Spent also when the result is cached: a step count must not depend on what a process did
    # before.
    budget.spend(2_000 + 600 * len(_CLASS_ITEM.findall(source)))
    return _scan_all_chars(source, flag)


@lru_cache(maxsize=256)
def _scan_all_chars(source: str, flags: str) -> CodeRanges:
    # In the text of all characters, the offset of a character is its code point.
    return _scan_text(source, flags, _join_all_chars())


def _scan_text(source: str, flags: str, text: str) -> CodeRanges:
    compiled = compile_pattern(f"(?:{source})+", flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    return tuple(match.span() for match in compiled.finditer(text))


@cache
def _join_all_chars() -> str:
    codes = array("I", range(sys.maxunicode + 1)).tobytes()
    return codes.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


def _escape_char(char: str) -> str:
    return f"\\U{ord(char):08x}"


def _merge_codes(chars: Iterable[str]) -> CodeRanges:
    ranges: list[tuple[int, int]] = []
    for code in sorted({ord(char) for char in chars}):
        if ranges and ranges[-1][1] == code:
            ranges[-1] = (ranges[-1][0], code + 1)
        else:
            ranges.append((code, code + 1))
    return tuple(ranges)
