"""Shares the time for slow patterns among all patterns of a command: today's engine counts no steps, only seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from evalstore.patterns.engine import SECONDS, find_captures, match_in_time

if TYPE_CHECKING:
    import regex

COMMAND_SECONDS = 2.0
# A match within them is charged to nobody, so that no number of ordinary outputs uses up the time. They are also what a
# match has when the time is used up, once for a pattern that needs more.
QUICK_SECONDS = 0.05
USED_UP = f"was stopped: slow patterns have used up the {COMMAND_SECONDS:g} s that one command has for them"

_Found = TypeVar("_Found", bool, list[str])


@dataclass(slots=True)
class PatternTime:
    """The seconds that the slow matches of one command, or of one call of the API, may still take together."""

    left: float = COMMAND_SECONDS
    _stopped: set[regex.Pattern[str]] = field(default_factory=set)

    def match(self, compiled: regex.Pattern[str], mode: str, text: str, seconds: float = SECONDS) -> bool | str:
        """Whether the pattern matches within `seconds` and what is left; else a clause that says why nobody knows."""
        return self._run(compiled, lambda limit: match_in_time(compiled, mode, text, limit), seconds)

    def find_captures(self, compiled: regex.Pattern[str], text: str) -> list[str] | str:
        """Return what the first group holds in each match, each text once; else a clause that says why nobody knows."""
        return self._run(compiled, lambda limit: find_captures(compiled, text, limit), SECONDS)

    def _run(
        self, compiled: regex.Pattern[str], search: Callable[[float], _Found | None], seconds: float
    ) -> _Found | str:
        if compiled in self._stopped:
            return USED_UP
        # Of the processor, as the engine counts: a busy machine stops no pattern earlier.
        limit = min(seconds, max(self.left, QUICK_SECONDS))
        began = time.process_time()
        found = search(limit)
        took = time.process_time() - began
        if found is None or took >= QUICK_SECONDS:
            self.left -= took
        if found is not None:
            return found
        if self.left < QUICK_SECONDS:
            self._stopped.add(compiled)
        return f"did not finish within {seconds:g} s" if limit == seconds else USED_UP
