"""The statistics of this package: intervals, p-values, detectable effects and claims, in floats; seeded, pure.

They say what these questions tell about other questions like them; a replay is exact on its own questions and needs
none of this. The unit is the question, or the group where questions name one: what is asked in one group is answered
alike, so that its questions are not independent. Functions take exact shares in [-1, 1] and a group (or None) for each.
"""

from evalstore.statistics.claims import (
    ChangeEstimate,
    Conclusion,
    bound_rate,
    compute_holm_p_values,
    estimate_change,
    estimate_unit_change,
)
from evalstore.statistics.exact_mean import ExactMean
from evalstore.statistics.noise import compute_noise_reach
from evalstore.statistics.paired_mean import Interval, MeanEstimate, ShareMoves, UnitTotals, estimate_mean
from evalstore.statistics.rates import compute_wilson_interval
from evalstore.statistics.sign_flips import compute_mcnemar_p, compute_sign_flip_p, compute_unit_flip_p
from evalstore.statistics.student import find_student_quantile

__all__ = [
    "ChangeEstimate",
    "Conclusion",
    "ExactMean",
    "Interval",
    "MeanEstimate",
    "ShareMoves",
    "UnitTotals",
    "bound_rate",
    "compute_holm_p_values",
    "compute_mcnemar_p",
    "compute_noise_reach",
    "compute_sign_flip_p",
    "compute_unit_flip_p",
    "compute_wilson_interval",
    "estimate_change",
    "estimate_mean",
    "estimate_unit_change",
    "find_student_quantile",
]
