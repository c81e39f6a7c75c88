"""Limits the cost of reading a packed file by its size: a few KB never take minutes or GB."""

from __future__ import annotations

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.errors import LimitError, Place

# Logs and runs are packed about 20:1; a small file may be packed more tightly.
_RATIO = 64
_ALWAYS = 16 << 20


class UnpackBudget:
    """The bytes that one file may unpack to, and the steps to find its values in them."""

    def __init__(self, size: int, place: Place, *, steps: int, advice: str) -> None:
        """Make the budget of a packed file of `size` bytes, with `steps` allowed for each byte.

        `advice` says what to do with a file that takes more.
        """
        self._bytes, self._steps = (
            SharedBudget(max(_ALWAYS, _RATIO * size)),
            SharedBudget(max(_ALWAYS, steps * size)),
        )
        self._place, self._advice = place, advice

    def spend_bytes(self, size: int) -> None:
        """Count unpacked bytes; raises `LimitError` for more than the file may have."""
        self._spend(self._bytes, size, "unpacks to more than {:,} bytes")

    def spend_steps(self, steps: int) -> None:
        """Count steps of a reader, about 0.1 µs each; raises `LimitError` for too many."""
        self._spend(self._steps, steps, "takes more than {:,} steps to read")

    def _spend(self, budget: SharedBudget, amount: int, sentence: str) -> None:
        try:
            budget.spend(amount)
        except OutOfStepsError:
            problem = f"{sentence.format(budget.limit)}, the limit for a packed file of its size"
            raise LimitError(problem, place=self._place, hint=self._advice) from None
