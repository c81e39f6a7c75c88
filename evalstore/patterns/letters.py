"""The letters of a pattern: characters that its atoms and anchors do not tell apart are one letter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from evalstore.patterns.engine import compile_pattern
from evalstore.patterns.places import LAST, NEWLINE, WORD, Neighbour
from evalstore.patterns.syntax_tree import Anchor, AnchorKind, Atom, CharClass, Chars, RegexTree, iterate_tree
from evalstore.patterns.unsupported import UndecidedError

_WORD_ANCHORS = frozenset({AnchorKind.WORD_EDGE, AnchorKind.NO_WORD_EDGE})


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
