"""The interval of a mean of paired shares: Agresti and Min (2005) with Student's t; pure.

Half an observation at +1, half at -1 and one at 0 are added. So a few questions that all moved
alike do not look certain, and a mean of rare moves keeps an interval that is wide enough: two
questions that lost a half each prove nothing. If few moved, and all one way, the interval reaches
at least as far as the exact bound of an event that rare (Clopper and Pearson 1934): 3.7 / n for
what was never seen. If some moved either way, it reaches at least as far towards 0 as Hall's
transformation of t, which removes the skewness (Hall 1992, Journal of the Royal Statistical Society
B 54). Otherwise 40 questions, one in ten of which falls by a whole point while the others make up
for it, would show a rise in .09 of cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import cbrt, fsum, hypot, log, log1p, sqrt

from evalstore.statistics.rare_events import bound_rare_rate
from evalstore.statistics.student import find_student_quantile

Interval = tuple[float, float]
# The sum of the shares of a group, and its number of questions.
Unit = tuple[Fraction, int]

FEWEST_UNITS, FEWEST_GROUPS = 2, 5
# The weight and the value of each added observation.
_ADDED = ((0.5, 1.0), (0.5, -1.0), (1.0, 0.0))
_SURE = 0.975
_EVEN = 1e-6  # a skewness below this is 0, and the formula would divide by it
_RARE = 5  # one unit in this many moved, or fewer: otherwise the added observations are wide enough
_MISSED = 0.045  # how often what moves a mean back may be missed: nearly all of the allowed error
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """The estimate of a mean share: `middle` and its standard error, with the added observations.

    `seen` is the observed mean, without them, and `standard_error` its error. `least` is how far
    the ends of the interval are below and above it at least.
    """

    middle: float
    error: float
    freedom: int
    seen: float
    standard_error: float
    least: Interval = (0.0, 0.0)

    @property
    def interval(self) -> Interval:
        """The 95 % interval, cut at -1 and 1."""
        reach = find_student_quantile(_SURE, self.freedom) * self.error
        low = min(self.middle - reach, self.seen - self.least[0])
        high = max(self.middle + reach, self.seen + self.least[1])
        return max(-1.0, low), min(1.0, high)

    @property
    def detectable_effect(self) -> float:
        """The smallest mean that the units show with a power of 80 % at the 5 % level (MDE)."""
        return (
            find_student_quantile(_SURE, self.freedom) + find_student_quantile(0.8, self.freedom)
        ) * self.error

    def scale(self, by: float) -> MeanEstimate:
        """Return the estimate of the mean multiplied by a factor."""
        return MeanEstimate(
            self.middle * by,
            self.error * by,
            self.freedom,
            self.seen * by,
            self.standard_error * by,
            (self.least[0] * by, self.least[1] * by),
        )

    def drop_middle(self) -> MeanEstimate:
        """Return the same errors around 0."""
        return replace(self, middle=0.0, seen=0.0)


def add_means(parts: Sequence[MeanEstimate]) -> MeanEstimate:
    """Return the estimate of a sum of independent means.

    Welch's degrees of freedom are rounded down.
    """
    error = hypot(*(part.error for part in parts))
    freedom = error**4 / fsum(part.error**4 / part.freedom for part in parts)
    return MeanEstimate(
        middle=fsum(part.middle for part in parts),
        error=error,
        freedom=max(1, int(freedom)),
        seen=fsum(part.seen for part in parts),
        standard_error=hypot(*(part.standard_error for part in parts)),
        least=(max(part.least[0] for part in parts), max(part.least[1] for part in parts)),
    )


def estimate_mean(units: Counter[Unit]) -> MeanEstimate | None:
    """Return the estimate of the mean share from how often each unit occurs.

    None for fewer than 2 units, or 5 groups.
    """
    seen, questions = units.total(), sum(count * times for (_, count), times in units.items())
    if seen < (FEWEST_GROUPS if seen < questions else FEWEST_UNITS):
        return None
    # In groups of average size, so that copies of a question within its group change nothing.
    size = questions / seen
    scaled = [(float(total) / size, count / size, times) for (total, count), times in units.items()]
    whole = seen + 2
    # Rounded once, so that the order of the questions changes nothing.
    total = fsum(share * times for share, _, times in scaled)
    middle, mean = total / whole, total / seen
    added = sum(weight * (value - middle) ** 2 for weight, value in _ADDED)
    moved_both_ways = len({share > 0 for share, _, _ in scaled if share}) > 1
    find_least = _find_skewed_reach if moved_both_ways else _find_rare_reach
    low, high = find_least(scaled, seen)
    if _may_be_nothing(mean, seen):
        low, high = max(low, mean), max(high, -mean)
    return MeanEstimate(
        middle=middle,
        error=sqrt((_sum_powers(scaled, middle, 2) + added) / (whole - 1) / whole),
        freedom=seen - 1,
        seen=mean,
        standard_error=sqrt(_sum_powers(scaled, mean, 2) / (seen - 1) / seen),
        least=(low, high),
    )


def _may_be_nothing(mean: float, seen: int) -> bool:
    """Whether `seen` units with this mean may be a sample from a change of nothing.

    If so, 0 is in their interval. Moves of `mean` with probability 1 - p, and of a whole point the
    other way with p, come to nothing if 1 - p is 1 / (1 + mean). More than about one sample in
    twenty misses all of the latter.
    """
    return log1p(abs(mean)) * seen < -log(_MISSED)


def _find_rare_reach(units: Sequence[tuple[float, float, int]], seen: int) -> Interval:
    """Return how far around its mean the interval of `seen` units must end; 0 if many moved.

    All that moved went one way. The move may be more frequent than observed, and so may a move by a
    whole point that no unit made.
    """
    moved = [(share, times) for share, _, times in units if share]
    count = sum(times for _, times in moved)
    if count * _RARE > seen:
        return 0.0, 0.0
    unseen = bound_rare_rate(0, seen)
    if not moved:
        return unseen, unseen
    total = fsum(share * times for share, times in moved)
    size = abs(total) / count
    reach = max(bound_rare_rate(count, seen) * size, unseen) - abs(total) / seen
    return (0.0, reach) if total > 0 else (reach, 0.0)


def _find_skewed_reach(units: Sequence[tuple[float, float, int]], seen: int) -> Interval:
    """Return how far towards 0 the interval of `seen` units reaches, by Hall's transformation of t.

    Some moved against the mean. If they are few and moved far, t alone takes their number for more
    certain than it is.
    """
    mean = fsum(total * times for total, _, times in units) / seen
    variance = _sum_powers(units, mean, 2) / (seen - 1)
    if not mean or not variance:
        return 0.0, 0.0
    skewness = _sum_powers(units, mean, 3) / seen / variance**1.5
    lean = skewness if mean > 0 else -skewness  # below 0 if the long tail is on the side of 0
    quantile = find_student_quantile(_SURE, seen - 1) / sqrt(seen) - lean / (6 * seen)
    reach = _invert_hall(quantile, lean) * sqrt(variance)
    least = min(max(0.0, reach), abs(mean))
    return (least, 0.0) if mean > 0 else (0.0, least)


def _invert_hall(quantile: float, lean: float) -> float:
    """Return how many standard deviations give a quantile, by Hall's cubic or exponential form.

    Both are correct to the same order. The first is flat where 1 + lean * quantile is about 0, and
    the second has no inverse below: the smaller distance is used.
    """
    if abs(lean) < _EVEN:
        return quantile
    cubic = 3 / lean * (cbrt(1 + lean * quantile) - 1)
    inner = 2 / 3 * lean * quantile
    return min(cubic, 1.5 / lean * log1p(inner)) if inner > -1 else cubic


def _sum_powers(units: Sequence[tuple[float, float, int]], mean: float, power: int) -> float:
    """Return the sum of a power of a ratio's residuals: each total from the mean by its count."""
    return fsum((total - mean * count) ** power * times for total, count, times in units)


@dataclass(slots=True)
class ShareMoves:
    """The non-zero shares: of ungrouped questions by how often each occurs, of others by group."""

    lone: Counter[Fraction] = field(default_factory=Counter)
    groups: dict[str, Fraction] = field(default_factory=dict)

    @property
    def total(self) -> Fraction:
        """The sum of the shares."""
        lone = sum((share * times for share, times in self.lone.items()), _ZERO)
        return sum(self.groups.values(), lone)

    def add(self, share: Fraction, group: str | None, times: int = 1) -> None:
        """Add the share of one question, or the same for several; a share of 0 is not a move."""
        if not share:
            return
        if group is None:
            self.lone[share] += times
        else:
            self.groups[group] = self.groups.get(group, _ZERO) + share * times

    def join(self, other: ShareMoves) -> ShareMoves:
        """Return the shares of both."""
        groups = dict(self.groups)
        for group, share in other.groups.items():
            groups[group] = groups.get(group, _ZERO) + share
        return ShareMoves(self.lone + other.lone, groups)


@dataclass(slots=True)
class UnitTotals:
    """The questions of a change by unit, alone or in a group.

    Shares are added if they are not 0.
    """

    lone: int = 0
    groups: Counter[str] = field(default_factory=Counter)

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return self.lone + self.groups.total()

    def add_question(self, group: str | None) -> None:
        """Count one question."""
        if group is None:
            self.lone += 1
        else:
            self.groups[group] += 1

    def join(self, other: UnitTotals) -> UnitTotals:
        """Return the questions of both."""
        return UnitTotals(self.lone + other.lone, self.groups + other.groups)

    def count_units(self, moves: ShareMoves) -> Counter[Unit]:
        """Return how often each sum and count of a unit occurs, 0 for unmoved questions."""
        units = Counter({(share, 1): times for share, times in moves.lone.items()})
        units[_ZERO, 1] += self.lone - moves.lone.total()
        units += Counter(
            (moves.groups.get(group, _ZERO), count) for group, count in self.groups.items()
        )
        return units


def count_units(shares: Sequence[Fraction], groups: Sequence[str | None]) -> Counter[Unit]:
    """Return how often each sum and count of a group occurs.

    A question without a group is a group by itself.

    A million questions have few different shares, so no list of them is needed.
    """
    totals, moves = UnitTotals(), ShareMoves()
    for share, group in zip(shares, groups, strict=True):
        totals.add_question(group)
        moves.add(share, group)
    return totals.count_units(moves)
