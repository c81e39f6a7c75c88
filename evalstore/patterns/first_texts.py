"""Finds what every match of a pattern begins with or holds: where that does not stand in a text, nobody has work."""

from __future__ import annotations

from collections.abc import Iterable

from evalstore.patterns.syntax_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    Chars,
    Concatenation,
    FoldedChar,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
)

# Beyond ASCII, what flag i takes for a letter of it.
_RELATIVES = {"k": "\u212a", "s": "\u017f"}
_TEXTS_LIMIT = 16


def find_first_texts(tree: RegexTree) -> frozenset[str] | None:
    """Return texts of which every match begins with one; None where there are none, or too many."""
    texts = _find(tree)
    return None if not texts or "" in texts or len(texts) > _TEXTS_LIMIT else texts


def find_needed_texts(tree: RegexTree) -> frozenset[str]:
    """Return texts that every match of a pattern holds, all of them: stretches of plain characters."""
    if isinstance(tree, Group | Atomic):
        return find_needed_texts(tree.body)
    if not isinstance(tree, Concatenation):
        return frozenset({tree.chars}) if isinstance(tree, Chars) and len(tree.chars) == 1 else frozenset()
    needed, literal = set[str](), ""
    for part in (*tree.parts, Alternation(())):
        if isinstance(part, Chars) and len(part.chars) == 1:
            literal += part.chars
            continue
        needed |= {literal, *find_needed_texts(part)} - {""}
        literal = ""
    return frozenset(needed)


def is_anchored(tree: RegexTree) -> bool:
    """Whether a match can begin at the start of a text only."""
    while isinstance(tree, Group | Atomic) or (isinstance(tree, Concatenation) and tree.parts):
        tree = tree.parts[0] if isinstance(tree, Concatenation) else tree.body
    return isinstance(tree, Anchor) and tree.kind is AnchorKind.TEXT_START


def _find(tree: RegexTree) -> frozenset[str] | None:
    if isinstance(tree, Chars):
        return frozenset(tree.chars)
    if isinstance(tree, FoldedChar):
        return _fold(tree.char)
    if isinstance(tree, Concatenation):
        return _find_first_part(tree.parts)
    if isinstance(tree, Alternation):
        found = [_find(part) for part in tree.parts]
        return None if None in found else frozenset().union(*(one for one in found if one is not None))
    if isinstance(tree, Group | Atomic) or (isinstance(tree, Repetition) and tree.least > 0):
        return _find(tree.body)
    return None


def _find_first_part(parts: Iterable[RegexTree]) -> frozenset[str] | None:
    """Return what the parts begin with: the first that reads something, or as many single characters as stand there."""
    literal = ""
    for part in parts:
        if isinstance(part, Chars) and len(part.chars) == 1:
            literal += part.chars
        elif literal:
            break
        elif not isinstance(part, Anchor | Lookahead | Lookbehind):
            return _find(part)
    return frozenset({literal}) if literal else None


def _fold(char: str) -> frozenset[str] | None:
    return frozenset({char.lower(), char.upper(), _RELATIVES.get(char.lower(), char)}) if char.isascii() else None
