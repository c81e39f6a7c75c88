"""Bounds what a packed file of outputs unpacks to, by its size: a few kilobytes must not take minutes or gigabytes."""

from __future__ import annotations

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.errors import LimitError, Place

# Logs and runs are near 20:1; a small file may be packed as tightly as it likes.
_RATIO = 100
_ALWAYS = 16 << 20


class UnpackBudget:
    """The bytes that one file may unpack to."""

    def __init__(self, size: int, place: Place) -> None:
        """Begin with the size of the packed file."""
        self._steps, self._place = SharedBudget(max(_ALWAYS, _RATIO * size)), place

    def spend(self, size: int) -> None:
        """Take bytes that were or will be unpacked; `LimitError` when they are more than the file may have."""
        try:
            self._steps.spend(size)
        except OutOfStepsError:
            raise LimitError(
                f"unpacks to more than {self._steps.limit:,} bytes, the limit for a file of its size",
                place=self._place,
                hint=f"a file may unpack to {_ALWAYS >> 20} MiB, or to {_RATIO} times its size",
            ) from None
