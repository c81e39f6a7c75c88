"""The noise of judges in a change: how far two scorings of the same outputs lie apart by chance; pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

_Z = 1.959963984540054  # the quantile of a normal distribution with 2.5 % above it


def compute_noise_reach(deviations: Iterable[float], questions: int) -> float:
    """Return what 95 % of the changes of a mean by noise alone stay below.

    `deviations` are the standard deviations of single questions' scores, of both runs, as far as judges have a part in
    them; `questions` is how many the mean is of, those without a judge included.
    """
    return _Z * sqrt(sum(deviation**2 for deviation in deviations)) / questions if questions else 0.0
