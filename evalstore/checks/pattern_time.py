"""Shares the time for slow patterns among all patterns of a command: today's engine counts no steps, only seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalstore.checks.patterns import SECONDS, match_in_time

if TYPE_CHECKING:
    import regex

COMMAND_SECONDS = 2.0
# A match within them is charged to nobody, so that no number of ordinary outputs uses up the time. They are also what a
# match has when the time is used up, once for a pattern that needs more.
QUICK_SECONDS = 0.2


@dataclass(slots=True)
class PatternTime:
    """The seconds that the slow matches of one command, or of one call of the API, may still take together."""

    left: float = COMMAND_SECONDS
    _stopped: set[regex.Pattern[str]] = field(default_factory=set)

    def match(self, compiled: regex.Pattern[str], mode: str, text: str, seconds: float = SECONDS) -> bool | str:
        """Whether the pattern matches within `seconds` and what is left; else a clause that says why nobody knows."""
        if compiled in self._stopped:
            return _USED_UP
        limit = min(seconds, max(self.left, QUICK_SECONDS))
        began = time.perf_counter()
        found = match_in_time(compiled, mode, text, limit)
        took = time.perf_counter() - began
        if took >= QUICK_SECONDS:
            self.left -= took
        if found is not None:
            return found
        if self.left <= 0:
            self._stopped.add(compiled)
        return f"did not finish within {seconds:g} s" if limit == seconds else _USED_UP


_USED_UP = f"was stopped: slow patterns have used up the {COMMAND_SECONDS:g} s that one command has for them"
