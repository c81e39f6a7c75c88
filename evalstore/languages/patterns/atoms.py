"""Which characters the atoms of a pattern match, asked of the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from evalstore.languages.patterns.engine import compile_pattern
from evalstore.languages.patterns.syntax_tree import Atom, CharClass, Chars, UndecidedError

_CODES = re.compile(r"\\(?:x|u|U)([0-9A-Fa-f]{2,8})")
# For these classes, the source has no character to try.
_PROPERTY = re.compile(r"\\[pPN]|\[:")
# Beyond ASCII: letters, digits, blanks and marks of some scripts, and what flag i relates to ASCII.
_SAMPLE = "".join(map(chr, range(128))) + (
    "\x85\xa0\xaa\xb2\xb5\xb7\xbd\xdf\xe4\xc4\u0130\u0131\u017f\u0301\u03a3\u03c2\u0416\u0663\u1e9e"
    "\u2003\u2013\u2028\u20ac\u212a\u4e2d\uff11\ufb01\U0001f600"
)


def build_reader(atom: Atom) -> Callable[[str], bool]:
    """Return whether an atom matches a character, as the engine says."""
    if isinstance(atom, Chars):
        return atom.chars.__contains__
    source, flags = (
        (atom.source, atom.flag)
        if isinstance(atom, CharClass)
        else (f"\\U{ord(atom.char):08x}", "i")
    )
    compiled = compile_pattern(source, flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    return lambda char: compiled.match(char) is not None


def find_matched(chars: Iterable[str], atoms: Iterable[Atom]) -> set[str]:
    """Return those characters that some atom matches."""
    readers = [build_reader(atom) for atom in atoms]
    return {char for char in chars if any(reads(char) for reads in readers)}


@lru_cache(maxsize=1024)
def are_disjoint(one: Atom, other: Atom) -> bool:
    """Whether no known character matches both.

    Known are those of the sample and those that the atoms are written with.
    """
    if _has_property(one) or _has_property(other) or _match_sample(one) & _match_sample(other):
        return False
    reads, reads_too = build_reader(one), build_reader(other)
    return not any(
        reads(char) and reads_too(char) for char in _spell_atom(one) + _spell_atom(other)
    )


@lru_cache(maxsize=1024)
def _match_sample(atom: Atom) -> int:
    """Return which characters of the sample an atom matches, with a bit for each."""
    reads = build_reader(atom)
    return sum(1 << index for index, char in enumerate(_SAMPLE) if reads(char))


def _has_property(atom: Atom) -> bool:
    return isinstance(atom, CharClass) and _PROPERTY.search(atom.source) is not None


def _spell_atom(atom: Atom) -> str:
    if isinstance(atom, CharClass):
        return atom.source + "".join(chr(int(code, 16)) for code in _CODES.findall(atom.source))
    return atom.chars if isinstance(atom, Chars) else atom.char + atom.char.swapcase()
