"""Decides conditions on an audit, for CI: holds, fails, or cannot tell; pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from evalstore.audits.values import Audit, Factor, LineName, PlayerName
from evalstore.errors import UsageError
from evalstore.model.outcome import MAX_UNGRADED

if TYPE_CHECKING:
    from evalstore.audits.score_history import Timelines
    from evalstore.audits.static_audit import StaticAudit

_Values = Sequence[tuple[Fraction | None, str]]  # values that have to agree, and where each comes from
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
        raise UsageError(f"{text!r} is not a valid condition", hint=f"as in own<-0.02; one of {', '.join(METRICS)}")
    return Condition(match[1], match[2], Fraction(match[3]))


def decide_conditions(
    audit: Audit, conditions: Sequence[Condition], *, max_ungraded: Fraction = MAX_UNGRADED
) -> tuple[ConditionResult, ...]:
    """Return the answer to each condition.

    Nothing is decided where checks failed on more than `max_ungraded` of the questions in some run, where the value is
    that of several players together, or where an estimate does not reach. Answers that run B lacks count 0, so that a
    model cannot pass by crashing.
    """
    values = {condition.metric: [*_list_values(audit, condition.metric)] for condition in conditions}
    more = f"; {audit.price.calls:,} judge calls would tell (--judge-url, --ask)" if audit.price.calls else ""
    return _decide_all(conditions, values, audit, max_ungraded, more)


def decide_static_conditions(
    audit: StaticAudit, conditions: Sequence[Condition], *, max_ungraded: Fraction = MAX_UNGRADED
) -> tuple[ConditionResult, ...]:
    """Return the answer to each condition that the bounds of a static audit give, as `decide_conditions` does."""
    values = {condition.metric: [*_list_static_values(audit, condition.metric)] for condition in conditions}
    return _decide_all(conditions, values, audit, max_ungraded, "; an audit without --static may tell")


def _decide_all(
    conditions: Sequence[Condition],
    values: Mapping[str, _Values],
    audit: Audit | StaticAudit,
    max_ungraded: Fraction,
    more: str,
) -> tuple[ConditionResult, ...]:
    # Those that one run could grade are behind a line; those that neither could are compared by their other checks.
    behind = len(audit.lines.errors) + len(audit.lines.questions.ungraded)
    failed, total = behind + audit.ungraded, audit.common + behind
    if failed > max_ungraded * total:
        reason = f"checks failed on {failed:,} of {total:,} questions, more than a share of {float(max_ungraded):g}"
        return tuple(ConditionResult(condition, Answer.UNDECIDED, None, reason) for condition in conditions)
    return tuple(_decide(condition, values[condition.metric], more) for condition in conditions)


def find_worst_answer(results: Sequence[ConditionResult]) -> Answer:
    """Return the worst answer; `HOLDS` without any condition."""
    order = list(Answer)
    return max((result.answer for result in results), key=order.index, default=Answer.HOLDS)


def _decide(condition: Condition, values: _Values, more: str) -> ConditionResult:
    if not values or any(value is None for value, _ in values):
        reason = f"{condition.metric} cannot be separated from the other changes"
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


def _list_static_values(audit: StaticAudit, metric: str) -> Iterator[tuple[Fraction | None, str]]:
    """Yield the ends between which a value is proved to be; they agree where the condition does not depend on it."""
    lines, unanswered = audit.lines, len(audit.lines.silent_b)
    zeros = f"{unanswered:,} missing answers count 0"
    if metric in set(LineName):
        yield getattr(lines, metric).score, "as counted"
    elif metric == "flips":
        yield Fraction(audit.flips[0]), "from pass to fail"
        yield Fraction(audit.flips[0] + unanswered), "with every answer that run B lacks"
    elif metric == "delta":
        yield audit.delta, "as recorded"
        yield audit.delta - lines.no_answer.score + lines.no_answer_as_zero.score, zeros
    elif metric == "own":
        yield from ((end, "a proved bound") for end in audit.own)
    elif metric in _OWN:
        yield None, "not graded"
    else:
        found = next((one.score for one in audit.factors if one.player == metric), (Fraction(0), Fraction(0)))
        yield from ((end, "a proved bound") for end in found)
        if metric == PlayerName.OUTPUTS and unanswered:
            yield from ((end + lines.no_answer_as_zero.score, zeros) for end in found)


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


@dataclass(frozen=True, slots=True)
class StaticReport:
    """A static audit with the answers to the conditions that somebody put."""

    audit: StaticAudit
    results: tuple[ConditionResult, ...] = ()
