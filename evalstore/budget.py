"""Counts the steps that a decision may take.

It counts steps, never time, so that every machine stops at the same place.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class OutOfStepsError(Exception):
    """A budget is used up; the caller who asked the question reports it in its own words."""


@dataclass(slots=True)
class SharedBudget:
    """The steps of one question.

    With `shared`, each step is also taken from a budget that many questions share.
    """

    limit: float
    shared: SharedBudget | None = None
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.limit

    @property
    def spent(self) -> int:
        """How many steps were taken, at most the limit.

        The last request may have asked for more than were left.
        """
        return int(self.limit - max(self.left, 0))

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `OutOfStepsError` when these or the shared ones are used up."""
        if self.shared is not None:
            self.shared.spend(steps)
        self.left -= steps
        if self.left < 0:
            raise OutOfStepsError
