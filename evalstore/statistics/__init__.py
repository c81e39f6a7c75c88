"""Statistics: intervals, p-values, detectable effects and claims, in floats; seeded, pure.

They say what these questions tell about other questions like them; a replay is exact on its own
questions and needs none of this. The unit is the question, or the group if questions name one:
questions in one group are answered alike, so they are not independent. Functions take how often
each unit occurs; `count_units` counts exact shares in [-1, 1] with a group (or None) for each.
"""

from evalstore.statistics.claims import (
    FEWEST_ANCHORS,
    AnchorShift,
    ChangeEstimate,
    Conclusion,
    bound_rate,
    compute_holm_p_values,
    compute_noise_reach,
    estimate_change,
    estimate_rest,
    estimate_rest_mean,
    estimate_shift,
)
from evalstore.statistics.corrected_share import CorrectedShare, Rate, correct_share
from evalstore.statistics.exact_mean import ExactMean
from evalstore.statistics.paired_mean import (
    Interval,
    MeanEstimate,
    ShareMoves,
    UnitTotals,
    count_units,
    estimate_mean,
)
from evalstore.statistics.sign_flips import (
    compute_mcnemar_p,
    compute_sign_flip_p,
    compute_sign_p,
)
from evalstore.statistics.student import find_student_quantile
from evalstore.statistics.typical_change import (
    MoveCounts,
    TypicalChange,
    count_moves,
    estimate_typical,
)
from evalstore.statistics.undeclared_groups import UndeclaredGroups

__all__ = [
    "FEWEST_ANCHORS",
    "AnchorShift",
    "ChangeEstimate",
    "Conclusion",
    "CorrectedShare",
    "ExactMean",
    "Interval",
    "MeanEstimate",
    "MoveCounts",
    "Rate",
    "ShareMoves",
    "TypicalChange",
    "UndeclaredGroups",
    "UnitTotals",
    "bound_rate",
    "compute_holm_p_values",
    "compute_mcnemar_p",
    "compute_noise_reach",
    "compute_sign_flip_p",
    "compute_sign_p",
    "correct_share",
    "count_moves",
    "count_units",
    "estimate_change",
    "estimate_mean",
    "estimate_rest",
    "estimate_rest_mean",
    "estimate_shift",
    "estimate_typical",
    "find_student_quantile",
]
