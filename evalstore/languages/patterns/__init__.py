"""What a regular expression means, and how it is run in counted steps; knows no check.

A module a step:

    engine                    what `regex` compiles, within a size; where Python's `re` reads a pattern otherwise
    parser, syntax_tree       pattern -> tree; what is not known for sure is refused, with the reason
    letters                   which atoms match a character; what an anchor asks of the letters beside a place
    alphabet                  all code points -> a few letters, for proofs (`evalstore.languages.pattern_comparison`)
    pattern_graph             tree -> graph of "what must follow", in which equal parts are one node
    work_bound                how many steps an engine that backtracks has with a text of some length at most
    automaton_search          a graph at work, in steps that are letters times positions: look-arounds first, one by one
    matcher                   the engine up to a length, beyond it the automaton: both find the same

`evalstore.languages.limits` has the numbers. No clock is read: a text has a match, has none, or takes too many steps,
on every machine. Beyond `languages`, nothing imports a module of these by itself.
"""

from typing import TYPE_CHECKING

from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern, find_dialect_difference, name_engine
from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.languages.patterns.matcher import LIMIT_HINT, TOO_MANY_STEPS, PatternMatcher, compile_matcher

__all__ = [
    "LIMIT_HINT",
    "OUTPUT_LIMIT",
    "TOO_MANY_STEPS",
    "PatternMatcher",
    "compile_matcher",
    "compile_pattern",
    "find_dialect_difference",
    "name_engine",
]

# Most who ask know a length or a dialect, and search nothing.
__getattr__ = import_lazily(
    __name__, {".matcher": ("LIMIT_HINT", "TOO_MANY_STEPS", "PatternMatcher", "compile_matcher")}
)
