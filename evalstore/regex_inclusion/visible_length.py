"""Counts how many characters that are no white space the texts of a language hold at least."""

from __future__ import annotations

from functools import lru_cache

from evalstore.patterns.engine import compile_pattern
from evalstore.patterns.syntax_tree import (
    Alternation,
    Atom,
    Chars,
    Concatenation,
    FoldedChar,
    RegexTree,
    Repetition,
)
from evalstore.regex_inclusion.languages import list_white_space


def count_visible(language: RegexTree) -> int:
    """Return a number of visible characters that every text of a language has; looked-at places count for nothing."""
    if isinstance(language, Concatenation):
        return sum(map(count_visible, language.parts))
    if isinstance(language, Alternation):
        return min(map(count_visible, language.parts), default=0)
    if isinstance(language, Repetition):
        return language.least * count_visible(language.body)
    return int(isinstance(language, Atom) and not _may_be_blank(language))


@lru_cache(1024)
def _may_be_blank(atom: Atom) -> bool:
    if isinstance(atom, Chars):
        return any(map(str.isspace, atom.chars))
    if isinstance(atom, FoldedChar):
        return atom.char.isspace()
    compiled = compile_pattern(atom.source, atom.flag)
    return isinstance(compiled, str) or compiled.search(list_white_space()) is not None
