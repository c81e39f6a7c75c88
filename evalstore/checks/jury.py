"""How the scores of several judges become one: a pure function over exact fractions, one row for each way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Vote:
    """What one member says, and what its word weighs."""

    score: Fraction
    weight: Fraction


def mean(scores: Sequence[Fraction]) -> Fraction:
    """Return the plain mean of at least one score."""
    return sum(scores, _ZERO) / len(scores)


def _mean(votes: Sequence[Vote], _: Fraction) -> Fraction:
    return sum((vote.weight * vote.score for vote in votes), _ZERO) / _total(votes)


def _median(votes: Sequence[Vote], _: Fraction) -> Fraction:
    scores = sorted(vote.score for vote in votes)
    return (scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2


def _min(votes: Sequence[Vote], _: Fraction) -> Fraction:
    return min(vote.score for vote in votes)


def _max(votes: Sequence[Vote], _: Fraction) -> Fraction:
    return max(vote.score for vote in votes)


def _majority(votes: Sequence[Vote], bar: Fraction) -> Fraction:
    passing = sum((vote.weight for vote in votes if vote.score >= bar), _ZERO)
    return Fraction(int(passing * 2 > _total(votes)))


def _total(votes: Sequence[Vote]) -> Fraction:
    return sum((vote.weight for vote in votes), _ZERO)


# Of at least one vote and the check's threshold; those of `WEIGHED` need a total weight above 0.
AGGREGATES: Mapping[str, Callable[[Sequence[Vote], Fraction], Fraction]] = {
    "mean": _mean,
    "median": _median,
    "min": _min,
    "max": _max,
    "majority": _majority,
}
WEIGHED = frozenset({"mean", "majority"})
