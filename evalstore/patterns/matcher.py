r"""Finds matches of untrusted patterns: what is found depends on pattern and text alone, and so does what is too much.

Three searchers give the same answers, and the pattern and the text alone say which one is asked:

1. the engine, `regex`, for texts for which `run_bound` or `work_bound` allows it (`ENGINE_STEPS`): with patterns that
   backtrack no more than some steps a character, these are all texts that are graded;
2. for others an automaton, whose steps are letters times positions (`AUTOMATON_STEPS`); it takes all texts of the few
   patterns that the engine is known to get wrong;
3. for captures, and for what is of no regular language (references to groups, atomic parts), a backtracking matcher
   that counts its steps (`BACKTRACKER_STEPS`).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import inf
from typing import TYPE_CHECKING

from evalstore.budget import OutOfStepsError
from evalstore.patterns.backtracker import Backtracker
from evalstore.patterns.engine import compile_pattern
from evalstore.patterns.first_texts import find_first_texts, find_needed_texts, is_anchored
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
from evalstore.patterns.run_bound import RunBound
from evalstore.patterns.syntax_tree import RegexTree
from evalstore.patterns.text_runs import EqualRuns, measure_runs
from evalstore.patterns.unsupported import UndecidedError, refuse_engine_faults
from evalstore.patterns.work_bound import WorkBound, bound_work

if TYPE_CHECKING:
    import regex

_LENGTHS = (64, 256, 1024, 4096, 16_384, 65_536, OUTPUT_LIMIT)
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
        if self._is_quick(text):
            return self._is_found_by_engine(text)
        if any(needed not in text for needed in self._needed_texts):
            return False
        if self._allows_engine(text, ENGINE_STEPS):
            return self._is_found_by_engine(text)
        if self._automaton is not None and len(text) <= self._automaton_length:
            return self._automaton.is_found(text)
        if self._allows_engine(text, LAST_ENGINE_STEPS):
            return self._is_found_by_engine(text)
        if self._backtracker is None:
            return None
        try:
            return self._backtracker.is_found(text, self.mode, BACKTRACKER_STEPS)
        except OutOfStepsError:
            return None

    def list_captures(self, text: str) -> list[str] | None:
        """Return what the first group holds in each match ("" where it took no part); None for too many steps."""
        if self._is_quick(text) or self._allows_engine(text, ENGINE_STEPS):
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
        engine = inf if self._bound is None else self._bound.count_steps(len(text))
        if self._automaton is not None:
            return int(min(engine, self._automaton.size * (len(text) + 1)))
        engine = min(engine, self._count_steps_by_runs(text))
        return int(min(engine, ENGINE_STEPS)) if engine <= LAST_ENGINE_STEPS else BACKTRACKER_STEPS

    def _is_found_by_engine(self, text: str) -> bool:
        return getattr(self._compiled, self.mode)(text) is not None

    def _is_quick(self, text: str) -> bool:
        """Whether the engine takes the text by its length, or because few places can begin a match."""
        if len(text) <= self._quick_length:
            return True
        if not self._first_texts or self._run_bound is None or len(text) > OUTPUT_LIMIT:
            return False
        places = sum(_count_places(first, text) for first in self._first_texts)
        steps = self._run_bound.count_steps(EqualRuns(len(text)), places)
        return len(text) * len(self._first_texts) + steps <= ENGINE_STEPS

    def _allows_engine(self, text: str, steps: int) -> bool:
        """Whether the engine takes no more than some steps, by the runs of the text or by its length."""
        if len(text) > OUTPUT_LIMIT:
            return False
        # What is known of the pattern alone takes milliseconds to find, once.
        return self._count_steps_by_runs(text) <= steps or (
            self._bound is not None and self._bound.count_steps(len(text)) <= steps
        )

    def _count_steps_by_runs(self, text: str) -> float:
        if self._run_bound is None:
            return inf
        return len(text) + self._run_bound.count_steps(measure_runs(text), self._count_starts(len(text)))

    def _count_starts(self, length: int) -> int:
        """Return at how many places of a text a match is looked for."""
        if self.mode in {"match", "fullmatch"} or is_anchored(self._tree):
            return 1
        # After an empty match, all matches are looked for at the same place again.
        return (length + 1) * (2 if self.mode == "findall" else 1)

    @cached_property
    def _run_bound(self) -> RunBound | None:
        return None if self._is_misread else RunBound(self._tree, ends_early=self.mode != "fullmatch")

    @cached_property
    def _quick_length(self) -> int:
        """A length up to which the engine takes every text, whatever its runs are."""
        if self._run_bound is None:
            return 0
        bound = self._run_bound
        steps = ((length, bound.count_steps(EqualRuns(length), self._count_starts(length))) for length in _LENGTHS)
        return max((length for length, most in steps if length + most <= ENGINE_STEPS), default=0)

    @cached_property
    def _bound(self) -> WorkBound | None:
        return None if self._is_misread else bound_work(self._tree, self.mode)

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


def _count_places(first: str, text: str) -> int:
    """Return at how many places of a text another stands, at most: `count` leaves out those that overlap."""
    overlaps = any(first.startswith(first[index:]) for index in range(1, len(first)))
    return text.count(first) * (len(first) if overlaps else 1)


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
