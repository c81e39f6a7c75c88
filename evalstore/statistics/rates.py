"""Intervals of rates: how often something happens among counted rows; pure."""

from __future__ import annotations

from math import sqrt

from evalstore.statistics.paired_mean import Interval

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
