"""What the engine is known to get wrong, and which is therefore not compared; found by holding trees against it.

- Two alternatives that are each one negated character, `[^a]|[^b]`, become one class that leaves out both characters.
- Where flag i holds for a part only, the characters that a match can begin with are looked up as if it held for all: a
  negated class, `[^ab]|(?i:c)`, then misses `A`.
"""

from __future__ import annotations

from evalstore.regex_inclusion.syntax_tree import Ahead, Atom, Choice, Folded, Repeat, Set, Tree, nodes, parts


class UndecidedError(Exception):
    """What cannot be translated exactly, or costs too much; its text says which."""


def refuse_faults(tree: Tree) -> None:
    """Raise `UndecidedError` where the engine may match otherwise than the tree of a pattern says."""
    found = list(nodes(tree))
    atoms = [node for node in found if isinstance(node, Atom)]
    cases = {_is_folded(atom) for atom in atoms if _has_case(atom)}
    if len(cases) > 1 and any(map(_is_negated, atoms)):
        raise UndecidedError("a negated class beside a flag i that holds for a part only is not compared")
    if any(sum(map(_has_bare, choice.parts)) > 1 for choice in found if isinstance(choice, Choice)):
        raise UndecidedError("alternatives with a negated class each are not compared")


def _has_bare(tree: Tree) -> bool:
    """Whether a negated class stands in a tree, not repeated and not ahead, where it may be joined with another."""
    if isinstance(tree, Ahead) or (isinstance(tree, Repeat) and (tree.least, tree.most) != (1, 1)):
        return False
    return _is_negated(tree) or any(map(_has_bare, parts(tree)))


def _is_negated(tree: Tree) -> bool:
    return isinstance(tree, Set) and tree.source.startswith("[^")


def _is_folded(atom: Atom) -> bool:
    return isinstance(atom, Folded) or (isinstance(atom, Set) and atom.flag == "i")


def _has_case(atom: Atom) -> bool:
    return not isinstance(atom, Set) or atom.source.startswith("[")
