"""Which outputs two checks let through, compared exactly by automata over all code points.

The door for regular expressions is `compare_patterns`; that for any checks that look for text is `compare_sides`.
"""

from evalstore.regex_inclusion.compare import (
    QUESTION_STEPS,
    TOTAL_STEPS,
    Comparison,
    Relation,
    Side,
    compare_patterns,
    compare_sides,
)
from evalstore.regex_inclusion.languages import Expression, contains_any, language, room_of
from evalstore.regex_inclusion.unsupported import UndecidedError

__all__ = [
    "Comparison",
    "Expression",
    "QUESTION_STEPS",
    "TOTAL_STEPS",
    "Relation",
    "Side",
    "UndecidedError",
    "compare_patterns",
    "compare_sides",
    "contains_any",
    "language",
    "room_of",
]
