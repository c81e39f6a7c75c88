"""What a check answers before it is turned round and held against its bar."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from evalstore.model import UnscoredReason


class RawAnswer(NamedTuple):
    """One answer of a check.

    `side`: the score is a limit, reached from below (-1) or from above (1), so that it stands for
    those beside it. `passes` is there where the verdict does not follow from the score.
    """

    score: Fraction | None
    unscored: UnscoredReason | None = None
    side: int = 0
    passes: bool | None = None


FAILED, PASSED = RawAnswer(Fraction(0)), RawAnswer(Fraction(1))
MISSING, ERROR = RawAnswer(None, UnscoredReason.MISSING), RawAnswer(None, UnscoredReason.ERROR)

# What several checks of one kind answer together to one output.
JointRawAnswers = tuple[RawAnswer, ...]
