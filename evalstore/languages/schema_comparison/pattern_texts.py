"""Answers what patterns of schemas find: in a text, in another's texts, and in what one lacks."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from evalstore.budget import SharedBudget
from evalstore.languages.limits import COMPARISON
from evalstore.languages.pattern_comparison import Expression, LanguageRelation, compare_patterns
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.schema_comparison.normalization import UnsupportedSchemaError

# Found in every text, and in none.
ANY_PATTERN, NO_PATTERN = "", "(?!)"


@lru_cache(maxsize=4096)
def is_pattern_found(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text.

    Raises `UnsupportedSchemaError` if that takes too many steps.
    """
    matcher = compile_matcher(pattern, "", "search")
    found = None if isinstance(matcher, str) else matcher.is_found(text)
    if found is None:
        raise UnsupportedSchemaError("one of its patterns takes too many steps")
    return found


@lru_cache(maxsize=4096)
def is_pattern_within(narrow: str, wide: str) -> bool:
    """Whether the second pattern is known to be found wherever the first one is."""
    if wide in {ANY_PATTERN, narrow}:
        return True
    relation = compare_patterns(
        Expression(narrow), Expression(wide), SharedBudget(COMPARISON.text_steps)
    ).relation
    return relation in {LanguageRelation.EQUAL, LanguageRelation.WIDER}


def take_no_limit(patterns: Collection[str]) -> bool:
    """Whether all these patterns of a schema stay within a search's steps, whatever the JSON."""
    matchers = (compile_matcher(pattern, "", "search") for pattern in patterns)
    return all(not isinstance(one, str) and one.is_within_share(len(patterns)) for one in matchers)


@lru_cache(maxsize=4096)
def find_text(found: str, unfound: str) -> tuple[str, ...]:
    """Return a shortest text in which only the first of two patterns is found, if any."""
    text = compare_patterns(
        Expression(found), Expression(unfound), SharedBudget(COMPARISON.text_steps)
    ).only_old
    return () if text is None else (text,)
