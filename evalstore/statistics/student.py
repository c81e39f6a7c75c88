"""Student's t distribution: its quantiles and its central probability; pure."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt, tan
from statistics import NormalDist

# Above this, the expansion below is right to 14 digits, and the finite sum would have more terms
# than it is worth.
_EXPANSION_FROM = 1000


@lru_cache(maxsize=1024)
def find_student_quantile(probability: float, freedom: int) -> float:
    """Return the t below which `probability` is, for `freedom` degrees of freedom.

    The probability is from 0.5 up to 1, the freedom 1 or more.
    """
    if freedom > _EXPANSION_FROM:
        return _expand_quantile(NormalDist().inv_cdf(probability), freedom)
    low, high = 0.0, pi / 2
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if _compute_middle(middle, freedom) < 2 * probability - 1
            else (low, middle)
        )
    return sqrt(freedom) * tan((low + high) / 2)


def compute_student_middle(t: float, freedom: int) -> float:
    """Return the probability between -t and t."""
    return _compute_middle(atan(t / sqrt(freedom)), freedom)


def _compute_middle(angle: float, freedom: int) -> float:
    # The finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4, for odd and even degrees of
    # freedom.
    odd = freedom % 2
    total, term = 0.0, cos(angle) if odd else 1.0
    for number in range(1 + odd, freedom, 2):
        total += term
        term *= cos(angle) ** 2 * number / (number + 1)
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total


def _expand_quantile(z: float, freedom: int) -> float:
    """Return the quantile from the normal one (Abramowitz and Stegun, 26.7.5)."""
    return (
        z
        + (z**3 + z) / 4 / freedom
        + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160 / freedom**4
    )
