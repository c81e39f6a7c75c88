"""What a schema is applied under (steps, depth, an engine for its patterns), and its results.

No clock stops it, so all machines agree; searches for patterns have separate steps, which their
guard sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from evalstore.budget import SharedBudget
from evalstore.errors import SchemaError
from evalstore.languages.limits import SCHEMAS

# Whether a pattern (first) is found in a text (second).
PatternSearch = Callable[[str, str], bool]
Pointer = tuple[str | int, ...]


class _PlainObject(dict[str, Any]):
    def __repr__(self) -> str:
        return "{…}" if self else "{}"


class _PlainArray(list[Any]):
    def __repr__(self) -> str:
        is_short = len(self) <= SCHEMAS.short_list and not any(
            isinstance(item, dict | list) for item in self
        )
        return super().__repr__() if is_short else "[…]"


class _PlainText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[: SCHEMAS.long_text - 1] + "…")


class _PlainNumber(Decimal):
    def __repr__(self) -> str:
        return str(self)


def copy_plain(value: Any) -> Any:
    """Return a copy free of aliases, with every float as its shortest literal."""
    if isinstance(value, str):
        return _PlainText(value) if len(value) > SCHEMAS.long_text else value
    if isinstance(value, Mapping):
        return _PlainObject((name, copy_plain(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return _PlainArray([copy_plain(item) for item in value])
    if isinstance(value, float | Decimal):
        return _PlainNumber(str(value))
    return value


def make_equality_key(value: Any) -> Any:
    """Return a hashable value, equal exactly if JSON Schema says so: 1 is 1.0, true is not 1.

    Numbers are texts in it: Python's hashes of numbers are the same everywhere, and chosen ones
    collide.
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return ("b", value)
    if isinstance(value, Mapping):
        return frozenset((name, make_equality_key(item)) for name, item in value.items())
    if isinstance(value, list):
        return ("[", *map(make_equality_key, value))
    if not hasattr(value, "as_integer_ratio"):  # an infinite number, of JSON as JavaScript reads it
        return ("n", "-" if str(value.text).startswith("-") else "+")
    numerator, denominator = value.as_integer_ratio()
    return ("n", f"{numerator}/{denominator}")


def check_size(value: Any) -> None:
    """Raise `SchemaError` for a value with more parts or levels than a file may have.

    A value that contains itself has.
    """
    # Level by level, not by recursion: a value may nest deeper than Python's stack, or contain
    # itself.
    level, parts, depth = [value], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > SCHEMAS.values:
            raise SchemaError(f"the schema has more than {SCHEMAS.values:,} values")
        if depth > SCHEMAS.depth:
            raise SchemaError(f"the schema is nested deeper than {SCHEMAS.depth} levels")
        level = [item for node in level for item in _iterate_items(node)]


def _iterate_items(node: Any) -> Any:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Violation:
    """One demand of a schema that an instance does not meet.

    `of_key`: it is the key at `pointer` that fails.
    """

    pointer: Pointer
    keyword: str
    message: str
    expected: Any
    instance: Any
    schema: Any
    of_key: bool = False

    @property
    def needed_keys(self) -> list[str]:
        """The keys of which an object needs one, if that is all a choice demands."""
        parts = self.expected if self.keyword == "anyOf" else ()
        keys = [part["required"][0] for part in parts if _demands_one_key(part)]
        return keys if len(keys) == len(parts) else []


def _demands_one_key(part: Any) -> bool:
    return isinstance(part, Mapping) and [*part] == ["required"] and len(part["required"]) == 1


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a schema cannot be used, at the place within it; one that `stops` is reported alone."""

    pointer: Pointer
    message: str
    hint: str
    stops: bool = False


class SchemaPatterns(Protocol):
    """The patterns of one schema, read once."""

    @property
    def problems(self) -> Mapping[str, str]:
        """Patterns that cannot be searched, each with a sentence that says why."""

    def start_search(self) -> PatternSearch:
        """Return a search for one instance; it raises `SchemaError` if it cannot decide."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The steps that a schema's check, and each instance, may take, and who reads the patterns.

    A step is roughly the application of one keyword; how many an instance takes is the same on
    every machine. With `literal`, an integer must be written as one: JSON Schema accepts 2.0 since
    draft-06, which the code behind our schemas need not.
    """

    steps: float
    read_patterns: Callable[[Iterable[str]], SchemaPatterns]
    literal: bool = False


@dataclass(slots=True)
class ValidationRun:
    """One instance against one schema: the steps that are left, and where references lead.

    The library takes it for a format checker, which it passes on to every part of a schema; it
    checks no format.
    """

    budget: SharedBudget
    find: PatternSearch
    targets: Mapping[tuple[str, int], Any] = field(default_factory=dict)
    depth: int = 0
    listed: dict[int, frozenset[Any]] = field(default_factory=dict)

    def check(self, instance: object, format: str) -> None:  # noqa: A002  # the library's name
        """Accept: `format` is an annotation."""

    def enter_keyword(self, steps: int) -> None:
        """Go one keyword deeper, and take steps; raises `SchemaError` beyond the depth."""
        self.budget.spend(steps)
        self.depth += 1
        if self.depth > SCHEMAS.keywords:
            raise SchemaError(f"more than {SCHEMAS.keywords} keywords apply within each other")

    def leave_keyword(self) -> None:
        """Leave what `enter_keyword` entered."""
        self.depth -= 1

    def list_equality_keys(self, allowed: list[Any]) -> frozenset[Any]:
        """Return comparison keys for the values of an `enum`; made once per instance."""
        if len(allowed) == 1:  # for a `const`, in a list that does not stay
            return frozenset(map(make_equality_key, allowed))
        if id(allowed) not in self.listed:
            self.listed[id(allowed)] = frozenset(map(make_equality_key, allowed))
        return self.listed[id(allowed)]

    def search_pattern(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text."""
        self.budget.spend(1 + len(text) // 256)
        return self.find(pattern, text)


class _TrustedPatterns:
    """Patterns of our own schemas, searched by Python's `re`."""

    problems: Mapping[str, str] = {}

    @staticmethod
    def start_search() -> PatternSearch:
        return lambda pattern, text: re.search(pattern, text) is not None


# For the schemas that evalstore ships; a user's schema is compiled with a guard of
# `evalstore.checks`.
TRUSTED = Guard(math.inf, lambda _: _TrustedPatterns(), literal=True)
