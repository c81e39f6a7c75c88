"""The letters of a pattern: characters that its atoms and anchors do not tell apart are one letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from evalstore.languages.patterns.engine import compile_pattern
from evalstore.languages.patterns.syntax_tree import (
    LAST,
    NEWLINE,
    WORD,
    Anchor,
    AnchorKind,
    Atom,
    CharClass,
    Chars,
    Neighbour,
    RegexTree,
    UndecidedError,
    iterate_tree,
)

_WORD_ANCHORS = frozenset({AnchorKind.WORD_EDGE, AnchorKind.NO_WORD_EDGE})
_CODES = re.compile(r"\\(?:x|u|U)([0-9A-Fa-f]{2,8})")
# Of these classes, the source has no character to try.
_PROPERTY = re.compile(r"\\[pPN]|\[:")
# Beyond ASCII: letters, digits, blanks and marks of some scripts, and what flag i relates to ASCII.
_SAMPLE = "".join(map(chr, range(128))) + (
    "\x85\xa0\xaa\xb2\xb5\xb7\xbd\xdf\xe4\xc4\u0130\u0131\u017f\u0301\u03a3\u03c2\u0416\u0663\u1e9e\u2003\u2013"
    "\u2028\u20ac\u212a\u4e2d\uff11\ufb01\U0001f600"
)


class Letter(NamedTuple):
    """Which atoms match a character, a bit each, and what it is to an anchor beside it."""

    atoms: int
    neighbour: Neighbour


class LetterTable(dict[str, int]):
    """The letter of each character, asked of the engine when it is first met; `masks` has the bit of each atom."""

    def __init__(self, tree: RegexTree) -> None:
        super().__init__()
        nodes = list(iterate_tree(tree))
        atoms = list(dict.fromkeys(node for node in nodes if isinstance(node, Atom)))
        has_edges = any(isinstance(node, Anchor) and node.kind in _WORD_ANCHORS for node in nodes)
        self.masks = {atom: 1 << index for index, atom in enumerate(atoms)}
        self._readers = [build_reader(atom) for atom in atoms]
        self._word = build_reader(CharClass(r"\w", "")) if has_edges else None
        self.letters: list[Letter] = []
        self._numbers: dict[Letter, int] = {}

    def __missing__(self, char: str) -> int:
        atoms = sum(1 << index for index, reads in enumerate(self._readers) if reads(char))
        is_word = self._word is not None and self._word(char)
        self[char] = number = self.number_letter(Letter(atoms, (char == "\n") * NEWLINE | is_word * WORD))
        return number

    def number_letter(self, letter: Letter) -> int:
        """Return the number of a letter."""
        if letter not in self._numbers:
            self._numbers[letter] = len(self.letters)
            self.letters.append(letter)
        return self._numbers[letter]

    def spell(self, text: str, *, backward: bool) -> Iterator[int]:
        """Yield the letters of a text, of which a newline at its end is another than one amid it."""
        if not text.endswith("\n"):
            return map(self.__getitem__, text[::-1] if backward else text)
        newline = self.letters[self["\n"]]
        last = (self.number_letter(newline._replace(neighbour=newline.neighbour | LAST)),)
        if backward:
            return chain(last, map(self.__getitem__, text[-2::-1]))
        return chain(map(self.__getitem__, text[:-1]), last)


def build_reader(atom: Atom) -> Callable[[str], bool]:
    """Return whether an atom matches a character, as the engine says."""
    if isinstance(atom, Chars):
        return atom.chars.__contains__
    source, flags = (atom.source, atom.flag) if isinstance(atom, CharClass) else (f"\\U{ord(atom.char):08x}", "i")
    compiled = compile_pattern(source, flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    return lambda char: compiled.match(char) is not None


@lru_cache(maxsize=1024)
def are_disjoint(one: Atom, other: Atom) -> bool:
    """Whether no character is known that both match, of the sample and of what they are written with."""
    if _has_property(one) or _has_property(other) or _match_sample(one) & _match_sample(other):
        return False
    reads, reads_too = build_reader(one), build_reader(other)
    return not any(reads(char) and reads_too(char) for char in _spell_atom(one) + _spell_atom(other))


@lru_cache(maxsize=1024)
def _match_sample(atom: Atom) -> int:
    """Return which characters of the sample an atom matches, a bit each."""
    reads = build_reader(atom)
    return sum(1 << index for index, char in enumerate(_SAMPLE) if reads(char))


def _has_property(atom: Atom) -> bool:
    return isinstance(atom, CharClass) and _PROPERTY.search(atom.source) is not None


def _spell_atom(atom: Atom) -> str:
    if isinstance(atom, CharClass):
        return atom.source + "".join(chr(int(code, 16)) for code in _CODES.findall(atom.source))
    return atom.chars if isinstance(atom, Chars) else atom.char + atom.char.swapcase()


# Steps that the engine may take at most by `work_bound`, a second or two; a longer text goes to the automaton.
ENGINE_STEPS = 1 << 27
# Letters times positions of an automaton.
AUTOMATON_STEPS = 1 << 28
