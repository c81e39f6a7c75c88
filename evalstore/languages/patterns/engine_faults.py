"""Refuses patterns that the engine, because of faults, may match differently from their trees."""

from __future__ import annotations

from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Atom,
    CharClass,
    FoldedChar,
    Lookahead,
    RegexTree,
    Repetition,
    UndecidedError,
    get_children,
    iterate_tree,
)


def refuse_engine_faults(tree: RegexTree) -> None:
    """Raise `UndecidedError` if the engine may match differently from the pattern's tree."""
    trees = list(iterate_tree(tree))
    atoms = [node for node in trees if isinstance(node, Atom)]
    cases = {_is_folded(atom) for atom in atoms if _has_case(atom)}
    if len(cases) > 1 and any(map(_is_negated_class, atoms)):
        raise UndecidedError(
            "a negated class with a flag i for a part of the pattern is not supported"
        )
    alternations = (node for node in trees if isinstance(node, Alternation))
    if any(sum(map(_has_bare_negated_class, node.parts)) > 1 for node in alternations):
        raise UndecidedError("alternatives with a negated class each are not supported")


def _has_bare_negated_class(tree: RegexTree) -> bool:
    """Whether a tree has a negated class, neither optional nor ahead, that another may join."""
    # The first round of a repeat, `(?:[^a]|b){1,2}`, is joined as if it were alone.
    if isinstance(tree, Lookahead) or (isinstance(tree, Repetition) and tree.least < 1):
        return False
    return _is_negated_class(tree) or any(map(_has_bare_negated_class, get_children(tree)))


def _is_negated_class(tree: RegexTree) -> bool:
    return isinstance(tree, CharClass) and tree.source.startswith("[^")


def _is_folded(atom: Atom) -> bool:
    return isinstance(atom, FoldedChar) or (isinstance(atom, CharClass) and atom.flag == "i")


def _has_case(atom: Atom) -> bool:
    return not isinstance(atom, CharClass) or atom.source.startswith("[")
