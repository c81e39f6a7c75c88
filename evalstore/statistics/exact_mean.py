"""An exact mean of scores; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(slots=True)
class ExactMean:
    """An exact mean.

    Scores are summed by denominator: a common one would grow with every row.
    """

    count: int = 0
    _sums: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> Fraction:
        """The sum of the scores."""
        return sum(
            (Fraction(sum_, denominator) for denominator, sum_ in self._sums.items()), Fraction(0)
        )

    def add(self, score: Fraction, times: int = 1) -> None:
        """Add one score, or the same one several times."""
        self.count += times
        numerator, denominator = score.as_integer_ratio()
        self._sums[denominator] += numerator * times

    def add_all(self, other: ExactMean) -> None:
        """Add the scores of another mean."""
        self.count += other.count
        for denominator, sum_ in other._sums.items():
            self._sums[denominator] += sum_

    def compute_mean(self) -> Fraction | None:
        """Return the mean; None if there are no scores."""
        return self.total / self.count if self.count else None
