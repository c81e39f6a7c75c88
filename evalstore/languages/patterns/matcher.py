r"""Finds matches of untrusted patterns.

What is found, and what is too much, is the same everywhere.

The engine, `regex`, searches a text if `work_bound` says that it stays within `PATTERNS.steps`: up
to some length all texts, and beyond it those whose lines and words are short enough. Every other
text is left undecided.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern
from evalstore.languages.patterns.engine_faults import refuse_engine_faults
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import RegexTree, UndecidedError
from evalstore.languages.patterns.work_bound import WorkBound

if TYPE_CHECKING:
    import regex

LIMIT_HINT = "end each repeat where the next part begins: write [^,]*, rather than .*,"


class PatternMatcher:
    """A pattern with its flags in one mode: search, match, fullmatch, or findall for captures."""

    def __init__(self, compiled: regex.Pattern[str], tree: RegexTree, mode: str) -> None:
        self._compiled, self._bound, self.mode = compiled, WorkBound(tree, mode), mode
        self.groups: int = compiled.groups

    def __repr__(self) -> str:
        return f"PatternMatcher({self._compiled.pattern!r}, mode={self.mode!r})"

    @cached_property
    def longest(self) -> int:
        """The length up to which every text is searched, at most `OUTPUT_LIMIT`."""
        return self._bound.find_longest(PATTERNS.steps, OUTPUT_LIMIT)

    @property
    def ordinary_length(self) -> int | None:
        """The length up to which every text is searched, if ordinary outputs may be longer."""
        return self.longest if self.longest < PATTERNS.ordinary else None

    @property
    def limit_problem(self) -> str | None:
        """Say from which length on a text may not be searched; None if all ordinary outputs may."""
        if self.ordinary_length is None:
            return None
        length = f"{self.ordinary_length:,} characters"
        return (
            f"an output longer than {length} may be unscored: the pattern can take too many steps"
        )

    @property
    def may_exceed(self) -> bool:
        """Whether some text of up to `OUTPUT_LIMIT` characters may take too many steps."""
        return self.longest < OUTPUT_LIMIT

    def is_within_share(self, number: int) -> bool:
        """Whether no text of up to `OUTPUT_LIMIT` characters takes more than this share."""
        return self._bound.find_longest(PATTERNS.steps // number, OUTPUT_LIMIT) == OUTPUT_LIMIT

    def is_found(self, text: str) -> bool | None:
        """Whether the text has a match; None if finding out takes too many steps."""
        return (
            getattr(self._compiled, self.mode)(text) is not None if self._is_within(text) else None
        )

    def list_captures(self, text: str) -> list[str] | None:
        """Return the first group of each match ("" if it took no part); None for too many steps."""
        if not self._is_within(text):
            return None
        return [one if isinstance(one, str) else one[0] for one in self._compiled.findall(text)]

    def find_groups(self, text: str) -> tuple[str | None, ...] | None:
        """Return the first match and its groups, if there is one; None for too many steps."""
        if not self._is_within(text):
            return None
        found = getattr(self._compiled, self.mode)(text)
        return () if found is None else (found[0], *found.groups())

    def remove(self, text: str, most: int) -> str | None:
        """Return the text without its first matches, 0 for all; None for too many steps."""
        return self._compiled.sub("", text, most) if self._is_within(text) else None

    def count_steps(self, text: str) -> int:
        """Return roughly how many steps the search of a text takes at most."""
        return int(min(self._bound.count_steps_in(text), PATTERNS.steps))

    def describe_excess(self, text: str) -> str:
        """Say why a text was not searched, as a clause."""
        return (
            f"can take too many steps on {len(text):,} characters; "
            f"every output up to {self.longest:,} characters is searched"
        )

    def _is_within(self, text: str) -> bool:
        return len(text) <= self.longest or self._bound.count_steps_in(text) <= PATTERNS.steps


@lru_cache(maxsize=512)
def compile_matcher(pattern: str, flags: str, mode: str) -> PatternMatcher | str:
    """Return the matcher of a pattern in a mode, or a sentence that says why there is none.

    `flags` are from `imsx`.
    """
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        return compiled
    try:
        tree = parse_pattern(pattern, flags)
        refuse_engine_faults(tree)
    except UndecidedError as error:
        return f"the pattern cannot be run in counted steps: {error}"
    return PatternMatcher(compiled, tree, mode)
