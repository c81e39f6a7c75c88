"""Refuses what is not compared, with the reason; among it, what the engine `regex` is known to get wrong.

The two faults were found by holding random trees against the engine (tests/diff/test_languages.py goes on with it):

- Two alternatives that are each one negated character, `[^a]|[^b]`, become one class that leaves out both characters.
- Where flag i holds for a part only, the characters that a match can begin with are looked up as if it held for all: a
  negated class, `[^ab]|(?i:c)`, then misses `A`.
"""

from __future__ import annotations

from evalstore.patterns.syntax_tree import (
    Alternation,
    Atom,
    CharClass,
    FoldedChar,
    Lookahead,
    RegexTree,
    Repetition,
    get_children,
    iterate_tree,
)


class UndecidedError(Exception):
    """A language that cannot be translated exactly, or costs too much; the text says which, as a clause."""


def refuse_engine_faults(tree: RegexTree) -> None:
    """Raise `UndecidedError` where the engine may match otherwise than the tree of a pattern says."""
    trees = list(iterate_tree(tree))
    atoms = [node for node in trees if isinstance(node, Atom)]
    cases = {_is_folded(atom) for atom in atoms if _has_case(atom)}
    if len(cases) > 1 and any(map(_is_negated_class, atoms)):
        raise UndecidedError("a negated class beside a flag i that holds for a part only is not supported")
    alternations = (node for node in trees if isinstance(node, Alternation))
    if any(sum(map(_has_bare_negated_class, node.parts)) > 1 for node in alternations):
        raise UndecidedError("alternatives with a negated class each are not supported")


def _has_bare_negated_class(tree: RegexTree) -> bool:
    """Whether a negated class stands in a tree, not optional and not ahead, where it may be joined with another."""
    # The first round of a repeat, `(?:[^a]|b){1,2}`, is joined as if it stood alone.
    if isinstance(tree, Lookahead) or (isinstance(tree, Repetition) and tree.least < 1):
        return False
    return _is_negated_class(tree) or any(map(_has_bare_negated_class, get_children(tree)))


def _is_negated_class(tree: RegexTree) -> bool:
    return isinstance(tree, CharClass) and tree.source.startswith("[^")


def _is_folded(atom: Atom) -> bool:
    return isinstance(atom, FoldedChar) or (isinstance(atom, CharClass) and atom.flag == "i")


def _has_case(atom: Atom) -> bool:
    return not isinstance(atom, CharClass) or atom.source.startswith("[")
