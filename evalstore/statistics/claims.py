"""What may be concluded from the shares of a change: claims, intervals of rates, and the sign-flip test; pure.

All p-values are mid-p: an outcome as far as the one seen counts half. The sign-flip test says how often chance alone
moves a mean so far, where each move could as well be the other way. Where all moves are of one size, as with verdicts,
it is McNemar's, and exact for any number of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import comb, exp, fsum, lcm, lgamma, log, log1p, pi, sqrt
from operator import mul

from evalstore.statistics.paired_mean import (
    Interval,
    MeanEstimate,
    Unit,
    add_means,
    compute_student_middle,
    estimate_mean,
)

EXACT_MOVES = 12
EXACT_FLIPS = 1000
SAMPLED_FLIPS = 4000
_DRAWN_SIZES = 200  # the sum of all smaller moves is drawn as one, from the normal distribution that it has
_SERIES_FROM = 16


def compute_sign_flip_p(units: Counter[Unit]) -> float:
    """Return the two-sided mid-p of the mean from how often each unit comes; a group flips as one."""
    moves: Counter[Fraction] = Counter()
    for (total, _), times in units.items():
        moves[total] += times if total else 0
    moves = +moves
    sizes: Counter[float] = Counter()
    for move, times in moves.items():
        sizes[abs(float(move))] += times
    if len(sizes) <= 1:
        up = sum(times for move, times in moves.items() if move > 0)
        return compute_mcnemar_p(up, moves.total() - up)
    if moves.total() <= EXACT_MOVES:
        return _count_all_flips([*moves.elements()])
    return _sample_flips(sizes, abs(fsum(float(move) * times for move, times in moves.items())))


def compute_mcnemar_p(one: int, other: int) -> float:
    """Return McNemar's mid-p of two counts of flips (Fagerland 2013): how often chance splits them as unevenly."""
    flips, fewer = one + other, min(one, other)
    if not flips:
        return 1.0
    if flips > EXACT_FLIPS:
        term = _compute_binomial_term(flips, fewer)
        # An even split is the most likely of all, and the only one that is not there twice.
        return 1 - term / 2 if one == other else term + 2 * _sum_below(flips, fewer, term)
    term, whole = comb(flips, fewer), 2**flips
    below = sum(comb(flips, count) for count in range(fewer))
    return float(Fraction(2 * whole - term, 2 * whole) if one == other else Fraction(term + 2 * below, whole))


def _count_all_flips(moves: Sequence[Fraction]) -> float:
    scale = lcm(*(move.denominator for move in moves))
    whole = [int(move * scale) for move in moves]
    sums = [0]
    for move in whole:
        sums = [total + sign * move for total in sums for sign in (1, -1)]
    seen = abs(sum(whole))
    return sum(1.0 if abs(total) > seen else 0.5 for total in sums if abs(total) >= seen) / len(sums)


def _sample_flips(sizes: Mapping[float, int], seen: float) -> float:
    chance = random.Random(20_261_109)  # noqa: S311  # repeatable on purpose
    ranked = sorted(sizes.items(), reverse=True)
    drawn = [size for size, _ in ranked[:_DRAWN_SIZES]]
    counts = [count for _, count in ranked[:_DRAWN_SIZES]]
    reach = sum(map(mul, drawn, counts))
    spread = sqrt(sum(size * size * count for size, count in ranked[_DRAWN_SIZES:]))
    # The flip that was seen is one of all, so that no p-value is 0.
    hits, tie = 0.5, 1e-12 * max(1.0, seen)  # below it two sums of floats are the same
    for _ in range(SAMPLED_FLIPS):
        # As many moves of each size as bits are set go up, the others down.
        ups = map(int.bit_count, map(chance.getrandbits, counts))
        total = 2 * sum(map(mul, drawn, ups)) - reach
        distance = abs(total + (chance.gauss(0, spread) if spread else 0.0)) - seen
        hits += 1.0 if distance > tie else 0.5 if distance >= -tie else 0.0
    return hits / (SAMPLED_FLIPS + 1)


def _sum_below(flips: int, fewer: int, term: float) -> float:
    """Return the sum of all terms below `term` by recurrence: each from the one above it, until they count no more."""
    total = 0.0
    for count in range(fewer, 0, -1):
        term *= count / (flips - count + 1)
        total += term
        if term <= total * 1e-18:
            break
    return total


def _compute_binomial_term(flips: int, count: int) -> float:
    """Return the probability of `count` of `flips` at one half, to 12 digits (Loader 2000).

    A difference of three values of `lgamma` would lose seven of its digits at 100,000 flips.
    """
    rest = flips - count
    if not count:
        return exp(-flips * log(2))
    lean = (count - rest) / flips
    distance = count * log1p(lean) + rest * log1p(-lean)
    errors = _compute_stirling_error(flips) - _compute_stirling_error(count) - _compute_stirling_error(rest)
    return sqrt(flips / (2 * pi * count * rest)) * exp(errors - distance)


def _compute_stirling_error(number: int) -> float:
    """Return the logarithm of the factorial, less that of Stirling's formula."""
    if number < _SERIES_FROM:
        return lgamma(number + 1) - (number + 0.5) * log(number) + number - 0.5 * log(2 * pi)
    square = 1 / number**2
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / number


LEVEL = 0.05
FEWEST_MOVES = 5  # of fewer, no split is rare enough: four that all fall have a mid-p of .0625
FEWEST_ANCHORS = 5  # of fewer, one more would move their mean by as much as what is estimated from it
MISSED_LEVEL = 0.10  # how often a skewed population without an effect may be claimed to have one
# An effect whose interval lies within one point is called a null.
NULL_MARGIN = 0.01


class Conclusion(StrEnum):
    """What may be concluded."""

    MOVED_NONE = "moved none"
    SIGNIFICANT = "significant"
    BOUNDED_NULL = "bounded null"
    NOT_RESOLVABLE = "not resolvable"
    # Of the part of an estimate that is told apart from the other one, and may itself be nothing.
    BOUNDED = "bounded"


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
        """Whether the interval has 0 outside: the test of sign flips alone is one of symmetry, not of the mean.

        Moves of 1 the other way, rare enough to be missed by all units, could also give such a mean of what is nothing.
        Of those so rare, a tenth of all such samples or more would miss them: then nothing is claimed.
        """
        if self.mean is None:
            return False
        low, high = self.mean.interval
        # Moves of m with a chance of 1 - p and of -1 with p have a mean of 0 where 1 - p is 1 / (1 + m).
        is_missed = log1p(abs(self.mean.seen)) * self.units < -log(MISSED_LEVEL)
        return (low > 0 or high < 0) and not is_missed


def estimate_change(units: Counter[Unit]) -> ChangeEstimate:
    """Estimate a change from how often each unit comes, a question or a group of them."""
    return _conclude(units, compute_sign_flip_p(units), estimate_mean(units))


def _conclude(units: Counter[Unit], p: float, mean: MeanEstimate | None) -> ChangeEstimate:
    return ChangeEstimate(p, mean, sum(times for (total, _), times in units.items() if total), units.total())


@dataclass(frozen=True, slots=True)
class AnchorShift:
    """What the anchors of some questions say of these: the shift by unit, and which part of all questions has it."""

    units: Counter[Unit]
    part: float

    @property
    def mean(self) -> MeanEstimate | None:
        """The estimate of what it adds to the mean of all questions; None of too few anchors."""
        found = estimate_mean(self.units) if self.units.total() >= FEWEST_ANCHORS else None
        return found and found.scale(self.part)


def estimate_shift(shifts: Sequence[AnchorShift], seen: float) -> ChangeEstimate:
    """Estimate a change that only anchors show, each shift for its part of the questions; together it is `seen`."""
    units = sum((shift.units for shift in shifts), Counter[Unit]())
    means = [mean for shift in shifts if (mean := shift.mean) is not None]
    mean = add_means(means) if len(means) == len(shifts) else None
    # What checks make of a shift need not be what it makes of their questions.
    mean = mean and replace(mean, middle=mean.middle + seen - mean.seen, seen=seen)
    return _conclude(units, compute_sign_flip_p(units), mean)


def estimate_rest(units: Counter[Unit], shifts: Sequence[AnchorShift]) -> ChangeEstimate:
    """Estimate what is left of a change after the `shifts` were taken off; its p-value is Welch's, rest to anchors."""
    mean = estimate_rest_mean(units, shifts)
    return _conclude(units, 1.0 if mean is None else _compute_welch_p(mean), mean)


def estimate_rest_mean(units: Counter[Unit], shifts: Sequence[AnchorShift]) -> MeanEstimate | None:
    """Return the mean of what is left, which carries the errors of all shifts as well; None where one is unknown."""
    means = [estimate_mean(units), *(shift.mean for shift in shifts)]
    known = [mean for mean in means if mean is not None]
    # The middles of the shifts are in the shares already.
    return add_means([known[0], *map(MeanEstimate.drop_middle, known[1:])]) if len(known) == len(means) else None


def _compute_welch_p(mean: MeanEstimate) -> float:
    if not mean.standard_error:
        return 0.0 if mean.seen else 1.0
    # Above so many degrees of freedom, the distribution is the normal one to three digits.
    return 1 - compute_student_middle(abs(mean.seen) / mean.standard_error, min(mean.freedom, 1000))


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
