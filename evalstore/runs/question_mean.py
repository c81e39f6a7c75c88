"""The exact mean of a question over its samples, and of a run's rows; does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from evalstore.model import Verdict
from evalstore.statistics import ExactMean

_ZERO, _ONE, _HALF = Fraction(0), Fraction(1), Fraction(1, 2)
Outcome = tuple[Fraction | None, Verdict]


class QuestionMean(NamedTuple):
    """The exact mean score of a question's samples, and the share that pass.

    None without a score.
    """

    score: Fraction | None
    pass_share: Fraction | None

    @property
    def verdict(self) -> Verdict:
        """The verdict of most samples; where half of them fail, it fails."""
        if self.score is None or self.pass_share is None:
            return Verdict.UNSCORED
        return Verdict.PASS if self.pass_share > _HALF else Verdict.FAIL


def compute_question_mean(outcomes: Iterable[Outcome]) -> QuestionMean:
    """Return the mean over the samples that have a score; the others are in no mean."""
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


@dataclass(slots=True)
class RowsMean:
    """The mean of a run's questions, of its rows in any order.

    `has_samples`: a question may have several rows, which are kept until the end.
    """

    has_samples: bool
    _mean: ExactMean = field(default_factory=ExactMean)
    _outcomes: dict[str, list[Outcome]] = field(default_factory=dict)

    def add(self, question: str, outcome: Outcome) -> None:
        """Count one more output to a question."""
        if self.has_samples:
            self._outcomes.setdefault(question, []).append(outcome)
        elif outcome[0] is not None:
            self._mean.add(outcome[0])

    def compute(self) -> Fraction | None:
        """Return the mean of what was added; None where nothing has a score."""
        means = (compute_question_mean(found).score for found in self._outcomes.values())
        total = ExactMean()
        total.add_all(self._mean)
        for mean in means:
            if mean is not None:
                total.add(mean)
        return total.compute_mean()
