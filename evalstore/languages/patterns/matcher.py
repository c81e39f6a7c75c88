r"""Finds matches of untrusted patterns: what is found depends on pattern and text alone, and so does what is too much.

The engine, `regex`, searches every text of a length at which `work_bound` says that it stays within `ENGINE_STEPS`.
Longer texts are for an automaton, whose steps are letters times positions (`AUTOMATON_STEPS`), and so are all texts of
the few patterns that the engine is known to get wrong. It has no captures, references to groups and atomic parts: with
these, and with very many positions, a text is too long (`PatternMatcher.longest`).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from evalstore.budget import OutOfStepsError
from evalstore.languages.patterns.automaton_search import RegularMatcher, build_regular_matcher
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern
from evalstore.languages.patterns.letters import AUTOMATON_STEPS, ENGINE_STEPS
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import RegexTree, UndecidedError, refuse_engine_faults
from evalstore.languages.patterns.work_bound import WorkBound

if TYPE_CHECKING:
    import regex

TOO_MANY_STEPS = "takes too many steps"
LIMIT_HINT = "end each repeat where the next part begins: write [^,]*, rather than .*,"
_NOT_RUNNABLE = (
    "the pattern cannot be run in counted steps: a repeated part can match one text in many ways, as (a|aa)* can, "
    "and the pattern refers to a group, has an atomic part, or is asked for what it captures"
)


class PatternMatcher:
    """A pattern with its flags, in one mode: search, match, fullmatch, or findall for its captures."""

    def __init__(self, compiled: regex.Pattern[str], tree: RegexTree, mode: str) -> None:
        self._compiled, self._tree, self.mode = compiled, tree, mode
        self.groups: int = compiled.groups

    def __repr__(self) -> str:
        return f"PatternMatcher({self._compiled.pattern!r}, mode={self.mode!r})"

    @property
    def longest(self) -> int:
        """The length up to which every text is searched, at most `OUTPUT_LIMIT`."""
        if self._engine_length == OUTPUT_LIMIT:
            return OUTPUT_LIMIT  # no automaton is built
        return max(self._engine_length, self._automaton_length)

    @property
    def limit_problem(self) -> str | None:
        """Say from which length on a text is not searched, or None where every output is."""
        if not self.may_exceed:
            return None
        return (
            f"outputs longer than {self.longest:,} characters are unscored: the pattern may take too many steps there"
        )

    @property
    def may_exceed(self) -> bool:
        """Whether some text of up to `OUTPUT_LIMIT` characters takes too many steps."""
        return self.longest < OUTPUT_LIMIT

    def is_found(self, text: str) -> bool | None:
        """Whether the text has a match; None where that takes too many steps."""
        if len(text) <= self._engine_length:
            return getattr(self._compiled, self.mode)(text) is not None
        if self._automaton is not None and len(text) <= self._automaton_length:
            return self._automaton.is_found(text)
        return None

    def list_captures(self, text: str) -> list[str] | None:
        """Return what the first group holds in each match ("" where it took no part); None for too many steps."""
        if len(text) > self._engine_length:
            return None
        return [one if isinstance(one, str) else one[0] for one in self._compiled.findall(text)]

    def count_steps(self, text: str) -> int:
        """Return about how many steps the search of a text takes at most, whoever searches."""
        if self._automaton is not None and len(text) > self._engine_length:
            return self._automaton.size * (len(text) + 1)
        # The next power of two: few lengths are looked at.
        steps = None if self._bound is None else self._bound.count_steps(1 << len(text).bit_length())
        return ENGINE_STEPS if steps is None else min(steps, ENGINE_STEPS)

    @cached_property
    def fault(self) -> str | None:
        """Why the engine is not asked, where it is known to get such a pattern wrong, else None."""
        try:
            refuse_engine_faults(self._tree)
        except UndecidedError as error:
            return f"the pattern cannot be run in counted steps: {error}"
        return None

    @cached_property
    def _bound(self) -> WorkBound | None:
        return None if self.fault else WorkBound(self._tree, self.mode)

    @cached_property
    def _engine_length(self) -> int:
        return 0 if self._bound is None else self._bound.find_longest(ENGINE_STEPS, OUTPUT_LIMIT)

    @cached_property
    def _automaton(self) -> RegularMatcher | None:
        if self.mode == "findall":
            return None
        try:
            return build_regular_matcher(self._tree, self.mode)
        except (UndecidedError, OutOfStepsError):
            return None

    @cached_property
    def _automaton_length(self) -> int:
        return 0 if self._automaton is None else min(AUTOMATON_STEPS // self._automaton.size - 1, OUTPUT_LIMIT)


@lru_cache(maxsize=512)
def compile_matcher(pattern: str, flags: str, mode: str) -> PatternMatcher | str:
    """Return the matcher of a pattern in a mode, or a sentence that says why there is none; `flags` are of `imsx`."""
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        return compiled
    try:
        matcher = PatternMatcher(compiled, parse_pattern(pattern, flags), mode)
    except UndecidedError as error:
        return f"the pattern cannot be run in counted steps: {error}"
    return matcher if matcher.longest else matcher.fault or _NOT_RUNNABLE
