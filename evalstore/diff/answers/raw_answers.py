"""What a check answers before `negate` and the threshold apply."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from evalstore.model import UnscoredReason


class RawAnswer(NamedTuple):
    """One answer of a check.

    With `side` -1 or 1, the answer means scores just below or just above `score`. `passes` is set
    only if the verdict does not follow from the score.
    """

    score: Fraction | None
    unscored: UnscoredReason | None = None
    side: int = 0
    passes: bool | None = None


FAILED, PASSED = RawAnswer(Fraction(0)), RawAnswer(Fraction(1))
MISSING, ERROR = RawAnswer(None, UnscoredReason.MISSING), RawAnswer(None, UnscoredReason.ERROR)

# What several checks of one kind answer together to one output.
JointRawAnswers = tuple[RawAnswer, ...]
