"""Sums a run over its questions, each by the mean of its samples, in a few bytes a question; reads no file."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from evalstore.runs.samples import Outcome, QuestionMean, compute_question_mean
from evalstore.statistics import ExactMean


@dataclass(slots=True)
class QuestionSums:
    """The sums over questions so far; `unscored` counts those of which no sample has a score."""

    size: int
    scores: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)
    unscored: int = 0
    # By position of the question the number of its first outcome, 0 for none: runs have few different ones.
    _first: array[int] = field(init=False)
    _numbers: dict[Outcome, int] = field(default_factory=dict)
    _outcomes: list[Outcome] = field(default_factory=list)
    _means: list[QuestionMean] = field(default_factory=list)  # of each outcome alone
    _several: dict[int, list[Outcome]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._first = array("I", bytes(array("I").itemsize * self.size))

    def add(self, number: int, outcome: Outcome) -> None:
        """Add the outcome of one sample of the question at position `number`."""
        before = self._first[number]
        if not before:
            self._first[number] = position = self._number_outcome(outcome)
            self._count(self._means[position - 1])
            return
        if number not in self._several:
            self._several[number] = [self._outcomes[before - 1]]
        known = self._several[number]
        self._discount(compute_question_mean(known))
        known.append(outcome)
        self._count(compute_question_mean(known))

    def _number_outcome(self, outcome: Outcome) -> int:
        if outcome not in self._numbers:
            self._outcomes.append(outcome)
            self._means.append(compute_question_mean([outcome]))
            self._numbers[outcome] = len(self._outcomes)
        return self._numbers[outcome]

    def _count(self, mean: QuestionMean) -> None:
        if mean.score is None or mean.pass_share is None:
            self.unscored += 1
            return
        self.scores.add(mean.score)
        self.passes.add(mean.pass_share)

    def _discount(self, mean: QuestionMean) -> None:
        if mean.score is None or mean.pass_share is None:
            self.unscored -= 1
            return
        self.scores.remove(mean.score)
        self.passes.remove(mean.pass_share)
