"""What may be concluded from the shares of a change, the noise of judges, and intervals of rates; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import sqrt

from evalstore.statistics.paired_mean import Interval, MeanEstimate, Unit, estimate_mean
from evalstore.statistics.sign_flips import compute_sign_flip_p

LEVEL = 0.05
FEWEST_MOVES = 5  # of fewer, no split is rare enough: four that all fall have a mid-p of .0625
# An effect whose interval lies within one point is called a null.
NULL_MARGIN = 0.01


class Conclusion(StrEnum):
    """What may be concluded."""

    MOVED_NONE = "moved none"
    SIGNIFICANT = "significant"
    BOUNDED_NULL = "bounded null"
    NOT_RESOLVABLE = "not resolvable"


@dataclass(frozen=True, slots=True)
class ChangeEstimate:
    """The estimate of a change: its p-value, `mean` (None of too few units), and how many of the units it moved."""

    p: float
    mean: MeanEstimate | None
    moved: int
    units: int

    @property
    def conclusion(self) -> Conclusion:
        """What may be concluded for questions like these."""
        if not self.moved:
            return Conclusion.MOVED_NONE
        if self.p <= LEVEL and self.moved >= FEWEST_MOVES and self._leaves_out_zero:
            return Conclusion.SIGNIFICANT
        if self.mean and max(map(abs, self.mean.interval)) < NULL_MARGIN:
            return Conclusion.BOUNDED_NULL
        return Conclusion.NOT_RESOLVABLE

    @property
    def _leaves_out_zero(self) -> bool:
        """Whether the interval has 0 outside: the test of sign flips alone is one of symmetry, not of the mean."""
        low, high = self.mean.interval if self.mean else (0.0, 0.0)
        return low > 0 or high < 0


def estimate_change(units: Counter[Unit]) -> ChangeEstimate:
    """Estimate a change from how often each unit comes, a question or a group of them."""
    return ChangeEstimate(
        p=compute_sign_flip_p(units),
        mean=estimate_mean(units),
        moved=sum(times for (total, _), times in units.items() if total),
        units=units.total(),
    )


def bound_rate(units: int) -> Fraction:
    """Return the most of what happened to none of `units`: the rule of three."""
    # What happened to none of n happens to at most 3/n, with 95 % confidence.
    return min(Fraction(1), Fraction(3, units))


def compute_holm_p_values(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979), in the given order: for slices of one change."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = adjusted[index] = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
    return adjusted


def compute_noise_reach(deviations: Iterable[float], questions: int) -> float:
    """Return what 95 % of the changes of a mean by noise alone stay below.

    `deviations` are the standard deviations of single questions' scores, of both runs, as far as judges have a part in
    them; `questions` is how many the mean is of, those without a judge included.
    """
    return _Z * sqrt(sum(deviation**2 for deviation in deviations)) / questions if questions else 0.0


_Z = 1.959963984540054  # the quantile of a normal distribution with 2.5 % above it


def compute_wilson_interval(hits: int, total: int) -> Interval | None:
    """Return Wilson's 95 % interval of a share (Wilson 1927), sound for few rows and near 0 and 1; None for no rows."""
    if not total:
        return None
    square = _Z**2
    middle = (hits + square / 2) / (total + square)
    reach = _Z / (total + square) * sqrt(hits * (total - hits) / total + square / 4)
    # At both ends one bound is exact, and rounding would put it a little beside.
    return (middle - reach if hits else 0.0), (middle + reach if hits < total else 1.0)
