"""Decides conditions on an audit, for CI: holds, fails, or cannot tell; pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from evalstore.audits.values import Audit, Factor, LineName, PlayerName
from evalstore.errors import UsageError

if TYPE_CHECKING:
    from evalstore.audits.timelines import Timelines

MAX_UNGRADED = Fraction(2, 100)  # the share of questions that judges may fail on in one run before nothing is decided
_OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*([a-z_@]+)\s*(<=|>=|<|>)\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*")
_OWN = {"own": "shapley", "own@old": "old", "own@new": "new"}
METRICS = (*_OWN, *map(str, PlayerName), *map(str, LineName), "flips", "delta")


class Answer(StrEnum):
    """The answer to one condition, in the order of severity."""

    HOLDS = "holds"
    UNDECIDED = "cannot tell"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must not be: `own < -0.02`; shares are parts of 1, flips a number of verdicts."""

    metric: str
    operator: str
    bound: Fraction

    def __str__(self) -> str:
        return f"{self.metric}{self.operator}{float(self.bound):g}"

    def is_met(self, value: Fraction) -> bool:
        """Whether a value is what must not be."""
        return _OPERATORS[self.operator](value, self.bound)


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The answer to one condition: the value that decided it (None where none did), and why."""

    condition: Condition
    answer: Answer
    value: Fraction | None
    reason: str


def parse_condition(text: str) -> Condition:
    """Read `own<-0.02`; raises `UsageError` that names what can be asked."""
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in METRICS:
        raise UsageError(f"{text!r} is no condition", hint=f"as in own<-0.02; one of {', '.join(METRICS)}")
    return Condition(match[1], match[2], Fraction(match[3]))


def decide_conditions(
    audit: Audit, conditions: Sequence[Condition], *, max_ungraded: Fraction = MAX_UNGRADED
) -> tuple[ConditionResult, ...]:
    """Return the answer to each condition.

    Nothing is decided where judges failed on more than `max_ungraded` of the questions in one run, where the value is
    that of several players together, or where an estimate does not reach. Answers that run B lacks count 0, so that a
    model cannot pass by crashing.
    """
    ungraded = len(audit.lines.errors) + len(audit.lines.questions.ungraded)
    share = Fraction(ungraded, max(audit.common + ungraded, 1))
    if share > max_ungraded:
        count = f"{float(share):.2f} of the questions ({ungraded:,})"
        reason = f"judges failed on {count} in one run, more than {float(max_ungraded):g}"
        return tuple(ConditionResult(condition, Answer.UNDECIDED, None, reason) for condition in conditions)
    return tuple(_decide(audit, condition) for condition in conditions)


def find_worst_answer(results: Sequence[ConditionResult]) -> Answer:
    """Return the worst answer; `HOLDS` without any condition."""
    order = list(Answer)
    return max((result.answer for result in results), key=order.index, default=Answer.HOLDS)


def _decide(audit: Audit, condition: Condition) -> ConditionResult:
    values = [*_list_values(audit, condition.metric)]
    if not values or any(value is None for value, _ in values):
        reason = f"{condition.metric} cannot be told from what else changed"
        more = f"; {audit.price.calls:,} judge calls would tell (--judge-url, --ask)" if audit.price.calls else ""
        return ConditionResult(condition, Answer.UNDECIDED, None, reason + more)
    found = [(value, reason, condition.is_met(value)) for value, reason in values if value is not None]
    value, reason, met = found[0]
    if {one for _, _, one in found} == {True, False}:
        between = " and ".join(f"{float(value):.4f} ({reason})" for value, reason, _ in found)
        return ConditionResult(condition, Answer.UNDECIDED, None, f"{condition.metric} is between {between}")
    return ConditionResult(condition, Answer.FAILS if met else Answer.HOLDS, value, reason)


def _list_values(audit: Audit, metric: str) -> Iterator[tuple[Fraction | None, str]]:
    """Yield the values that a condition has to agree on, each with where it comes from; None where it is unknown."""
    lines = audit.lines
    missing = f"{len(lines.silent_b):,} missing answers count 0" if lines.silent_b else "as graded"
    if metric in _OWN:
        yield getattr(audit.own_as_zero, _OWN[metric]), missing
    elif metric in set(LineName):
        yield getattr(lines, metric).score, "as counted"
    elif metric == "flips":
        turned = Fraction(len(audit.flips.pass_to_fail))
        yield turned, "from pass to fail"
        if lines.silent_b:
            yield turned + len(lines.silent_b), "with every answer that run B lacks"
    elif metric == "delta":
        yield audit.delta, "as recorded"
        if lines.silent_b:
            yield audit.delta - lines.no_answer.score + lines.no_answer_as_zero.score, missing
    else:
        yield from _list_player_values(audit, PlayerName(metric), missing)


def _list_player_values(audit: Audit, player: PlayerName, missing: str) -> Iterator[tuple[Fraction | None, str]]:
    factors = [factor for factor in audit.factors if player in factor.players and (factor.changed or factor.share)]
    share = sum((factor.share for factor in factors), Fraction(0))
    if any(len(factor.players) > 1 for factor in factors):
        yield None, "moves together with others"
        return
    yield share, "as graded" if all(factor.is_exact for factor in factors) else "estimated"
    for bound in (end for factor in factors for end in _list_bounds(factor)):
        yield bound, "an end of its interval"
    if player is PlayerName.OUTPUTS and audit.lines.silent_b:
        yield share + audit.lines.no_answer_as_zero.score, missing


def _list_bounds(factor: Factor) -> Iterator[Fraction]:
    # A share that is graded in full is what it is on these questions; an estimate may be elsewhere.
    if not factor.is_exact and factor.ci:
        yield from map(Fraction, factor.ci)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit with the answers to the conditions that somebody put, and for a page the timelines of its artifacts."""

    audit: Audit
    results: tuple[ConditionResult, ...] = ()
    timelines: Timelines | None = None
