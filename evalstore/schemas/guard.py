"""What bounds a schema: a count of steps, a depth, and an engine for its patterns; no clock, so no machine decides."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evalstore.errors import SchemaError

# Keywords within keywords: three to four frames of Python each, of the thousand that there are.
DEPTH_LIMIT = 200

Search = Callable[[str, str], bool]


class SchemaPatterns(Protocol):
    """The patterns of one schema, read once."""

    @property
    def problems(self) -> Mapping[str, str]:
        """Pattern to the sentence that says why it cannot be searched."""

    def start_search(self) -> Search:
        """Return what searches (pattern, text) for one instance; it raises `SchemaError` where it cannot decide."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The steps that a schema's own check, and then each instance, may take, and who reads the patterns.

    A step is about the application of one keyword; how many an instance takes is the same on every machine. With
    `literal`, an integer is what is written as one: JSON Schema takes 2.0, which the code behind our schemas need not.
    """

    steps: float
    patterns: Callable[[Iterable[str]], SchemaPatterns]
    literal: bool = False


@dataclass(slots=True)
class ValidationRun:
    """One instance against one schema: what it may still spend, and where references lead.

    To the library it is a checker of formats, one that checks none: what it hands on to every part of a schema.
    """

    left: float
    find: Search
    targets: Mapping[tuple[str, int], Any] = field(default_factory=dict)
    depth: int = 0

    def check(self, instance: object, format: str) -> None:  # noqa: A002  # the library's name
        """Accept: `format` is an annotation."""

    def spend(self, steps: int) -> None:
        """Take steps; `SchemaError` when they are used up."""
        self.left -= steps
        if self.left < 0:
            raise SchemaError("it takes too many steps")

    def enter(self, steps: int) -> None:
        """Go one keyword deeper; `SchemaError` beyond the depth. `leave` goes back."""
        self.spend(steps)
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise SchemaError(f"more than {DEPTH_LIMIT} keywords apply within each other")

    def leave(self) -> None:
        """Go one keyword up."""
        self.depth -= 1

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text."""
        self.spend(1 + len(text) // 256)
        return self.find(pattern, text)


class _Trusted:
    """Patterns of our own schemas, for Python's `re`."""

    problems: Mapping[str, str] = {}

    @staticmethod
    def start_search() -> Search:
        return lambda pattern, text: re.search(pattern, text) is not None


# For the schemas that evalstore ships; a stranger's is compiled with a guard of `evalstore.checks`.
TRUSTED = Guard(math.inf, lambda _: _Trusted(), literal=True)
