"""The interval of a mean of paired shares: Agresti and Min (2005) with Student's t, over questions or groups; pure.

Half an observation at +1, half at -1 and one at 0 are added. So few questions that all moved alike do not look certain,
and a mean of rare moves keeps an interval that is wide enough: of two questions that lost a half each nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from evalstore.statistics.student import find_student_quantile

Interval = tuple[float, float]
# The sum of the shares of a group, and its number of questions.
Unit = tuple[Fraction, int]

FEWEST_UNITS, FEWEST_GROUPS = 2, 5
# The weight and the value of each observation that is added.
_ADDED = ((0.5, 1.0), (0.5, -1.0), (1.0, 0.0))
_ADDED_WEIGHT = 2
_SURE, _POWER = 0.975, 0.8


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """The estimate of a mean share: `middle` and `error` (its standard error) with the added observations in them.

    `standard_error` is that of the mean as it was seen, without them.
    """

    middle: float
    error: float
    freedom: int
    standard_error: float

    @property
    def interval(self) -> Interval:
        """The 95 % interval, cut at -1 and 1."""
        reach = find_student_quantile(_SURE, self.freedom) * self.error
        return max(-1.0, self.middle - reach), min(1.0, self.middle + reach)

    @property
    def detectable_effect(self) -> float:
        """The smallest mean that so many units show with a power of 80 % at the 5 % level (MDE)."""
        return (find_student_quantile(_SURE, self.freedom) + find_student_quantile(_POWER, self.freedom)) * self.error


def estimate_mean(shares: Sequence[Fraction], groups: Sequence[str | None]) -> MeanEstimate | None:
    """Return the estimate of the mean share; None for fewer than 2 questions, or 5 groups."""
    units = count_units(shares, groups)
    seen = units.total()
    if seen < (FEWEST_GROUPS if seen < len(shares) else FEWEST_UNITS):
        return None
    # In groups of an average size, so that copies of a question in its group change nothing.
    size = len(shares) / seen
    scaled = [(float(total) / size, count / size, times) for (total, count), times in units.items()]
    whole = seen + _ADDED_WEIGHT
    total = sum(share * times for share, _, times in scaled)
    middle = total / whole
    added = sum(weight * (value - middle) ** 2 for weight, value in _ADDED)
    return MeanEstimate(
        middle=middle,
        error=sqrt((_sum_squares(scaled, middle) + added) / (whole - 1) / whole),
        freedom=seen - 1,
        standard_error=sqrt(_sum_squares(scaled, total / seen) / (seen - 1) / seen),
    )


def _sum_squares(units: Sequence[tuple[float, float, int]], mean: float) -> float:
    """Return the sum of the squared residuals of a ratio: of each total from the mean by its count."""
    return sum((total - mean * count) ** 2 * times for total, count, times in units)


def count_units(shares: Sequence[Fraction], groups: Sequence[str | None]) -> Counter[Unit]:
    """Return how often each sum and count of a group comes; a question without a group is a group by itself.

    Of a million questions the shares are few, and no list of them is needed.
    """
    lone: Counter[Fraction] = Counter()
    sums: dict[str, Unit] = {}
    for share, group in zip(shares, groups, strict=True):
        if group is None:
            lone[share] += 1
        else:
            total, count = sums.get(group, (Fraction(0), 0))
            sums[group] = total + share, count + 1
    return Counter({(share, 1): times for share, times in lone.items()}) + Counter(sums.values())
