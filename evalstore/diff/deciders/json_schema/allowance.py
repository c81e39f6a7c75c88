"""What comparing schemas may cost, counted in steps of some ten microseconds: every machine stops at one place."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.diff.deciders.json_schema.view import UnreadError

# All schemas of two rubrics together; the largest two that are compared take about half of it.
_TOGETHER = 100_000


@dataclass(slots=True)
class Allowance:
    """The steps that are left."""

    left: int = _TOGETHER

    def spend(self, steps: int) -> None:
        """Take steps; raises `UnreadError` when they are used up."""
        self.left -= steps
        if self.left < 0:
            raise UnreadError("it takes too many steps to compare")
