"""Makes languages to compare: the texts that match a pattern, that contain a phrase, and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.engine import compile_pattern, count_items
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import (
    ANY_TEXT,
    Alternation,
    Anchor,
    AnchorKind,
    Atom,
    Atomic,
    BackReference,
    Chars,
    Concatenation,
    Conditional,
    FoldedChar,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    UndecidedError,
    get_children,
    iterate_tree,
    replace_children,
)

# Beyond the first two planes of Unicode, no character has another case or is white space.
CASED_CODES = 0x20000
_FLAGS = frozenset("imsx")
_TEXT_END = Anchor(AnchorKind.TEXT_END)
_LAST_LINE_END = Alternation(
    (_TEXT_END, Lookahead(Concatenation((Chars("\n"), _TEXT_END)), positive=True))
)
_WORDS = {
    Lookbehind: "what looks behind",
    Atomic: "an atomic or possessive part",
    BackReference: "a reference to a group",
    Conditional: "a test of a group",
}
# How Python lowers a capital sigma depends on the letters around it.
_SIGMAS = frozenset("\N{GREEK SMALL LETTER SIGMA}\N{GREEK SMALL LETTER FINAL SIGMA}")


class Expression(NamedTuple):
    """A regular expression and how it is applied.

    `flags` are from `imsx`; `mode` is search, match or fullmatch.
    """

    pattern: str
    flags: str = ""
    mode: str = "search"


class _LowercaseTable(NamedTuple):
    """What is lowered to a letter alone, and what to a letter and more, where a phrase may end.

    `tails` are the additional letters: the capital I with dot gets a combining dot.
    """

    sources: Mapping[str, str]
    heads: Mapping[str, str]
    tails: frozenset[str]


def build_pattern_language(expression: Expression) -> RegexTree:
    """Return the language of the texts that an expression matches.

    Raises `UndecidedError` for unsupported syntax.
    """
    pattern, flags, mode = expression
    if not _FLAGS.issuperset(flags):
        raise UndecidedError("its flags are not of i, m, s, x")
    _check_length(pattern)
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    tree = _keep_language(parse_pattern(pattern, flags))
    # What follows the last node of a graph is free, so only the start of a search and the end of a
    # fullmatch are added.
    if mode == "search":
        return Concatenation((ANY_TEXT, tree))
    return Concatenation((tree, Anchor(AnchorKind.TEXT_END))) if mode == "fullmatch" else tree


def _check_length(pattern: str) -> None:
    if len(pattern) > PATTERNS.compared or count_items(pattern) > PATTERNS.compared:
        raise UndecidedError(
            f"a pattern is longer than {PATTERNS.compared:,} characters, its repeats written out"
        )


def _keep_language(tree: RegexTree) -> RegexTree:
    """Return a tree for the same texts, without groups and the order of attempts.

    Refuses a tree that has no such form.
    """
    if isinstance(tree, Group):
        return _keep_language(tree.body)
    if tree == Anchor(AnchorKind.LAST_LINE_END):
        return _LAST_LINE_END
    if isinstance(tree, Lookbehind | Atomic | BackReference | Conditional):
        raise UndecidedError(f"{_WORDS[type(tree)]} is not compared")
    kept = replace_children(tree, _keep_language)
    return replace(kept, lazy=False) if isinstance(kept, Repetition) else kept


def build_group_language(pattern: str, number: int) -> RegexTree:
    """Return a language that contains every text captured by a group.

    Looking around makes it wider.

    Raises `UndecidedError` for unsupported syntax, and `KeyError` if there is no such group.
    """
    _check_length(pattern)
    for tree in iterate_tree(parse_pattern(pattern, "")):
        if isinstance(tree, Group) and tree.number == number:
            return Concatenation((_forget_places(tree.body), _TEXT_END))
    raise KeyError(number)


def _forget_places(tree: RegexTree) -> RegexTree:
    """Return a tree for at least the same texts that does not look at their surroundings."""
    if isinstance(tree, Anchor | Lookahead | Lookbehind):
        return Concatenation(())
    if isinstance(tree, Group | Atomic):
        return _forget_places(tree.body)
    if isinstance(tree, BackReference | Conditional):
        raise UndecidedError(f"{_WORDS[type(tree)]} is not compared")
    kept = replace_children(tree, _forget_places)
    return replace(kept, lazy=False) if isinstance(kept, Repetition) else kept


def build_phrase_language(phrases: Sequence[str], *, case_sensitive: bool) -> RegexTree:
    """Return the texts that contain one of the phrases, as written or after `str.lower()` of both.

    Raises `UndecidedError` for phrases whose lower case depends on the letters around them, or that
    are too long.
    """
    if sum(map(len, phrases)) > PATTERNS.phrases:
        raise UndecidedError(
            f"the phrases are longer than {PATTERNS.phrases:,} characters together"
        )
    spell = _spell_exactly if case_sensitive else _spell_ignoring_case
    return Concatenation((ANY_TEXT, Alternation(tuple(map(spell, phrases)))))


def build_words_language(text: str, *, case_sensitive: bool) -> RegexTree:
    """Return the texts that contain a phrase, counting every run of white space as one blank.

    White space is what `str.split()` takes for it. White space at the phrase's ends is left out.
    Raises `UndecidedError` like `build_phrase_language`.
    """
    if len(text) > PATTERNS.phrases:
        raise UndecidedError(f"a text is longer than {PATTERNS.phrases:,} characters")
    spell = _spell_exactly if case_sensitive else _spell_ignoring_case
    letters = get_children(spell(" ".join(text.split())))
    blank = Repetition(Chars(list_white_space()), 1, None)
    return Concatenation(
        (ANY_TEXT, *(blank if letter == Chars(" ") else letter for letter in letters))
    )


def build_complement(language: RegexTree) -> RegexTree:
    """Return the language of all other texts."""
    return Lookahead(language, positive=False)


def _spell_exactly(phrase: str) -> RegexTree:
    return Concatenation(tuple(map(Chars, phrase)))


def _spell_ignoring_case(phrase: str) -> RegexTree:
    lowered, table = phrase.lower(), _build_lowercase_table()
    if not _SIGMAS.union(table.tails).isdisjoint(lowered):
        raise UndecidedError("a phrase has a letter whose lower case depends on its neighbours")
    # `str.lower()` of a text lowers it letter by letter, except for sigma: each letter of a phrase
    # has a set of sources.
    letters = [Chars(table.sources.get(char, char)) for char in lowered]
    if lowered:
        letters[-1] = Chars(letters[-1].chars + table.heads.get(lowered[-1], ""))
    return Concatenation(tuple(letters))


@cache
def list_white_space() -> str:
    """Return every character that `str.strip()` removes."""
    return "".join(char for char in map(chr, range(CASED_CODES)) if char.isspace())


@cache
def _build_lowercase_table() -> _LowercaseTable:
    sources: dict[str, str] = {}
    heads: dict[str, str] = {}
    tails = ""
    for char, lower in ((char, char.lower()) for char in map(chr, range(CASED_CODES))):
        if char != lower[0]:
            table = heads if lower[1:] else sources
            table[lower[0]] = table.get(lower[0], lower[0] if table is sources else "") + char
            tails += lower[1:]
    return _LowercaseTable(sources, heads, frozenset(tails))


def count_visible(language: RegexTree) -> int:
    """Return a number of visible characters that every text of a language has.

    Places that are only looked at do not count.
    """
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
