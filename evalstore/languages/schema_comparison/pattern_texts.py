"""Asks what the patterns of schemas find: whether in a text, and a text that one finds and another does not."""

from __future__ import annotations

from functools import lru_cache

from evalstore.budget import SharedBudget
from evalstore.languages.limits import COMPARISON
from evalstore.languages.pattern_comparison import Expression, compare_patterns
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.schema_comparison.normalization import UnsupportedSchemaError

# Found in every text, and in none.
ANY_PATTERN, NO_PATTERN = "", "(?!)"


@lru_cache(maxsize=4096)
def is_pattern_found(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; `UnsupportedSchemaError` where that takes too many steps."""
    matcher = compile_matcher(pattern, "", "search")
    found = None if isinstance(matcher, str) else matcher.is_found(text)
    if found is None:
        raise UnsupportedSchemaError("one of its patterns takes too many steps")
    return found


@lru_cache(maxsize=4096)
def find_text(found: str, unfound: str) -> tuple[str, ...]:
    """Return a shortest text in which the first pattern is found and the second is not, if one can be found."""
    text = compare_patterns(
        Expression(found), Expression(unfound), SharedBudget(COMPARISON.text_steps)
    ).only_old
    return () if text is None else (text,)
