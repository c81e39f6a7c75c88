"""Untrusted JSON Schemas: applied under a budget of steps, their patterns searched by the engine that stops."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evalstore.checks.pattern_time import PatternTime
from evalstore.errors import SchemaError
from evalstore.patterns.engine import (
    ITEM_LIMIT,
    SECONDS,
    WORK_LIMIT,
    compile_pattern,
    count_items,
    find_dialect_difference,
)
from evalstore.schemas import Flaw, Guard, Schema, compile_schema, find_flaws
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    import regex

# Some two seconds; an output of 10,000 values and an ordinary schema takes a tenth of them.
STEPS = 500_000

# What ECMA 262, the dialect that JSON Schema names, has in common with our engine and not with Python's `re`.
_OF_ECMA = ((re.compile(r"\\[pP]\{\w+(?:=\w+)?\}"), r"\\w"), (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"))


@dataclass(frozen=True, slots=True)
class _SchemaPatterns:
    """The patterns of one schema; all searches of one instance share `SECONDS` and `WORK_LIMIT`."""

    compiled: Mapping[str, regex.Pattern[str]]
    problems: Mapping[str, str]
    time: PatternTime

    def start_search(self) -> Callable[[str, str], bool]:
        left, work = SECONDS, 0

        def search(pattern: str, text: str) -> bool:
            nonlocal left, work
            began, work = time.process_time(), work + len(pattern) * len(text)
            found: bool | str = f"did not finish within {SECONDS:g} s"
            if left > 0 and work < WORK_LIMIT:
                found = self.time.match(self.compiled[pattern], "search", text, left)
            left -= time.process_time() - began
            if isinstance(found, str):
                raise SchemaError(f"the pattern {make_excerpt(pattern, 60)!r} {found}")
            return found

        return search


def _compile_patterns(
    patterns: Iterable[str], *, strict: bool = False, time: PatternTime | None = None
) -> _SchemaPatterns:
    compiled: dict[str, regex.Pattern[str]] = {}
    problems: dict[str, str] = {}
    total = 0
    for pattern in dict.fromkeys(patterns):
        total += count_items(pattern)
        answer = _TOO_MANY if total > ITEM_LIMIT else compile_pattern(pattern, "")
        if isinstance(answer, str):
            problems[pattern] = answer
        elif strict and (other := find_dialect_difference(_translate_ecma(pattern), "")):
            problems[pattern] = other
        else:
            compiled[pattern] = answer
    return _SchemaPatterns(compiled, problems, time or PatternTime())


_TOO_MANY = f"the patterns of the schema stand for more than {ITEM_LIMIT:,} items together"
_GUARD = Guard(STEPS, _compile_patterns)
_STRICT = Guard(STEPS, lambda patterns: _compile_patterns(patterns, strict=True))


def compile_untrusted(schema: Any, time: PatternTime | None = None) -> Schema:
    """Compile an untrusted schema; what is wrong with it, or takes too long when applied, is a `SchemaError`.

    `time` is what its patterns share with others; None: they have their own.
    """
    return compile_schema(schema, Guard(STEPS, partial(_compile_patterns, time=time)))


def find_untrusted_flaws(schema: Any, *, strict: bool = True) -> list[Flaw]:
    """Return what keeps an untrusted schema from being applied; if `strict`, also patterns that mean other things."""
    return find_flaws(schema, _STRICT if strict else _GUARD)


def _translate_ecma(pattern: str) -> str:
    for ecma, python in _OF_ECMA:
        pattern = ecma.sub(python, pattern)
    return pattern
