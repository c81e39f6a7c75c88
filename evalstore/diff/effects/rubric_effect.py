"""Works out what an edit does, given all that the checks before and after it can answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from typing import NamedTuple

from evalstore.diff.answers.joint import JointAnswer, JointAnswers
from evalstore.diff.answers.raw_answers import RawAnswer
from evalstore.diff.change import AnswerGoal, RubricEffect
from evalstore.diff.direction import (
    EITHER,
    LOOSER,
    NONE,
    STRICTER,
    VERDICT_MODES,
    bound_direction,
    join_directions,
)
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import EFFECTS
from evalstore.diff.rubric_state import RubricState
from evalstore.model import CheckResult, Scoring, UnscoredReason, Verdict

_ZERO = Fraction(0)
# The distance from a threshold for a judge's score that is just below or above it.
_BESIDE = Fraction(1, 1000)
_ERROR = UnscoredReason.ERROR
_WHOLE = (Fraction(0), Fraction(1))
_STAYS = (_ZERO, _ZERO)
_PASSED = {Verdict.FAIL: 0, Verdict.PASS: 1}


class _Outcome(NamedTuple):
    score: Fraction | None
    verdict: Verdict


# The `id()` of the outcome before and after, because hashing exact fractions is slow.
_PairKey = tuple[int, int]


def find_effect(answers: JointAnswers) -> RubricEffect:
    """Return what an edit does, given all that the checks before and after it can answer."""
    before, after = map(_Combiner, answers.states)
    pairs: dict[_PairKey, tuple[_Outcome, _Outcome]] = {}
    scored, texts = set[_PairKey](), dict[str, set[_PairKey]]()
    for answer in answers.list_distinct():
        old, new = before.combine(answer.old), after.combine(answer.new)
        key = id(old), id(new)
        pairs[key] = old, new
        if answer.text is None:
            continue  # a check errs, and no known text shows that
        reasons = {raw.unscored for raw in answer.free.values()}
        if reasons <= {None}:
            scored.add(key)
        # A check of calls with nothing to grade can be shown: by a text without recorded calls.
        if _ERROR not in reasons:
            texts.setdefault(answer.text, set()).add(key)

    @cache
    def measure(keys: frozenset[_PairKey]) -> _Extent:
        extent = _Extent()
        for key in keys:
            extent.add(*pairs[key])
        return extent

    extent = measure(frozenset(pairs))
    by_text = {text: measure(frozenset(keys)) for text, keys in texts.items()}
    scores, verdicts = extent.directions
    by_score = [not state.needs_all for state in answers.states]
    if answers.continuous and any(by_score) and not all(by_score):
        verdicts = EITHER
    elif (
        answers.continuous
        and all(by_score)
        and any(state.combine not in VERDICT_MODES for state in answers.states)
    ):
        # The ways are corners: in between, the score, and so the verdict, may be anything else.
        thresholds = (state.threshold for state in answers.states)
        verdicts = join_directions(verdicts, scores, _compare_thresholds(*thresholds))
    return RubricEffect(
        moves=extent.lost or {scores, verdicts} != {NONE},
        direction=scores,
        verdict_direction=verdicts,
        max_shift=extent.shift,
        max_shift_scored=measure(frozenset(scored)).shift,
        ways=answers.count,
        texts={text: one.least_shift for text, one in by_text.items() if one.moves},
        list_goals=partial(_list_goals, answers),
    )


def _list_goals(answers: JointAnswers) -> Iterator[AnswerGoal]:
    """Yield goals for answers that move the score, the easiest to build first."""
    before, after = map(_Combiner, answers.states)
    moving: list[tuple[JointAnswer, Fraction | None]] = []
    for answer in answers:
        old, new = before.combine(answer.old), after.combine(answer.new)
        if old != new and answer.text is not None:
            moving.append(
                (answer, None if old.score is None or new.score is None else new.score - old.score)
            )
    for answer, shift in sorted(moving, key=lambda pair: _rank_answer(pair[0]))[: EFFECTS.goals]:
        scores = [{result.id: result.score for result in side} for side in (answer.old, answer.new)]
        judged = _find_judge_scores(answers, answer)
        if judged is not None:
            yield AnswerGoal(answer.text or "", shift, (scores[0], scores[1]), judged)


def _find_judge_scores(answers: JointAnswers, answer: JointAnswer) -> dict[str, Fraction] | None:
    """Return what the checks' judges answer; None if one fails, because that cannot be shown."""
    judges: dict[str, RawAnswer] = {}
    for check in chain.from_iterable(state.checks for state in answers.states):
        raw = answer.free.get(answers.numbers[id(check)])
        if raw is not None and KINDS[check.kind].asks_judges(check.params):
            judges[check.token] = raw
    scores: dict[str, Fraction] = {}
    for token, raw in judges.items():
        if raw.score is None:
            return None
        scores[token] = raw.score + raw.side * _BESIDE
    return scores


def _rank_answer(answer: JointAnswer) -> tuple[int, int, int]:
    """Return how hard an answer is to build: how many checks err, are missing, score in between."""
    results = {*answer.old, *answer.new}
    errors = sum(result.unscored is _ERROR for result in results)
    missing = sum(result.score is None for result in results)
    return errors, missing, sum(result.score not in _WHOLE for result in results) - missing


@dataclass(slots=True)
class _Extent:
    """How far scores rise at least and at most (a fall is below 0), and which verdicts change.

    `lost`: some output has a score on one side only. Then the mean of all scored outputs may move
    either way; but a new score of 0 can only lower it, and losing a 0 can only raise it.
    """

    rises: tuple[Fraction, Fraction] | None = None
    failed: bool = False
    passed: bool = False
    lost: bool = False
    lowered: bool = False
    raised: bool = False

    def add(self, old: _Outcome, new: _Outcome) -> None:
        if old.score is None or new.score is None:
            self._add_one_sided(old, new)
            return
        rise = new.score - old.score
        least, most = self.rises or (rise, rise)
        self.rises = min(least, rise), max(most, rise)
        self.failed = self.failed or _PASSED[old.verdict] > _PASSED[new.verdict]
        self.passed = self.passed or _PASSED[old.verdict] < _PASSED[new.verdict]

    def _add_one_sided(self, old: _Outcome, new: _Outcome) -> None:
        is_new = old.score is None
        known = new if is_new else old
        if known.score is None:
            return
        self.lost = True
        self.lowered = self.lowered or is_new or known.score > 0
        self.raised = self.raised or not is_new or known.score > 0
        self.failed = self.failed or is_new or known.verdict is Verdict.PASS
        self.passed = self.passed or not is_new or known.verdict is Verdict.PASS

    @property
    def shift(self) -> Fraction:
        least, most = self.rises or _STAYS
        return max(-least, most)

    @property
    def directions(self) -> tuple[Direction, Direction]:
        least, most = self.rises or _STAYS
        scores = bound_direction(
            below=least >= 0 and not self.lowered, above=most <= 0 and not self.raised
        )
        return scores, bound_direction(below=not self.failed, above=not self.passed)

    @property
    def moves(self) -> bool:
        return {*self.directions} != {NONE}

    @property
    def least_shift(self) -> Fraction | None:
        """How far every score rises at least (below 0: falls); None if one may stay the same."""
        least, most = self.rises or _STAYS
        if self.lost:
            return None
        if least > 0:
            return least
        return most if most < 0 else None


@dataclass(slots=True)
class _Combiner:
    """Combines results as scoring does, but each set of equal results only once.

    The order of the checks does not count. Equal outcomes are one object.
    """

    state: RubricState
    scoring: Scoring = field(init=False)
    distinct: dict[_Outcome, _Outcome] = field(default_factory=dict)
    outcomes: dict[tuple[int, ...], _Outcome] = field(default_factory=dict)
    parts: dict[object, int] = field(default_factory=dict)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scoring = self.state.to_scoring()

    def combine(self, results: tuple[CheckResult, ...]) -> _Outcome:
        key = tuple(sorted(map(self._number_part, enumerate(results))))
        if key not in self.outcomes:
            from evalstore.checks import combine_results

            combined = combine_results(self.scoring, results)
            outcome = _Outcome(combined.score, combined.verdict)
            self.outcomes[key] = self.distinct.setdefault(outcome, outcome)
        return self.outcomes[key]

    def _number_part(self, placed: tuple[int, CheckResult]) -> int:
        """Return a number for what a result adds to the score; the same results come up often."""
        place, result = placed
        known = place, id(result)
        if known not in self.numbers:
            check = self.state.checks[place]
            part = check.weight, check.is_required, result.score, result.verdict, result.unscored
            self.numbers[known] = self.parts.setdefault(part, len(self.parts))
        return self.numbers[known]


def _compare_thresholds(old: Fraction, new: Fraction) -> Direction:
    if old == new:
        return NONE
    return STRICTER if new > old else LOOSER
