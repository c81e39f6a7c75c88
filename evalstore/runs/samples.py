"""Averages the samples of one question: several outputs to it, which count as one; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from evalstore.model import CheckResult, UnscoredReason, Verdict
from evalstore.runs.values import GradedRow

_ZERO, _ONE = Fraction(0), Fraction(1)
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
    if len(scored) == 1:
        return QuestionMean(scored[0][0], _ONE if scored[0][1] is Verdict.PASS else _ZERO)
    passed = sum(verdict is Verdict.PASS for _, verdict in scored)
    return QuestionMean(sum((score for score, _ in scored), Fraction(0)) / len(scored), Fraction(passed, len(scored)))


def merge_samples(rows: Sequence[GradedRow]) -> GradedRow:
    """Return one row for all samples of a question, in the order of their numbers; a single one stays as it is."""
    if len(rows) == 1:
        return rows[0]
    samples = tuple(sorted(rows, key=lambda row: row.sample))
    score, pass_share = compute_question_mean((row.score, row.verdict) for row in samples)
    verdict = Verdict.UNSCORED if score is None else Verdict.PASS if pass_share == 1 else Verdict.FAIL
    return replace(
        samples[0], score=score, verdict=verdict, checks=tuple(_merge_checks(samples)), sample=0, samples=samples
    )


def _merge_checks(samples: Sequence[GradedRow]) -> Iterable[CheckResult]:
    found: dict[str, CheckResult] = {}
    for check in (check for row in samples for check in row.checks):
        if check.id not in found or check.unscored is UnscoredReason.ERROR:
            found[check.id] = check
    return found.values()
