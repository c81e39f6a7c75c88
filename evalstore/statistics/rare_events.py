"""The highest rate of a rare event: the exact bound of Clopper and Pearson (1934); pure."""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p

_MISSED = 0.025  # the share of samples that have no more of the events, at the bound
_STEPS = 60  # to halve the bound's bracket, down to the last digit of a float
_NOTHING = 1e-17  # a term that is this small a part of the sum no longer counts


@lru_cache(maxsize=1024)
def bound_rare_rate(hits: int, total: int) -> float:
    """Return the rate at which 2.5 % of samples of `total` have at most `hits`.

    It is 1 if all are hits.
    """
    low, high = hits / total, 1.0
    for _ in range(_STEPS if hits < total else 0):
        middle = (low + high) / 2
        if _compute_tail(hits, total, middle) > _MISSED:
            low = middle
        else:
            high = middle
    return high


def _compute_tail(hits: int, total: int, rate: float) -> float:
    """Return the probability of at most `hits`, from the likeliest term down."""
    if rate >= 1:
        return 0.0
    ways = lgamma(total + 1) - lgamma(hits + 1) - lgamma(total - hits + 1)
    term = exp(ways + hits * log(rate) + (total - hits) * log1p(-rate)) if rate else 1.0
    found = term
    for count in range(hits, 0, -1):
        term *= count * (1 - rate) / ((total - count + 1) * rate)
        found += term
        if term <= found * _NOTHING:
            break
    return found
