"""The exact mean of a question over its samples; does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from evalstore.model import Verdict

_ZERO, _ONE, _HALF = Fraction(0), Fraction(1), Fraction(1, 2)
Outcome = tuple[Fraction | None, Verdict]


class QuestionMean(NamedTuple):
    """The exact mean score of a question's samples, and the share that pass.

    Both are None if no sample has a score.
    """

    score: Fraction | None
    pass_share: Fraction | None

    @property
    def verdict(self) -> Verdict:
        """The verdict of most samples; if half of them fail, the question fails."""
        if self.score is None or self.pass_share is None:
            return Verdict.UNSCORED
        return Verdict.PASS if self.pass_share > _HALF else Verdict.FAIL


def compute_question_mean(outcomes: Iterable[Outcome]) -> QuestionMean:
    """Return the mean over the samples that have a score."""
    scored = [(score, verdict) for score, verdict in outcomes if score is not None]
    if not scored:
        return QuestionMean(None, None)
    if len(scored) == 1:
        return QuestionMean(scored[0][0], _ONE if scored[0][1] is Verdict.PASS else _ZERO)
    passed = sum(verdict is Verdict.PASS for _, verdict in scored)
    return QuestionMean(
        sum((score for score, _ in scored), Fraction(0)) / len(scored),
        Fraction(passed, len(scored)),
    )
