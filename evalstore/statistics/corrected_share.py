"""The share that people would pass, from a judge's share and its error rates; pure.

The estimate is that of Rogan and Gladen (1978). The interval is Fieller's (1954): every share that
neither the outputs nor the labelled rows rule out. It includes the errors of both, and if the
labels show little it is wide, up to all of 0 to 1. It uses the rates of Agresti and Coull (1998),
so that a judge without an error so far is not taken as infallible.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

from evalstore.statistics.claims import compute_wilson_interval
from evalstore.statistics.paired_mean import Interval, Unit, estimate_mean
from evalstore.statistics.student import find_student_quantile

_SURE = 0.975


class Rate(NamedTuple):
    """A count of hits among `of` rows."""

    hits: int
    of: int

    @property
    def value(self) -> Fraction | None:
        """The share of hits; None if there are no rows."""
        return Fraction(self.hits, self.of) if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the share; None if there are no rows."""
        return compute_wilson_interval(self.hits, self.of)


class _Estimate(NamedTuple):
    """A share with its variance."""

    share: float
    variance: float


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """A share according to a judge, and without the judge's errors, with its 95 % interval."""

    judged: float
    share: float
    interval: Interval


def correct_share(units: Counter[Unit], good: Rate, bad: Rate) -> CorrectedShare | None:
    """Return the share of passes without the errors of the judge that gave them.

    `units` are the sums of passes, one per question or group; the judge passes the hits among the
    `good` rows, which people pass, and fails the hits among the `bad` ones. None if the judge is no
    better than a constant answer, or there are too few units.
    """
    mean = estimate_mean(units)
    # Youden's J, in products of counts.
    strength = good.hits * bad.of + bad.hits * good.of - good.of * bad.of
    if mean is None or not good.of or not bad.of or strength <= 0:
        return None
    outputs = sum(count * times for (_, count), times in units.items())
    judged = float(sum(total * times for (total, _), times in units.items()) / outputs)
    # Several answers to one question count less than as many questions, and those that vary little
    # count more.
    error = mean.standard_error
    size = min(float(outputs), judged * (1 - judged) / error**2) if error else float(units.total())
    quantile = find_student_quantile(_SURE, mean.freedom)
    share = (judged * good.of * bad.of + bad.hits * good.of - good.of * bad.of) / strength
    share = min(1.0, max(0.0, share))
    low, high = _solve_fieller(
        _smooth(judged * size, size, quantile**2),
        _smooth(good.hits, good.of, 2),
        _smooth(bad.hits, bad.of, 2),
        quantile,
    )
    return CorrectedShare(judged, share, (min(low, share), max(high, share)))


def _smooth(hits: float, of: float, added: float) -> _Estimate:
    """Return a rate with `added` extra observations, half of them hits."""
    share = (hits + added / 2) / (of + added)
    return _Estimate(share, share * (1 - share) / (of + added))


def _solve_fieller(passed: _Estimate, tpr: _Estimate, tnr: _Estimate, quantile: float) -> Interval:
    """Return the shares s from 0 to 1 at which `passed` is near enough to s TPR + (1-s) (1-TNR)."""
    strength, over = tpr.share + tnr.share - 1, passed.share + tnr.share - 1
    square = quantile**2
    # (over - s strength)² <= square (var passed + s² var TPR + (1 - s)² var TNR),
    # which is a s² + 2 b s + c <= 0.
    a = strength**2 - square * (tpr.variance + tnr.variance)
    b = square * tnr.variance - over * strength
    c = over**2 - square * (passed.variance + tnr.variance)
    root = b * b - a * c
    if a <= 0 or root < 0:
        return 0.0, 1.0
    return max(0.0, (-b - sqrt(root)) / a), min(1.0, (-b + sqrt(root)) / a)
