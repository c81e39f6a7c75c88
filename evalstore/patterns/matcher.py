r"""Finds matches of untrusted patterns: what is found depends on pattern and text alone, and so does what is too much.

Three searchers give the same answers, and the pattern and the text alone say which one is asked:

1. the engine, `regex`, for texts for which `work_bound` allows it (`ENGINE_STEPS`): with patterns that backtrack no
   more than some steps a character, these are all texts that are graded;
2. for others an automaton, whose steps are letters times positions (`AUTOMATON_STEPS`); it takes all texts of the few
   patterns that the engine is known to get wrong;
3. for captures, and for what is of no regular language (references to groups, atomic parts), a backtracking matcher
   that counts its steps (`BACKTRACKER_STEPS`).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from evalstore.budget import OutOfStepsError
from evalstore.patterns.backtracker import Backtracker
from evalstore.patterns.engine import compile_pattern
from evalstore.patterns.first_texts import find_first_texts, find_needed_texts
from evalstore.patterns.limits import (
    AUTOMATON_STEPS,
    BACKTRACKER_STEPS,
    ENGINE_STEPS,
    LAST_ENGINE_STEPS,
    OUTPUT_LIMIT,
)
from evalstore.patterns.parser import parse_pattern
from evalstore.patterns.program import has_empty_loop
from evalstore.patterns.regular_matcher import RegularMatcher, build_regular_matcher
from evalstore.patterns.syntax_tree import RegexTree
from evalstore.patterns.unsupported import UndecidedError, refuse_engine_faults
from evalstore.patterns.work_bound import WorkBound, bound_work

if TYPE_CHECKING:
    import regex

TOO_MANY_STEPS = "takes too many steps"
_NOT_RUNNABLE = (
    "the pattern cannot be run in counted steps: beside a group or an atomic part that counts, "
    "a part that can be empty is repeated without end"
)


class PatternMatcher:
    """A pattern with its flags, in one mode: search, match, fullmatch, or findall for its captures.

    Searchers are built when a text first needs them.
    """

    def __init__(self, compiled: regex.Pattern[str], tree: RegexTree, mode: str) -> None:
        self._compiled, self._tree, self.mode = compiled, tree, mode
        self.groups: int = compiled.groups

    def __repr__(self) -> str:
        return f"PatternMatcher({self._compiled.pattern!r}, mode={self.mode!r})"

    @cached_property
    def is_runnable(self) -> bool:
        """Whether any searcher takes it: the engine has no bound for a loop that may be empty, and one of ours does."""
        if not has_empty_loop(self._tree):
            return True
        return self._automaton is not None or self._engine_length > 0

    @property
    def may_exceed(self) -> bool:
        """Whether some text of up to `OUTPUT_LIMIT` characters can take too many steps."""
        return max(self._engine_length, self._automaton_length, self._last_length) < OUTPUT_LIMIT

    def is_found(self, text: str) -> bool | None:
        """Whether the text has a match; None where that takes too many steps."""
        if self._allows_engine(text):
            return getattr(self._compiled, self.mode)(text) is not None
        if any(needed not in text for needed in self._needed_texts):
            return False
        if self._automaton is not None and len(text) <= self._automaton_length:
            return self._automaton.is_found(text)
        if len(text) <= self._last_length:
            return getattr(self._compiled, self.mode)(text) is not None
        if self._backtracker is None:
            return None
        try:
            return self._backtracker.is_found(text, self.mode, BACKTRACKER_STEPS)
        except OutOfStepsError:
            return None

    def list_captures(self, text: str) -> list[str] | None:
        """Return what the first group holds in each match ("" where it took no part); None for too many steps."""
        if self._allows_engine(text):
            found = self._compiled.findall(text)
            return [one if isinstance(one, str) else one[0] for one in found]
        if self._backtracker is None:
            return None
        try:
            return self._backtracker.list_captures(text, BACKTRACKER_STEPS)
        except OutOfStepsError:
            return None

    def count_steps(self, text: str) -> int:
        """Return about how many steps the search of a text takes at most, whoever searches."""
        engine = None if self._bound is None else self._bound.count_steps(len(text))
        if self._automaton is None:
            return BACKTRACKER_STEPS if engine is None else min(engine, ENGINE_STEPS)
        automaton = self._automaton.size * (len(text) + 1)
        return automaton if engine is None else min(engine, automaton)

    def _allows_engine(self, text: str) -> bool:
        return len(text) <= self._engine_length or (bool(self._first_texts) and self._is_quick_by_first_text(text))

    def _is_quick_by_first_text(self, text: str) -> bool:
        """Whether so few places can begin a match that all of them together are within the engine's steps."""
        if self._bound_from_one_place is None or len(text) > OUTPUT_LIMIT:
            return False
        # A text may overlap with itself, at most once for each of its characters.
        places = sum(len(first) * text.count(first) for first in self._first_texts)
        steps = len(text) * len(self._first_texts) + places * self._bound_from_one_place.count_steps(len(text))
        return steps <= ENGINE_STEPS

    @cached_property
    def _bound(self) -> WorkBound | None:
        return None if self._is_misread else bound_work(self._tree, self.mode)

    @cached_property
    def _bound_from_one_place(self) -> WorkBound | None:
        return None if self._bound is None else bound_work(self._tree, "fullmatch")

    @cached_property
    def _is_misread(self) -> bool:
        """Whether the engine is known to get the pattern wrong."""
        try:
            refuse_engine_faults(self._tree)
        except UndecidedError:
            return True
        return False

    @cached_property
    def _engine_length(self) -> int:
        return 0 if self._bound is None else self._bound.find_longest(ENGINE_STEPS, OUTPUT_LIMIT)

    @cached_property
    def _last_length(self) -> int:
        return 0 if self._bound is None else self._bound.find_longest(LAST_ENGINE_STEPS, OUTPUT_LIMIT)

    @cached_property
    def _first_texts(self) -> frozenset[str]:
        return (find_first_texts(self._tree) or frozenset()) if self.mode in {"search", "findall"} else frozenset()

    @cached_property
    def _needed_texts(self) -> frozenset[str]:
        return find_needed_texts(self._tree)

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

    @cached_property
    def _backtracker(self) -> Backtracker | None:
        try:
            return Backtracker(self._tree)
        except UndecidedError:
            return None


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
    return matcher if matcher.is_runnable else _NOT_RUNNABLE
