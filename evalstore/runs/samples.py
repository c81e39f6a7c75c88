"""Averages the samples of one question: several outputs to it, which count as one; pure."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from evalstore.model import Verdict

Outcome = tuple[Fraction | None, Verdict]


class QuestionMean(NamedTuple):
    """The exact mean score of a question's samples, and the share of them that pass; None where none has a score."""

    score: Fraction | None
    pass_share: Fraction | None


def compute_question_mean(outcomes: Iterable[Outcome]) -> QuestionMean:
    """Return the mean over the samples that have a score; the others are in no mean."""
    scored = [(score, verdict) for score, verdict in outcomes if score is not None]
    if not scored:
        return QuestionMean(None, None)
    passed = sum(verdict is Verdict.PASS for _, verdict in scored)
    return QuestionMean(sum((score for score, _ in scored), Fraction(0)) / len(scored), Fraction(passed, len(scored)))
