"""Decides conditions on an audit, for CI: holds, fails, or cannot tell; pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from evalstore.audits.values import LINE_LABELS, OWN_FACTORS, Audit, FactorName, Lines
from evalstore.audits.wording.gaps import describe_selection
from evalstore.audits.wording.points import format_points
from evalstore.errors import UsageError
from evalstore.model.outcome import MAX_UNGRADED
from evalstore.statistics import Interval
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.audits.edits.edit_files import EditFiles
    from evalstore.audits.records.comparison import RecordComparison
    from evalstore.audits.score_history import Timelines

_ESTIMATED = "estimated"
_OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(
    r"\s*([a-z_@]+)(?:\.([a-z]+))?\s*(<=|>=|<|>)\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*"
)
# Each by name, and by the name of its interval.
_OWN = {
    "own": ("shapley", "ci"),
    "own@old": ("old", "ci_old"),
    "own@new": ("new", "ci_new"),
    "own.passes": ("passes", "ci_passes"),
    "own.typical": ("typical", "ci_typical"),
}
_MEAN, _CHANNELS = "mean", ("passes", "typical")
_IN_POINTS = 1  # no share is that large: a bound of 1 or more is in points
# From here on a smaller bound is ambiguous: half a point, or 50 of them.
_UNCLEAR = Fraction(1, 10)
_OWN_SHARES = ("own", "own@old", "own@new")
_SHARES = (*_OWN_SHARES, *map(str, FactorName))
RECORD_METRICS = ("flips", "delta")  # what two records alone can answer
# What the outputs contribute to, so that checks with nothing to grade hide some of it.
_OF_OUTPUTS = frozenset({*_OWN_SHARES, "outputs", "input", *RECORD_METRICS})
METRICS = (*_SHARES, *LINE_LABELS, *RECORD_METRICS)


class _Value(NamedTuple):
    """A value that a condition is about, and where it comes from.

    `interval` is set for sampled values.
    """

    value: Fraction | None
    reason: str
    interval: Interval | None = None
    needs_interval: bool = False

    def list_ends(self) -> Iterator[Fraction]:
        """Yield the value, if known, and both ends of the interval."""
        if self.value is not None:
            yield self.value
        yield from map(Fraction, self.interval or ())


class _Ungraded(NamedTuple):
    """How many questions have a check that could not be graded, and which share is too many."""

    failed: int
    total: int
    most: Fraction


_Values = Sequence[_Value]  # they must agree
_JOINT = _Value(None, "cannot be separated from the other changes")
_FEW = _Value(None, "is not known with so few questions, or with estimated shares")


class Answer(StrEnum):
    """The answer to one condition, in order of severity."""

    HOLDS = "holds"
    UNDECIDED = "cannot tell"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must not happen, such as `own<-2`, in points of 100.

    `bound` is a fraction of 1, or, for flips, a number of verdicts. `part` is which part of the
    metric is meant: `mean` for the share itself, whatever its interval (`own.mean<-2`); for the
    outputs' own share also `passes` or `typical`; empty for the share.
    """

    metric: str
    operator: str
    bound: Fraction
    part: str = ""

    def __str__(self) -> str:
        # Half a point is written as a fraction of 1, as parse_condition reads it.
        is_points = self.metric != "flips" and abs(self.bound) * 100 >= _IN_POINTS
        return f"{self.name}{self.operator}{float(self.bound) * (100 if is_points else 1):g}"

    @property
    def name(self) -> str:
        """The metric, with its part."""
        return f"{self.metric}.{self.part}" if self.part else self.metric

    def is_met(self, value: Fraction) -> bool:
        """Whether a value is what must not happen."""
        return _OPERATORS[self.operator](value, self.bound)


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The answer to one condition: the value that decided it (None if none did), and why."""

    condition: Condition
    answer: Answer
    value: Fraction | None
    reason: str


def parse_condition(text: str) -> Condition:
    """Read `own<-2`, in points of 100, or `own<-0.02`, as a fraction of 1.

    Raises `UsageError` for anything else. From .1 to 1, nobody can tell which of the two is meant.
    """
    match = _CONDITION.fullmatch(text)
    if match is None or not _can_ask(match[1], match[2] or ""):
        raise UsageError(
            f"{text!r} is not a valid condition",
            hint=(
                "as in own<-2, in points; one of "
                f"{', '.join((*METRICS, 'own.mean', 'own.passes', 'own.typical'))}"
            ),
        )
    bound = Fraction(match[4])
    condition = Condition(match[1], match[3], bound, match[2] or "")
    if match[1] == "flips" or abs(bound) < _UNCLEAR:
        return condition
    few = replace(condition, bound=bound / 100)
    if abs(bound) < _IN_POINTS:
        size = float(abs(bound))
        raise UsageError(
            f"{text!r} may mean {size:g} or {100 * size:g} points of 100",
            hint=f"for {100 * size:g} points write {condition}, for {size:g} write {few}",
        )
    return few


def _can_ask(metric: str, part: str) -> bool:
    if not part:
        return metric in METRICS
    return metric in _SHARES if part == _MEAN else metric == "own" and part in _CHANNELS


def decide_conditions(
    audit: Audit, conditions: Sequence[Condition], *, max_ungraded: Fraction = MAX_UNGRADED
) -> tuple[ConditionResult, ...]:
    """Return the answer to each condition.

    A sampled share is decided by its interval: all of it must meet the condition, or none. Nothing
    is decided if checks failed on more than `max_ungraded` of the questions in some run, if the
    value is that of several factors together, or if too few questions were asked for an interval.
    Answers that run B lacks count as 0, so that a model cannot pass by crashing. If checks had
    nothing to grade in only one run on more than `max_ungraded` of the questions, nothing is
    decided to which the outputs contribute, so that nobody passes by leaving out what is graded.
    The same holds if only failures were asked again.
    """
    hidden = _word_emptied(
        len(audit.lines.emptied), audit.b.questions, max_ungraded
    ) or _word_selection(audit)
    hidden_by_metric = {key: [_Value(None, hidden)] for key in _OF_OUTPUTS} if hidden else {}
    values = [hidden_by_metric.get(one.metric) or [*_list_values(audit, one)] for one in conditions]
    more = (
        f"; {audit.price.calls:,} judge calls would tell (--judge-url, --ask)"
        if audit.price.calls
        else ""
    )
    # Those that one run could grade are in a line; those that neither could are compared by their
    # other checks.
    behind = len(audit.lines.errors)
    ungraded = _Ungraded(behind + audit.ungraded, audit.common + behind, max_ungraded)
    return _decide_all(conditions, values, ungraded, more)


def decide_record_conditions(
    found: RecordComparison,
    conditions: Sequence[Condition],
    *,
    max_ungraded: Fraction = MAX_UNGRADED,
) -> tuple[ConditionResult, ...]:
    """Return the answer to each condition on two records.

    Raises `UsageError` for a condition that records cannot answer.
    """
    values: list[list[_Value]] = []
    hidden = _word_emptied(found.emptied, found.pairs, max_ungraded)
    for condition in conditions:
        if condition.name not in RECORD_METRICS:
            raise UsageError(
                f"two records are compared without a grading, so it cannot say {condition.name}",
                hint=(
                    f"one of {', '.join(RECORD_METRICS)}; the others need two runs that can be "
                    "graded again"
                ),
            )
        values.append(
            [_Value(None, hidden)] if hidden else [*_list_record_values(found, condition.metric)]
        )
    ungraded = _Ungraded(found.ungraded, found.pairs + len(found.unscored), max_ungraded)
    return _decide_all(conditions, values, ungraded, "")


def _list_record_values(found: RecordComparison, metric: str) -> Iterator[_Value]:
    turned = len(found.flips.pass_to_fail)
    is_delta = metric == "delta"
    yield (
        _Value(found.score.delta, "on the pairs")
        if is_delta
        else _Value(Fraction(turned), "from pass to fail")
    )
    if found.missing_b:
        value = found.delta_as_zero if is_delta else Fraction(turned + found.lost_passes)
        yield _Value(value, _count_zeros(found.missing_b))


def _decide_all(
    conditions: Sequence[Condition], values: Sequence[_Values], ungraded: _Ungraded, more: str
) -> tuple[ConditionResult, ...]:
    failed, total, max_ungraded = ungraded
    if failed > max_ungraded * total:
        reason = (
            f"checks failed on {failed:,} of {total:,} questions, more than "
            f"{float(100 * max_ungraded):g} %"
        )
        return tuple(
            ConditionResult(condition, Answer.UNDECIDED, None, reason) for condition in conditions
        )
    return tuple(_decide(*pair, more) for pair in zip(conditions, values, strict=True))


def find_worst_answer(results: Sequence[ConditionResult]) -> Answer:
    """Return the worst answer; `HOLDS` if there are no conditions."""
    order = list(Answer)
    return max((result.answer for result in results), key=order.index, default=Answer.HOLDS)


def _decide(condition: Condition, values: _Values, more: str) -> ConditionResult:
    unknown = next((one for one in values if one.value is None), None)
    if unknown is not None:
        return ConditionResult(
            condition, Answer.UNDECIDED, None, f"{condition.name} {unknown.reason}{more}"
        )
    first = values[0]
    met = {condition.is_met(end) for one in values for end in one.list_ends()}
    if len(met) == 1:
        return ConditionResult(
            condition,
            Answer.FAILS if met == {True} else Answer.HOLDS,
            first.value,
            _describe(condition.metric, first),
        )
    metric = condition.metric
    found = f"is {format_value(metric, first.value or 0)} {_describe(metric, first)}"
    if len(values) > 1:
        shown = (
            f"{format_value(metric, one.value or 0)} ({_describe(metric, one)})" for one in values
        )
        found = f"is between {' and '.join(shown)}"
    # Only asking a judge again makes more of an estimate.
    rest = more if first.reason.startswith(_ESTIMATED) else ""
    return ConditionResult(condition, Answer.UNDECIDED, None, f"{condition.name} {found}{rest}")


def _describe(metric: str, value: _Value) -> str:
    if value.interval is None or value.interval[0] == value.interval[1]:
        return value.reason
    low, high = (format_value(metric, end) for end in value.interval)
    return f"{value.reason}, 95 % interval {low} to {high}"


def format_value(metric: str, value: Fraction | float) -> str:
    """Write the value of a metric: points of 100 with their sign, or a number of verdicts."""
    return f"{float(value):g}" if metric == "flips" else format_points(value)


def _list_values(audit: Audit, condition: Condition) -> Iterator[_Value]:
    """Yield the values that must agree on a condition; None for an unknown one."""
    lines, metric = audit.lines, condition.metric
    if metric in _SHARES:
        asks_mean = condition.part == _MEAN
        if metric in _OWN_SHARES:
            values = _list_own_values(audit, metric if asks_mean else condition.name)
        else:
            values = _list_factor_values(audit, FactorName(metric))
        yield from (
            (one._replace(interval=None) for one in values)
            if asks_mean
            else map(_require_interval, values)
        )
    elif metric in LINE_LABELS:
        yield _Value(lines.by_name[metric].score, "as counted")
    elif metric == "flips":
        turned = Fraction(len(audit.flips.pass_to_fail))
        yield _Value(turned, "from pass to fail")
        if lines.silent_b:
            yield _Value(turned + len(lines.silent_b), "with every answer that run B lacks")
    else:
        yield _Value(audit.delta, "as recorded")
        if lines.silent_b:
            yield _Value(
                audit.delta - lines.no_answer.score + lines.no_answer_as_zero.score,
                _word_missing(lines),
            )


def _word_emptied(emptied: int, questions: int, most: Fraction) -> str:
    """Return why the effect of the outputs is unknown; empty if few checks had nothing to grade."""
    if emptied <= most * questions:
        return ""
    return (
        f"is unknown, because checks had nothing to grade in one run on {emptied:,} of "
        f"{count_noun(questions, 'question')}, more than {float(100 * most):g} %"
    )


def _word_selection(audit: Audit) -> str:
    selection = describe_selection(audit.outputs)
    return selection and f"is unknown, because {selection}"


def _list_own_values(audit: Audit, name: str) -> Iterator[_Value]:
    own, lines = audit.own_as_zero, audit.lines
    sampled = [one for one in audit.factors if not OWN_FACTORS.isdisjoint(one.members)]
    anchors = max((one.anchors or 0 for one in sampled), default=0)
    how = _word_basis(anchors) + (f", {_word_missing(lines)}" if lines.silent_b else "")
    how += ", if the judge service did not change" if audit.assumption else ""
    value, interval = (getattr(own, attribute) for attribute in _OWN[name])
    if value is None:
        yield _JOINT if own.shapley is None else _FEW
    else:
        yield _Value(value, how, interval, needs_interval=True)


def _list_factor_values(audit: Audit, name: FactorName) -> Iterator[_Value]:
    members = (factor for factor in audit.factors if name in factor.members)
    factors = [factor for factor in members if factor.changed or factor.share]
    if any(len(factor.members) > 1 for factor in factors):
        yield _JOINT
        return
    factor = factors[0] if factors else None
    share = factor.share if factor else Fraction(0)
    # What was graded about a rubric is a fact on these questions; what was sampled may differ
    # elsewhere.
    is_sampled = factor is not None and (factor.conclusion is not None or not factor.is_exact)
    basis = _word_basis(factor.anchors or 0, is_exact=factor.is_exact) if factor else "as graded"
    yield _Value(
        share, basis, factor.ci if factor and is_sampled else None, needs_interval=is_sampled
    )
    if name is FactorName.OUTPUTS and audit.lines.silent_b:
        yield _Value(share + audit.lines.no_answer_as_zero.score, _word_missing(audit.lines))


def _word_basis(anchors: int, *, is_exact: bool = True) -> str:
    if anchors:
        return f"{_ESTIMATED} on {count_noun(anchors, 'anchor')}"
    return "as graded" if is_exact else _ESTIMATED


def _word_missing(lines: Lines) -> str:
    return _count_zeros(len(lines.silent_b))


def _count_zeros(count: int) -> str:
    return f"{count_noun(count, 'missing answer')} {'counts' if count == 1 else 'count'} 0"


def _require_interval(value: _Value) -> _Value:
    if value.needs_interval and value.interval is None:
        return _Value(
            None,
            f"is {format_points(value.value or 0)} {value.reason}, which is too little to tell",
        )
    return value


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit with the answers to the given conditions.

    For a page it has the timelines of its artifacts, and the edited files.
    """

    audit: Audit
    results: tuple[ConditionResult, ...] = ()
    timelines: Timelines | None = None
    files: EditFiles | None = None


@dataclass(frozen=True, slots=True)
class RecordReport:
    """Two records compared as pairs, with the answers to the given conditions.

    For one file with several configurations, it is the first comparison with the baseline; `others`
    are the rest.
    """

    comparison: RecordComparison
    results: tuple[ConditionResult, ...] = ()
    others: tuple[RecordReport, ...] = ()

    @property
    def all(self) -> tuple[RecordReport, ...]:
        """This report, and the others."""
        return self, *self.others
