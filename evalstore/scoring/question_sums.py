"""Sums a run over its questions, each by the mean of its samples, in a few bytes a question; reads no file."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from evalstore.identity_cache import IdentityCache
from evalstore.model import Verdict
from evalstore.runs.samples import Outcome, compute_question_mean
from evalstore.statistics import ExactMean


class QuestionTotals(NamedTuple):
    """The exact means over questions; `unscored` counts those of which no sample has a score."""

    scores: ExactMean
    passes: ExactMean
    unscored: int


@dataclass(slots=True)
class QuestionSums:
    """The outcomes of the questions so far, each counted by its number: runs have few different ones."""

    size: int
    # By position of the question the number of its first outcome, from 1; 0 for none.
    _first: array[int] = field(init=False)
    _numbers: IdentityCache[int] = field(init=False)
    _known: dict[Outcome, int] = field(default_factory=dict)
    _outcomes: list[Outcome] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)  # of questions with each outcome alone
    _several: dict[int, list[Outcome]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._first = array("I", bytes(array("I").itemsize * self.size))
        # Scores are known by their identity first, for exact fractions hash slowly.
        self._numbers = IdentityCache(self._number_outcome)

    def add(self, number: int, outcome: Outcome) -> None:
        """Add the outcome of one sample of the question at position `number`."""
        before = self._first[number]
        if not before:
            self._first[number] = position = self._numbers.find(*outcome)
            self._counts[position - 1] += 1
            return
        if number not in self._several:
            self._several[number] = [self._outcomes[before - 1]]
            self._counts[before - 1] -= 1
        self._several[number].append(outcome)

    def compute_totals(self) -> QuestionTotals:
        """Return the sums over the questions, each by the mean of its samples."""
        means = [(compute_question_mean([one]), count) for one, count in zip(self._outcomes, self._counts, strict=True)]
        means += [(compute_question_mean(samples), 1) for samples in self._several.values()]
        scores, passes, unscored = ExactMean(), ExactMean(), 0
        for mean, count in means:
            if mean.score is None or mean.pass_share is None:
                unscored += count
            elif count:
                scores.add(mean.score, count)
                passes.add(mean.pass_share, count)
        return QuestionTotals(scores, passes, unscored)

    def _number_outcome(self, score: Fraction | None, verdict: Verdict) -> int:
        if (number := self._known.get((score, verdict))) is None:
            self._outcomes.append((score, verdict))
            self._counts.append(0)
            number = self._known[score, verdict] = len(self._outcomes)
        return number
