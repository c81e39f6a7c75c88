"""Thresholds and limits: which edits of one no score can notice, and which scores a threshold tells apart."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.deciders.enumeration import list_scores
from evalstore.diff.direction import VERDICT_MODES
from evalstore.diff.kinds import KINDS, Limit
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine, format_decimal
from evalstore.text import make_excerpt
from evalstore.versions import Bump

# Checks, and pairs (sum of weighted scores, sum of weights); more are not enumerated.
_CHECKS, _SUMS = 16, 1 << 14
_ZERO_AND_ONE = frozenset({Fraction(0), Fraction(1)})


@name_decider("binary")
def prove_binary_threshold(change: Change) -> Proof | None:
    """Prove that a check that scores 0 or 1 passes exactly at 1, before and after."""
    if not all(check.binary for check in change.checks):
        return None
    return Proof("the check scores 0 or 1, and both thresholds lie between")


@name_decider("shares")
def prove_no_share_between(change: Change) -> Proof | None:
    """Prove that no score that the check can have lies between the old threshold and the new."""
    before, after = change.checks
    scores = list_scores(after)
    if before.bar is None or after.bar is None:
        return None
    if before.bar == after.bar:
        return Proof(f"the bar is {format_decimal(after.bar)} before and after, as its rubric has it")
    low, high = sorted((before.bar, after.bar))
    if not scores or any(low <= score < high for score in scores):
        return None
    return Proof(f"none of the {len(scores)} scores that the check can have lies between")


@name_decider("verdict_unread")
def prove_verdict_unread(change: Change) -> Proof | None:
    """Prove that nothing reads the check's verdict: it is no gate, its rubric combines scores, its own score stays."""
    if any(check.reads_threshold or check.is_gate for check in change.checks):
        return None
    if any(rubric.combine in VERDICT_MODES for rubric in change.states):
        return None
    combine = change.states[1].combine
    return Proof(f"{combine} reads scores and it is no gate: its verdict is shown, not counted", Bump.MINOR)


@name_decider("unattainable")
def prove_unattainable(change: Change) -> Proof | None:
    """Prove that no score that this rubric can have lies between the old threshold and the new."""
    before, after = change.states
    low, high = sorted((before.threshold, after.threshold))
    scores = find_attainable_scores(before)
    if scores is None or any(low <= score < high for score in scores):
        return None
    return Proof(f"none of the {len(scores)} scores that this rubric can have lies between")


def is_full_share_threshold(check: CheckState, parts: int) -> bool:
    """Whether of all shares of so many parts the bar tells only the full one from the others."""
    if check.threshold is None or not parts:
        return False
    step = Fraction(1, parts)
    return 0 < check.threshold <= step if check.negate else 1 - step < check.threshold <= 1


def find_attainable_scores(rubric: RubricState) -> frozenset[Fraction] | None:
    """Return a finite set that holds every score the rubric can have, or None when it is not known to be finite."""
    if rubric.combine in VERDICT_MODES:
        return _ZERO_AND_ONE
    scores = [list_scores(check) for check in rubric.checks]
    if len(scores) > _CHECKS or not all(scores):
        return None
    if rubric.combine is Combine.WEIGHTED_AVG:
        return _find_attainable_averages(rubric)
    # A closed gate and the policies give 0.
    single = _ZERO_AND_ONE.union(*scores)
    halves = len(scores) % 2 == 0 or any(map(rubric.may_leave_out, rubric.checks))
    if rubric.combine is Combine.MEDIAN and halves:
        return frozenset((one + other) / 2 for one in single for other in single)
    return single


def _find_attainable_averages(rubric: RubricState) -> frozenset[Fraction] | None:
    sums = {(Fraction(0), Fraction(0))}
    for check in rubric.checks:
        left_out = sums if rubric.may_leave_out(check) else set()
        gains = {check.weight * score for score in (*list_scores(check), Fraction(0))}
        sums = left_out | {(got + gain, total + check.weight) for got, total in sums for gain in gains}
        if len(sums) > _SUMS:
            return None
    # A closed gate and the policies for errors give 0.
    return frozenset({Fraction(0)} | {got / total for got, total in sums if total})


_MARKDOWN = "markdown_structure"


@name_decider("not_binding")
def prove_not_binding(change: Change) -> Proof | None:
    """Prove that the old and the new bound let the same outputs through."""
    limit = find_limit(change)
    if limit is None:
        return None
    before, after = change.checks
    if limit.of(before.params) != limit.of(after.params) or before.may_miss is not after.may_miss:
        return None
    return Proof("the bound does not bind: what it asks for holds anyway, before and after")


def find_limit(change: Change) -> Limit | None:
    """Return the limit that the changed parameter of a check is; None for any other parameter."""
    return KINDS[change.checks[1].kind].params[change.name].limit


@name_decider("demand_implied")
def prove_demand_implied(change: Change) -> Proof | None:
    """Prove that an added or removed demand of `markdown_structure` follows from the others."""
    if change.checks[1].kind != _MARKDOWN:
        return None  # what implies what is known of its lists only
    shorter, longer = sorted(change.checks, key=lambda check: _count_demands(check, change.name))
    if change.name == "no_h1":
        idle = shorter.params["max_heading_level"] < 1
        return Proof("no heading is allowed at all") if idle else None
    item = change.item
    others = list(longer.params[change.name])
    others.remove(item)
    part = next((other for other in others if _implies_demand(change.name, other, item)), None)
    return None if part is None else Proof(f"{make_excerpt(part, 60)!r}, also listed, implies it")


def _count_demands(check: CheckState, name: str) -> int:
    value = check.params[name]
    return int(value) if isinstance(value, bool) else len(value)


def _implies_demand(name: str, other: str, item: str) -> bool:
    # A heading that holds the longer text holds the shorter one; a text without the shorter lacks the longer.
    return item.lower() in other.lower() if name == "required_sections" else other in item
