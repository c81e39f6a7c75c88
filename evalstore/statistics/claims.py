"""What may be concluded from the shares of a change: claims, and intervals of rates; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import sqrt

from evalstore.statistics.paired_mean import Interval, MeanEstimate, Unit, add_means, estimate_mean
from evalstore.statistics.sign_flips import compute_claim_p, compute_sign_flip_p
from evalstore.statistics.student import compute_student_middle

LEVEL = 0.05
FEWEST_MOVES = 5  # with fewer, no split is rare enough: four that all fall have a mid-p of .0625
# With fewer, one more would move their mean by as much as what is estimated from it.
FEWEST_ANCHORS = 5
# An effect whose interval is within one point is called null.
NULL_MARGIN = 0.01
_Z = 1.959963984540054  # the quantile of a normal distribution with 2.5 % above it


class Conclusion(StrEnum):
    """What may be concluded."""

    MOVED_NONE = "moved none"
    SIGNIFICANT = "significant"
    BOUNDED_NULL = "bounded null"
    NOT_RESOLVABLE = "not resolvable"
    # For the part of an estimate that is separated from the other one, and may itself be nothing.
    BOUNDED = "bounded"


@dataclass(frozen=True, slots=True)
class ChangeEstimate:
    """The estimate of a change: p-value, `mean` (None for too few units), how many units it moved.

    Claims use `claim_p`, which is `p` or slightly above it.
    """

    p: float
    claim_p: float
    mean: MeanEstimate | None
    moved: int
    units: int

    @property
    def conclusion(self) -> Conclusion:
        """What may be concluded for questions like these."""
        if not self.moved:
            return Conclusion.MOVED_NONE
        if self.claim_p <= LEVEL and self.moved >= FEWEST_MOVES and self._leaves_out_zero:
            return Conclusion.SIGNIFICANT
        if self.mean and max(map(abs, self.mean.interval)) < NULL_MARGIN:
            return Conclusion.BOUNDED_NULL
        return Conclusion.NOT_RESOLVABLE

    @property
    def _leaves_out_zero(self) -> bool:
        """Whether the interval excludes 0: sign flips alone test symmetry, not the mean."""
        if self.mean is None:
            return False
        low, high = self.mean.interval
        return low > 0 or high < 0


def estimate_change(units: Counter[Unit]) -> ChangeEstimate:
    """Estimate a change from how often each unit (a question or a group) occurs."""
    return _estimate_flipped(units, estimate_mean(units))


def _estimate_flipped(units: Counter[Unit], mean: MeanEstimate | None) -> ChangeEstimate:
    p = compute_sign_flip_p(units)
    return ChangeEstimate(p, compute_claim_p(units, p), mean, _count_moved(units), units.total())


def _count_moved(units: Counter[Unit]) -> int:
    return sum(times for (total, _), times in units.items() if total)


@dataclass(frozen=True, slots=True)
class AnchorShift:
    """What the anchors of some questions show about them.

    It has the shift by unit, and the share of all questions that it concerns.
    """

    units: Counter[Unit]
    part: float

    @property
    def mean(self) -> MeanEstimate | None:
        """The estimate of what it adds to the mean of all questions; None for too few anchors."""
        found = estimate_mean(self.units) if self.units.total() >= FEWEST_ANCHORS else None
        return found and found.scale(self.part)


def estimate_shift(shifts: Sequence[AnchorShift], seen: float) -> ChangeEstimate:
    """Estimate a change that only anchors show, each shift for its part; together it is `seen`."""
    units = sum((shift.units for shift in shifts), Counter[Unit]())
    means = [mean for shift in shifts if (mean := shift.mean) is not None]
    mean = add_means(means) if len(means) == len(shifts) else None
    # What checks make of a shift need not match what it does to their questions.
    mean = mean and replace(mean, middle=mean.middle + seen - mean.seen, seen=seen)
    return _estimate_flipped(units, mean)


def estimate_rest(units: Counter[Unit], shifts: Sequence[AnchorShift]) -> ChangeEstimate:
    """Estimate what is left of a change without the `shifts`.

    Its p-value is Welch's, of the rest against the anchors.
    """
    mean = estimate_rest_mean(units, shifts)
    p = 1.0 if mean is None else _compute_welch_p(mean)
    return ChangeEstimate(p, p, mean, _count_moved(units), units.total())


def estimate_rest_mean(units: Counter[Unit], shifts: Sequence[AnchorShift]) -> MeanEstimate | None:
    """Return the mean of what is left, with the errors of all shifts; None if any is unknown."""
    means = [estimate_mean(units), *(shift.mean for shift in shifts)]
    known = [mean for mean in means if mean is not None]
    # The middles of the shifts are already in the shares.
    return (
        add_means([known[0], *map(MeanEstimate.drop_middle, known[1:])])
        if len(known) == len(means)
        else None
    )


def _compute_welch_p(mean: MeanEstimate) -> float:
    if not mean.standard_error:
        return 0.0 if mean.seen else 1.0
    # With more degrees of freedom, the distribution is normal to three digits.
    return 1 - compute_student_middle(abs(mean.seen) / mean.standard_error, min(mean.freedom, 1000))


def bound_rate(units: int) -> Fraction:
    """Return the highest rate of something that happened to none of `units`: the rule of three."""
    # What happened to none of n happens to at most 3/n, with 95 % confidence.
    return min(Fraction(1), Fraction(3, units))


def compute_holm_p_values(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979), in order: for slices of one change."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = adjusted[index] = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
    return adjusted


def compute_noise_reach(deviations: Iterable[float], questions: int) -> float:
    """Return the bound below which 95 % of the changes of a mean by noise alone stay.

    `deviations` are the standard deviations of single questions' scores, of both runs, as far as
    judges contribute to them; `questions` is how many the mean is over, including those without a
    judge.
    """
    return (
        _Z * sqrt(sum(deviation**2 for deviation in deviations)) / questions if questions else 0.0
    )


def compute_wilson_interval(hits: int, total: int) -> Interval | None:
    """Return Wilson's 95 % interval of a share (Wilson 1927); None if there are no rows.

    It is sound for few rows and near 0 and 1.
    """
    if not total:
        return None
    square = _Z**2
    middle = (hits + square / 2) / (total + square)
    reach = _Z / (total + square) * sqrt(hits * (total - hits) / total + square / 4)
    # At both extremes one bound is exact, and rounding would put it slightly off.
    return (middle - reach if hits else 0.0), (middle + reach if hits < total else 1.0)
