"""Which outputs two checks let through, compared exactly by automata over all code points.

The door for regular expressions is `compare_patterns`; that for any checks that look for text is `compare_sides`.
"""

from evalstore.diff.deciders.languages.budget import Budget, Purse, UndecidedError
from evalstore.diff.deciders.languages.compare import (
    Comparison,
    Expression,
    Relation,
    Side,
    compare_patterns,
    compare_sides,
    language,
    room_of,
)
from evalstore.diff.deciders.languages.phrases import contains_any

__all__ = [
    "Budget",
    "Comparison",
    "Expression",
    "Purse",
    "Relation",
    "Side",
    "UndecidedError",
    "compare_patterns",
    "compare_sides",
    "contains_any",
    "language",
    "room_of",
]
