"""Joins the scores of several judges, each with its weight, to a single score; exact, pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalstore.checks.context import find_median

_ZERO = Fraction(0)
WEIGHTED_AGGREGATES = frozenset({"mean", "majority"})


@dataclass(frozen=True, slots=True)
class JudgeVote:
    """The score that one judge gives, and the weight of that judge."""

    score: Fraction
    weight: Fraction


def compute_mean_score(scores: Sequence[Fraction]) -> Fraction:
    """Return the plain mean of at least one score."""
    return sum(scores, _ZERO) / len(scores)


def _average_by_weight(votes: Sequence[JudgeVote], _: Fraction) -> Fraction:
    return sum((vote.weight * vote.score for vote in votes), _ZERO) / _sum_weights(votes)


def _ask_majority(votes: Sequence[JudgeVote], threshold: Fraction) -> Fraction:
    passing = sum((vote.weight for vote in votes if vote.score >= threshold), _ZERO)
    return Fraction(int(passing * 2 > _sum_weights(votes)))


def _sum_weights(votes: Sequence[JudgeVote]) -> Fraction:
    return sum((vote.weight for vote in votes), _ZERO)


# For at least one vote and the check's threshold; those in `WEIGHTED_AGGREGATES` need a total
# weight above 0.
AGGREGATES: Mapping[str, Callable[[Sequence[JudgeVote], Fraction], Fraction]] = {
    "mean": _average_by_weight,
    "median": lambda votes, _: find_median([vote.score for vote in votes]),
    "min": lambda votes, _: min(vote.score for vote in votes),
    "max": lambda votes, _: max(vote.score for vote in votes),
    "majority": _ask_majority,
}
