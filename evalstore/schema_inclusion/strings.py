"""Patterns within schemas: what they find, and which of two finds all that the other does."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.checks.patterns import compile_pattern, matches
from evalstore.regex_inclusion.compare import Relation
from evalstore.regex_inclusion.compare import compare_patterns as compare_languages
from evalstore.regex_inclusion.languages import Expression
from evalstore.schema_inclusion.constraints import Domain
from evalstore.schema_inclusion.normalization import UnreadError

ANY, _NONE = "", "(?!)"  # found in every text, and in none
_SECONDS = 0.05  # texts are short: a pattern that takes longer is one that never ends
_STEPS = 30_000
_PRICE = 40  # steps of that comparison for one of ours
_WITHIN = frozenset({Relation.EQUAL, Relation.WIDER})


class Compared(NamedTuple):
    """Whether one pattern is proved to find no more than another, a text that it alone finds, and what that cost."""

    within: bool
    text: str | None
    steps: int


@lru_cache(maxsize=4096)
def finds(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text, as the check would say; `UnreadError` where it takes too long."""
    compiled = compile_pattern(pattern, "")
    found = None if isinstance(compiled, str) else matches(compiled, "search", text, _SECONDS)
    if found is None:
        raise UnreadError("a pattern of it takes too long")
    return found


@lru_cache(maxsize=4096)
def compare_patterns(narrow: str, wide: str) -> Compared:
    """Compare what two patterns find."""
    if narrow == wide:
        return Compared(within=True, text=None, steps=1)
    budget = SharedBudget(_STEPS)
    answer = compare_languages(Expression(narrow), Expression(wide), budget)
    return Compared(answer.relation in _WITHIN, answer.only_old, 1 + budget.spent // _PRICE)


def sample(pattern: str) -> tuple[str, ...]:
    """Return a short text in which a pattern is found, if one can be told."""
    text = compare_patterns(pattern, _NONE).text
    return () if text is None else (text,)


def outside(pattern: str, others: list[str]) -> tuple[str, ...]:
    """Return short texts in which a pattern is not found, each with one of the others found in it."""
    texts = (compare_patterns(other, pattern).text for other in others or [ANY])
    return tuple(text for text in texts if text is not None)


def types(_: Any, some: Domain, known: frozenset[str]) -> frozenset[str]:
    """Return the types without texts where no length is left."""
    least, most = lengths(some)
    return known - {"string"} if least > most else known


def lengths(some: Domain) -> tuple[float, float]:
    """Return the least and the greatest length of the texts of a domain."""
    return max(some.all("minLength"), default=0), min(some.all("maxLength"), default=math.inf)


RULES: dict[str, Any] = {
    "minLength": lambda _, some, least: lengths(some)[0] >= least,
    "maxLength": lambda _, some, most: lengths(some)[1] <= most,
    "pattern": lambda prover, some, wide: any(prover.implies(mine, wide) for mine in some.all("pattern") or [ANY]),
}
