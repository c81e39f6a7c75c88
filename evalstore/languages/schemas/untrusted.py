"""Untrusted JSON Schemas: applied under a budget of steps, and their patterns under another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.errors import SchemaError
from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.engine import count_items, find_dialect_difference
from evalstore.languages.patterns.matcher import PatternMatcher, compile_matcher
from evalstore.languages.schemas.compiled import Schema, compile_schema, find_flaws
from evalstore.languages.schemas.guard import Flaw, Guard
from evalstore.text import make_excerpt

# Some two seconds; an output of 10,000 values with an ordinary schema takes a tenth of that.
STEPS = 500_000
# For pattern searches, per instance: about a second at worst.
SEARCH_STEPS = 1 << 28

# What ECMA 262, the dialect that JSON Schema names, has in common with our engine but not with
# Python's `re`.
_OF_ECMA = (
    (re.compile(r"\\[pP]\{\w+(?:=\w+)?\}"), r"\\w"),
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
)
_TOO_MANY = f"together, the patterns of the schema expand to more than {PATTERNS.items:,} items"


@dataclass(frozen=True, slots=True)
class _SchemaPatterns:
    """The patterns of one schema; all searches of one instance share `SEARCH_STEPS`."""

    matchers: Mapping[str, PatternMatcher]
    problems: Mapping[str, str]

    def start_search(self) -> Callable[[str, str], bool]:
        budget = SharedBudget(SEARCH_STEPS)

        def search(pattern: str, text: str) -> bool:
            matcher = self.matchers[pattern]
            try:
                budget.spend(matcher.count_steps(text))
            except OutOfStepsError:
                raise SchemaError(
                    f"the pattern {make_excerpt(pattern, 60)!r} takes too many steps"
                ) from None
            found = matcher.is_found(text)
            if found is None:
                raise SchemaError(
                    f"the pattern {make_excerpt(pattern, 60)!r} {matcher.describe_excess(text)}"
                )
            return found

        return search


def _compile_patterns(patterns: Iterable[str], *, strict: bool = False) -> _SchemaPatterns:
    matchers: dict[str, PatternMatcher] = {}
    problems: dict[str, str] = {}
    total = 0
    for pattern in dict.fromkeys(patterns):
        total += count_items(pattern)
        answer = _TOO_MANY if total > PATTERNS.items else compile_matcher(pattern, "", "search")
        if isinstance(answer, str):
            problems[pattern] = answer
        elif strict and (other := find_dialect_difference(_translate_ecma(pattern), "")):
            problems[pattern] = other
        elif strict and answer.limit_problem:
            problems[pattern] = answer.limit_problem
        else:
            matchers[pattern] = answer
    return _SchemaPatterns(matchers, problems)


_GUARD = Guard(STEPS, _compile_patterns)
_STRICT = Guard(STEPS, lambda patterns: _compile_patterns(patterns, strict=True))


def compile_untrusted(schema: Any) -> Schema:
    """Compile an untrusted schema.

    Whatever is wrong with it, or takes too many steps when applied, is a `SchemaError`.
    """
    return compile_schema(schema, _GUARD)


def find_untrusted_flaws(schema: Any, *, strict: bool = True) -> list[Flaw]:
    """Return what keeps an untrusted schema from being applied.

    If `strict`, also patterns that mean something else.
    """
    return find_flaws(schema, _STRICT if strict else _GUARD)


def _translate_ecma(pattern: str) -> str:
    for ecma, python in _OF_ECMA:
        pattern = ecma.sub(python, pattern)
    return pattern
