"""What deciding may cost, counted in steps and never in time, so that every machine stops at the same place."""

from __future__ import annotations

from dataclasses import dataclass

# About a third of a second on a slow machine; ordinary patterns take a hundredth of it.
STEPS = 200_000
_TOGETHER = 3 * STEPS


class UndecidedError(Exception):
    """What cannot be translated exactly, or costs too much; its text says which."""


@dataclass(slots=True)
class Budget:
    """The steps that are left for one question."""

    left: int = STEPS

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `UndecidedError` when there are no more."""
        self.left -= steps
        if self.left < 0:
            raise UndecidedError("comparing them takes too many steps")


@dataclass(slots=True)
class Purse:
    """The steps that are left for all questions of one comparison."""

    left: int = _TOGETHER

    def budget(self) -> Budget:
        """Return what the next question may cost; `pay` takes what it did cost."""
        return Budget(min(STEPS, self.left))

    def pay(self, budget: Budget) -> None:
        """Take what a question has spent."""
        given = min(STEPS, self.left)
        self.left -= given - max(budget.left, 0)
