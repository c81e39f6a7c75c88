"""Collects what two runs say about the service behind their judges; pure.

That is who answered, and what it answered to equal prompts. If both runs asked the same about the
same output (an anchor), the difference between the two results is due to the service. Other
questions borrow the mean of their anchors: those of the same check that the same two models
answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import ceil, sqrt
from statistics import fmean, pvariance

from evalstore.audits.values import ServiceAssumption
from evalstore.model import CheckResult
from evalstore.model.outcome import APPROXIMATE
from evalstore.statistics import FEWEST_ANCHORS

_OWN_ENGINE = "evalstore"


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """The results of one judged check in both runs; `is_anchor` if prompts were equal.

    `is_alike` says that its judges were the same in both, `asks_alike` that these asked for models
    of the same names. `has_edits`: edits inside a composite can move its score as well, so only its
    replies are evidence about the service.
    """

    check: tuple[str, ...]
    old: CheckResult
    new: CheckResult
    is_alike: bool
    asks_alike: bool
    is_anchor: bool
    has_edits: bool

    @property
    def key(self) -> tuple[object, ...]:
        """The check, and the two models that answered."""
        return self.check, self.old.engine, self.new.engine

    @property
    def has_moved(self) -> bool:
        """Whether the same prompt got two replies."""
        has_other_score = self.old.score != self.new.score and not self.has_edits
        return self.is_anchor and (self.old.replies != self.new.replies or has_other_score)


@dataclass(slots=True)
class AnchorSum:
    """The anchors of one check and two models: number, sum of shifts, and whether any moved."""

    count: int = 0
    shift: Fraction = field(default_factory=Fraction)
    has_moved: bool = False


@dataclass(slots=True)
class JudgeEvidence:
    """The evidence over all common questions.

    `scores` are old scores of questions with and without an anchor. `assumed` are the results for
    which the service is assumed to be the same, by check: how many, and their judge calls in run A.
    """

    anchors: dict[tuple[object, ...], AnchorSum] = field(default_factory=dict)
    scores: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    assumed: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    def add_question(self, pairs: Mapping[str, JudgedPair], score: Fraction) -> None:
        """Add one question: its judged checks by name, and its score in run A."""
        for pair in pairs.values():
            if pair.is_anchor and pair.old.score is not None and pair.new.score is not None:
                total = self.anchors.setdefault(pair.key, AnchorSum())
                total.count += 1
                total.shift += pair.new.score - pair.old.score
                total.has_moved |= pair.has_moved
        if pairs:
            self.scores[not any(pair.is_anchor for pair in pairs.values())].append(float(score))

    def has_moved(self, pair: JudgedPair) -> bool:
        """Whether another service answered in run B."""
        if pair.is_anchor:
            return pair.has_moved
        if not pair.is_alike:
            return pair.asks_alike and self._is_other_service(pair)
        anchors = self.anchors.get(pair.key)
        if pair.old.engine == pair.new.engine:
            if anchors is None:
                self._assume_equal(pair)
            return anchors is not None and anchors.has_moved
        return True

    def _is_other_service(self, pair: JudgedPair) -> bool:
        """Whether another service answered for the same model.

        Each run asked it something else.
        """
        served = [{*list_served_models(result)} for result in (pair.old, pair.new)]
        if not all(served) or served[0] != served[1]:
            return all(served)
        # Checks that did not change show what the same two models answered to equal prompts.
        known = [anchors for key, anchors in self.anchors.items() if key[1:] == pair.key[1:]]
        if not known:
            self._assume_equal(pair)
        return any(anchors.has_moved for anchors in known)

    def _assume_equal(self, pair: JudgedPair) -> None:
        found = self.assumed.setdefault(pair.key, [0, 0])
        found[0] += 1
        found[1] += max(1, len(pair.old.reply_digests))

    def read_assumption(self) -> ServiceAssumption | None:
        """Return what is assumed about the service, and what knowing it would cost.

        Returns None if nothing is.
        """
        if not self.assumed:
            return None
        engines = chain.from_iterable(str(key[1]).split(", ") for key in self.assumed)
        calls = sum(ceil(_price_anchors(*counts)) for counts in self.assumed.values())
        served = dict.fromkeys(name for name in engines if name and name != _OWN_ENGINE)
        return ServiceAssumption(tuple(served), calls)

    def list_anchor_keys(self, pairs: Mapping[str, JudgedPair]) -> Iterator[tuple[object, ...]]:
        """Yield the checks and models for which a question is an anchor.

        It yields only those whose service may have moved.
        """
        for pair in pairs.values():
            anchors = self.anchors.get(pair.key)
            if (
                pair.is_anchor
                and anchors
                and (pair.old.engine != pair.new.engine or anchors.has_moved)
            ):
                yield pair.key

    def find_shift(self, pair: JudgedPair) -> Fraction | None:
        """Return how far the service moves the score of a check, by its anchors.

        None without any.
        """
        anchors = self.anchors.get(pair.key)
        return anchors.shift / anchors.count if anchors else None

    def count_anchors(self, pair: JudgedPair) -> int:
        """Return how many anchors there are for a check that these two models answered."""
        anchors = self.anchors.get(pair.key)
        return anchors.count if anchors else 0

    def list_notes(self) -> Iterator[str]:
        """Yield what the evidence rests on."""
        moved = [anchors for anchors in self.anchors.values() if anchors.has_moved]
        if moved and (difference := self.compare_anchors()) is not None:
            yield (
                f"in A, the questions that the estimate rests on scored {difference:+.2f} "
                "standard deviations from the others; it holds for these as far as the service "
                "treats both alike"
            )

    def compare_anchors(self) -> float | None:
        """Return the standardised difference of the old scores with and without anchors.

        It is between the questions with anchors and the others.
        """
        anchored, others = self.scores
        if not anchored or not others:
            return None
        spread = sqrt((pvariance(anchored) + pvariance(others)) / 2)
        return (fmean(anchored) - fmean(others)) / spread if spread else 0.0


def _price_anchors(results: int, calls: int) -> Fraction:
    """Return the calls needed for enough anchors to tell.

    `results` of a check cost `calls`.
    """
    return Fraction(calls * min(FEWEST_ANCHORS, results), results)


def list_served_models(result: CheckResult) -> Iterator[str]:
    """Yield the models that answered a check, as they name themselves."""
    return (name for name in result.engine.split(", ") if name != _OWN_ENGINE)


def has_other_engines(old: Iterable[str], new: Iterable[str]) -> bool:
    """Whether two runs name different engines.

    What needs no engine is graded by evalstore itself, which either run may name.
    """
    known = [
        {name for text in side for name in text.split(", ")} - {_OWN_ENGINE} for side in (old, new)
    ]
    is_close = any(name.endswith(APPROXIMATE) for name in known[0] ^ known[1])
    return known[0] != known[1] and (all(known) or is_close)
