"""Statements about the rest of a text: an "or" of "and"s of nodes, each of which says that the rest matches from it."""

from __future__ import annotations

# A node by its number; a number below 0 stands for "not" of a statement that its owner keeps.
Clause = frozenset[int]
Formula = frozenset[Clause]

FALSE: Formula = frozenset()
TRUE: Formula = frozenset({frozenset()})


def literal(number: int) -> Formula:
    """Return the statement of one node."""
    return frozenset({frozenset({number})})
