"""Tells what the shape of a language shows at once: texts that it most likely has, and its parts.

No automaton is made. That a text is likely proves nothing: an anchor or a look-ahead is not looked
at, so whoever uses the text grades it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice, product

from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.alphabet import PLAIN_CHARS
from evalstore.languages.patterns.engine import compile_pattern
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Atom,
    CharClass,
    Chars,
    Concatenation,
    FoldedChar,
    RegexTree,
    Repetition,
)

_PLAIN = frozenset(PLAIN_CHARS)
_RANKS = {ord(char): rank for rank, char in enumerate(PLAIN_CHARS)}


def list_likely_texts(language: RegexTree) -> list[str]:
    """Return a few texts that a language most likely has, in the order of `rank_text`.

    >>> from evalstore.languages.pattern_comparison import Expression, build_pattern_language
    >>> list_likely_texts(build_pattern_language(Expression(r"cache (tags?|contexts?)")))
    ['cache tag', 'cache context']
    """
    return sorted(_list_texts(language), key=rank_text)


def rank_text(text: str) -> tuple[bool, int, str]:
    """Return when a search finds a text: what can be typed comes first, then what is short."""
    return not _PLAIN.issuperset(text), len(text), rank_chars(text)


def rank_chars(text: str) -> str:
    """Return a text whose characters sort in the order in which a search tries those of this."""
    return text.translate(_RANKS)


def is_included(one: RegexTree, other: RegexTree) -> bool:
    """Whether two shapes alone show that the second matches all that the first one does.

    >>> from evalstore.languages.pattern_comparison import Expression, build_pattern_language
    >>> tag, tags = (build_pattern_language(Expression(text)) for text in ("tag", "tag|cache"))
    >>> is_included(tag, tags), is_included(tags, tag)
    (True, False)
    """
    if one == other:
        return True
    if isinstance(one, Alternation):
        return all(is_included(part, other) for part in one.parts)
    if isinstance(other, Alternation):
        return any(is_included(one, part) for part in other.parts)
    if isinstance(one, Chars) and isinstance(other, Chars):
        return frozenset(one.chars) <= frozenset(other.chars)
    if isinstance(one, Concatenation) and isinstance(other, Concatenation):
        alike = len(one.parts) == len(other.parts)
        return alike and all(map(is_included, one.parts, other.parts))
    return False


def _list_texts(tree: RegexTree) -> list[str]:
    """Return the first of the texts that a tree asks for."""
    if isinstance(tree, Atom):
        return [_find_char(tree)]
    return [*dict.fromkeys(islice(_yield_texts(tree), PATTERNS.likely_texts))]


def _yield_texts(tree: RegexTree) -> Iterator[str]:
    if isinstance(tree, Concatenation):
        yield from map("".join, product(*map(_list_texts, tree.parts)))
    elif isinstance(tree, Alternation):
        yield from chain.from_iterable(map(_yield_texts, tree.parts))
    elif isinstance(tree, Repetition):
        yield from (text * tree.least for text in _list_texts(tree.body))
    elif isinstance(tree, Atom):
        yield from _list_texts(tree)
    else:
        yield ""


@lru_cache(1024)
def _find_char(atom: Atom) -> str:
    """Return the character of an atom that is typed most easily; "" where there is none."""
    if isinstance(atom, CharClass):
        compiled = compile_pattern(atom.source, atom.flag)
        found = None if isinstance(compiled, str) else compiled.search(PLAIN_CHARS)
        return found[0] if found else ""
    chars = atom.char + atom.char.swapcase() if isinstance(atom, FoldedChar) else atom.chars
    return min(chars, key=rank_text, default="")
