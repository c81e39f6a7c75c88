"""Strings in proofs: their lengths and patterns; which of two patterns finds all that the other does."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.patterns.matcher import compile_matcher
from evalstore.regex_inclusion import Expression, LanguageRelation, compare_patterns
from evalstore.schema_inclusion.constraints import ValueSet
from evalstore.schema_inclusion.normalization import UnsupportedSchemaError

# Found in every text, and in none.
ANY_PATTERN, _NO_PATTERN = "", "(?!)"
_LANGUAGE_STEPS = 30_000
# How many steps of a language comparison take as long as one of a proof.
_LANGUAGE_STEPS_PER_STEP = 40
_WITHIN = frozenset({LanguageRelation.EQUAL, LanguageRelation.WIDER})


class PatternInclusion(NamedTuple):
    """Whether one pattern is proved to find no more than another, a text that it alone finds, and what that cost."""

    is_proved: bool
    counterexample: str | None
    steps: int


@lru_cache(maxsize=4096)
def is_pattern_found(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; `UnsupportedSchemaError` where that takes too many steps."""
    matcher = compile_matcher(pattern, "", "search")
    found = None if isinstance(matcher, str) else matcher.is_found(text)
    if found is None:
        raise UnsupportedSchemaError("a pattern of it takes too many steps")
    return found


@lru_cache(maxsize=4096)
def prove_pattern_inclusion(narrow: str, wide: str) -> PatternInclusion:
    """Return whether all that `narrow` is found in is proved to be found by `wide`; its cost, cached or not."""
    if narrow == wide:
        return PatternInclusion(is_proved=True, counterexample=None, steps=1)
    budget = SharedBudget(_LANGUAGE_STEPS)
    compared = compare_patterns(Expression(narrow), Expression(wide), budget)
    steps = 1 + budget.spent // _LANGUAGE_STEPS_PER_STEP
    return PatternInclusion(compared.relation in _WITHIN, compared.only_old, steps)


def find_matching_texts(pattern: str) -> tuple[str, ...]:
    """Return a shortest text in which a pattern is found, if one can be found."""
    text = prove_pattern_inclusion(pattern, _NO_PATTERN).counterexample
    return () if text is None else (text,)


def find_unmatched_texts(pattern: str, others: list[str]) -> tuple[str, ...]:
    """Return short texts in which a pattern is not found, each with one of the others found in it."""
    texts = (prove_pattern_inclusion(other, pattern).counterexample for other in others or [ANY_PATTERN])
    return tuple(text for text in texts if text is not None)


def narrow_types(_: Any, value_set: ValueSet, types: frozenset[str]) -> frozenset[str]:
    """Return the types without strings where no length is left."""
    least, most = find_lengths(value_set)
    return types - {"string"} if least > most else types


def find_lengths(value_set: ValueSet) -> tuple[float, float]:
    """Return the least and the greatest length of the strings, in characters."""
    return max(value_set.get_all("minLength"), default=0), min(value_set.get_all("maxLength"), default=math.inf)


RULES: dict[str, Any] = {
    "minLength": lambda _, value_set, least: find_lengths(value_set)[0] >= least,
    "maxLength": lambda _, value_set, most: find_lengths(value_set)[1] <= most,
    "pattern": lambda prover, value_set, wide: any(
        prover.implies_pattern(narrow, wide) for narrow in value_set.get_all("pattern") or [ANY_PATTERN]
    ),
}
