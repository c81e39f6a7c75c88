"""What moved on the typical question: the sign test, and the exact interval of a median; pure.

A mean can be moved by one question in twenty, so twenty questions say little about it. Whether more
questions fall than rise is another fact, which fewer questions can show: it is asked of the
questions that moved, and says nothing about how far. A group counts as one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from evalstore.statistics.paired_mean import Interval, Unit
from evalstore.statistics.sign_flips import compute_sign_p

LEVEL = 0.05
FEWEST = 6  # of five that all fall the exact p is .0625


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """How many of some units fell and rose: questions, or groups of them, which are fewer."""

    falls: int
    rises: int
    units: int
    questions: int

    @property
    def p(self) -> float:
        """The exact two-sided p of the sign test: how often chance splits as unevenly."""
        return compute_sign_p(self.falls, self.rises)

    @property
    def direction(self) -> int:
        """1 or -1 if more units rise or fall than chance gives, else 0."""
        if self.p > LEVEL:
            return 0
        return 1 if self.rises > self.falls else -1


@dataclass(frozen=True, slots=True)
class TypicalChange:
    """The median of some changes, and its exact interval of 95 % or more."""

    median: Fraction
    interval: Interval


def count_moves(units: Counter[Unit]) -> MoveCounts:
    """Return how many units fell and rose."""
    return MoveCounts(
        falls=sum(times for (total, _), times in units.items() if total < 0),
        rises=sum(times for (total, _), times in units.items() if total > 0),
        units=units.total(),
        questions=sum(count * times for (_, count), times in units.items()),
    )


def estimate_typical(units: Counter[Unit]) -> TypicalChange | None:
    """Return the typical change; None for fewer than 6 units.

    It is that of the units that moved if these clearly went one way, else that of all. What moved
    without a clear direction is within the interval as well.
    """
    changes = Counter[Fraction]()
    for (total, count), times in units.items():
        changes[total / count] += times
    found, moved = _estimate_median(changes), _estimate_median(_drop_zero(changes))
    if found is None or moved is None:
        return found
    low, high = moved.interval
    if low > 0 or high < 0:
        return moved
    return TypicalChange(found.median, (min(low, found.interval[0]), max(high, found.interval[1])))


def _drop_zero(changes: Counter[Fraction]) -> Counter[Fraction]:
    return Counter({change: times for change, times in changes.items() if change})


def _estimate_median(changes: Counter[Fraction]) -> TypicalChange | None:
    """Return the median and its interval, whose ends are two changes; None for fewer than 6."""
    total = changes.total()
    if total < FEWEST:
        return None
    rank = _find_rank(total)
    ranks = [rank, (total + 1) // 2, total // 2 + 1, total + 1 - rank]
    low, lower, upper, high = _find_ranked(changes, ranks)
    return TypicalChange((lower + upper) / 2, (float(low), float(high)))


def _find_rank(total: int) -> int:
    """Return the last rank that a median is below in at most 2.5 % of all samples."""
    low, high = 1, (total + 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        if compute_sign_p(middle - 1, total - middle + 1) <= LEVEL:
            low = middle
        else:
            high = middle - 1
    return low


def _find_ranked(changes: Counter[Fraction], ranks: Sequence[int]) -> list[Fraction]:
    """Return the changes at some ranks, counted from 1 for the smallest."""
    ordered = sorted(changes)
    ends = [*accumulate(changes[change] for change in ordered)]
    return [ordered[bisect_left(ends, rank)] for rank in ranks]
