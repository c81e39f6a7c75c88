"""What a regular expression means, and how it is run in counted steps; knows no check.

One module per step:

    engine                what `regex` compiles, within a size; where Python's `re` reads a pattern
                          differently
    parser, syntax_tree   pattern -> tree; what is not known for sure is refused, with the reason
    atoms                 which characters an atom matches
    alphabet              all code points -> a few letters, for proofs
                          (`evalstore.languages.pattern_comparison`)
    pattern_graph         tree -> graph of "what must follow", in which equal parts are one node,
                          for proofs
    work_bound            how many steps a backtracking engine takes at most, by length or in one
                          text
    matcher               the engine at work, if that bound allows it

`evalstore.languages.limits` has the numbers. No clock is read: a text has a match, has none, or
takes too many steps, on every machine. Outside `languages`, nothing imports one of these modules by
itself.
"""

from typing import TYPE_CHECKING

from evalstore.languages.patterns.engine import (
    OUTPUT_LIMIT,
    compile_pattern,
    find_dialect_difference,
    name_engine,
)
from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.languages.patterns.matcher import LIMIT_HINT, PatternMatcher, compile_matcher

__all__ = [
    "LIMIT_HINT",
    "OUTPUT_LIMIT",
    "PatternMatcher",
    "compile_matcher",
    "compile_pattern",
    "find_dialect_difference",
    "name_engine",
]

# Most callers need a length or a dialect, and search nothing.
__getattr__ = import_lazily(
    __name__, {".matcher": ("LIMIT_HINT", "PatternMatcher", "compile_matcher")}
)
