"""Texts that hold one of some phrases, as a tree: as written, or as `str.lower()` makes both sides equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from sys import maxunicode
from typing import NamedTuple

from evalstore.checks.patterns import compile_pattern, items, room
from evalstore.regex_inclusion.parser import parse
from evalstore.regex_inclusion.syntax_tree import ANYTHING, At, Chars, Choice, Place, Row, Tree
from evalstore.regex_inclusion.unsupported import UndecidedError, refuse_faults

# The graph of more characters would take more steps than there are.
_PHRASES_LIMIT = 20_000
# How Python lowers a capital sigma depends on the letters around it.
_SIGMAS = frozenset("\N{GREEK SMALL LETTER SIGMA}\N{GREEK SMALL LETTER FINAL SIGMA}")


class _Lowering(NamedTuple):
    """What is lowered to a letter alone; what is lowered to a letter and more, so that a phrase may end within it.

    `tails` are the letters that come as more: the capital I with dot has a combining dot.
    """

    sources: Mapping[str, str]
    heads: Mapping[str, str]
    tails: frozenset[str]


def contains_any(phrases: Sequence[str], *, case_sensitive: bool) -> Tree:
    """Return the tree of all texts with one of the phrases; raises `UndecidedError` where lowering looks around."""
    if sum(map(len, phrases)) > _PHRASES_LIMIT:
        raise UndecidedError(f"the phrases are longer than {_PHRASES_LIMIT:,} characters together")
    spelled = _as_written if case_sensitive else _lowered
    return Row((ANYTHING, Choice(tuple(map(spelled, phrases)))))


def _as_written(phrase: str) -> Tree:
    return Row(tuple(map(Chars, phrase)))


def _lowered(phrase: str) -> Tree:
    wanted, table = phrase.lower(), _lowering()
    if not _SIGMAS.union(table.tails).isdisjoint(wanted):
        raise UndecidedError("a phrase has a letter whose lower case depends on its neighbours")
    singles = [Chars(table.sources.get(char, char)) for char in wanted]
    if wanted:
        singles[-1] = Chars(singles[-1].chars + table.heads.get(wanted[-1], ""))
    return Row(tuple(singles))


@cache
def _lowering() -> _Lowering:
    sources: dict[str, str] = {}
    heads: dict[str, str] = {}
    tails = ""
    for char, lower in ((char, char.lower()) for char in map(chr, range(maxunicode + 1))):
        if char != lower[0]:
            table = heads if lower[1:] else sources
            table[lower[0]] = table.get(lower[0], lower[0] if table is sources else "") + char
            tails += lower[1:]
    return _Lowering(sources, heads, frozenset(tails))


_PATTERN_LIMIT = 1_000


_FLAGS = frozenset("imsx")


class Expression(NamedTuple):
    """A regular expression as a check runs it; `flags` are of `imsx`, `mode` is search, match or fullmatch."""

    pattern: str
    flags: str = ""
    mode: str = "search"


def language(expression: Expression) -> Tree:
    """Return the texts for which a pattern passes, as a tree; raises `UndecidedError`."""
    pattern, flags, mode = expression
    if not _FLAGS.issuperset(flags):
        raise UndecidedError("its flags are not of i, m, s, x")
    if len(pattern) > _PATTERN_LIMIT or items(pattern) > _PATTERN_LIMIT:
        raise UndecidedError(f"a pattern is longer than {_PATTERN_LIMIT:,} characters, its repeats written out")
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    tree = parse(pattern, flags)
    refuse_faults(tree)
    if mode == "search":
        return Row((ANYTHING, tree))
    return Row((tree, At(Place.TEXT_END))) if mode == "fullmatch" else tree


def room_of(expression: Expression) -> int | None:
    """Return how long an output a pattern is run on; None for one that does not compile."""
    compiled = compile_pattern(expression.pattern, expression.flags)
    return None if isinstance(compiled, str) else room(compiled)
