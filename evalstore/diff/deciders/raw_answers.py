"""What a check answers before it is turned round and held against its bar, and the result that this is."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from evalstore.diff.rubric_state import CheckState
from evalstore.model import CheckResult, UnscoredReason, Verdict


class RawAnswer(NamedTuple):
    """What a check answers before it is turned round and held against its bar.

    `side`: the score is a limit, reached from below (-1) or from above (1), so that it stands for those beside it.
    `passes` is there where the verdict does not follow from the score.
    """

    score: Fraction | None
    unscored: UnscoredReason | None = None
    side: int = 0
    passes: bool | None = None


FAILED, PASSED = RawAnswer(Fraction(0)), RawAnswer(Fraction(1))
MISSING, ERROR = RawAnswer(None, UnscoredReason.MISSING), RawAnswer(None, UnscoredReason.ERROR)


def grade_answer(check: CheckState, raw: RawAnswer) -> CheckResult:
    """Return the result of a check with this raw answer: turned round where it is negated, held to its bar."""
    if raw.score is None:
        return CheckResult(check.token, check.kind, None, Verdict.UNSCORED, unscored=raw.unscored)
    score, side = (1 - raw.score, -raw.side) if check.negate else (raw.score, raw.side)
    passes = raw.passes if check.bar is None else (score, side) >= (check.bar, 0)
    return CheckResult(check.token, check.kind, score, Verdict.PASS if passes else Verdict.FAIL)
