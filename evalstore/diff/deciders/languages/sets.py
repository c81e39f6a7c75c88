"""Asks the engine itself which characters an atom of a pattern matches, so that nothing about them can be wrong."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from evalstore.checks.patterns import compile_pattern
from evalstore.diff.deciders.languages.budget import Budget, UndecidedError
from evalstore.diff.deciders.languages.tree import Atom, Chars, Folded, Set

# Half-open, ascending, apart.
Ranges = tuple[tuple[int, int], ...]

# Measured: what takes as long as so many steps of a comparison. A look at all characters, for each item of a class; a
# look at a few characters.
_LOOK, _LOOK_FOR, _FEW = 2_000, 600, 200
_CHAR = r"(?:\\(?:x..|u.{4}|U.{8}|.)|[^\\])"
_ITEM = re.compile(rf"{_CHAR}(?:-{_CHAR})?", re.DOTALL)


def members(atoms: Iterable[Atom], budget: Budget) -> Mapping[Atom, Ranges]:
    """Return the characters of each atom."""
    distinct = list(dict.fromkeys(atoms))
    folded = frozenset(atom.char for atom in distinct if isinstance(atom, Folded))
    near = _near(folded, budget) if folded else ""
    return {atom: _members(atom, near, budget) for atom in distinct}


def word(budget: Budget) -> Ranges:
    """Return the characters of words, whose edges are places."""
    return _looked_up(r"\w", "", budget)


def _members(atom: Atom, near: str, budget: Budget) -> Ranges:
    if isinstance(atom, Set):
        return _looked_up(atom.source, atom.flag, budget)
    if isinstance(atom, Chars):
        return _ranges(atom.chars)
    budget.spend(_FEW)
    return _ranges(_folded(atom.char, near))


def _near(chars: frozenset[str], budget: Budget) -> str:
    """Return every character that one of `chars` can match under flag i: a few, among which each is then looked up.

    What is ASCII is always among them, so that most patterns share one look.
    """
    others = "".join(_escaped(char) for char in sorted(chars) if not char.isascii())
    found = _looked_up(rf"[\x00-\x7f{others}]", "i", budget)
    return "".join(chr(code) for start, end in found for code in range(start, end))


def _looked_up(source: str, flag: str, budget: Budget) -> Ranges:
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
