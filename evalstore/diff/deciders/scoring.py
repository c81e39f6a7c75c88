"""Policies and gates: whether a check can be unscored at all, and whether a gate closes what was open."""

from __future__ import annotations

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import HIGHEST, LOWEST, is_counted
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine


@name_decider("nothing_missing")
def prove_nothing_missing(change: Change) -> Proof | None:
    """Prove that no check can be without something to grade, or that one more 0 decides nothing."""
    before, after = change.states
    unscorable = [check for check in before.checks if check.may_miss]
    if not unscorable:
        return Proof("no check of this rubric can be without something to grade")
    return _prove_zeros_unread(before, after, unscorable)


@name_decider("nothing_fails")
def prove_nothing_errs(change: Change) -> Proof | None:
    """Prove that every check can always grade, or that one more 0 decides nothing, or all, under both policies."""
    before, after = change.states
    unscorable = [check for check in before.checks if check.may_err]
    if not unscorable:
        return Proof("no check of this rubric needs a judge, another engine or a time budget")
    policies = {before.errors, after.errors}
    if policies == {"zero", "fail"} and all(_decides_alone(check, after) for check in unscorable):
        return Proof("a check that counts as 0 makes this rubric 0 already")
    return _prove_zeros_unread(before, after, unscorable) if policies == {"skip", "zero"} else None


@name_decider("gate_idle")
def prove_gate_idle(change: Change) -> Proof | None:
    """Prove that the gate is shut only where the score is 0 without it, or never."""
    before, after = change.states
    check = after[change.token]
    if after.combine is Combine.ALL_PASS:
        return Proof("all_pass is 0 already when one check fails")
    if after.combine is Combine.MIN and check.binary:
        return Proof("min is 0 already when this check fails")
    if _is_alone(check, after) and check.binary:
        return Proof("it is the only check, and the score is 0 already when it fails")
    if not any(_can_fail(check, rubric) for rubric in (before, after)):
        return Proof("its threshold is 0, so it cannot fail")
    return None


def _prove_zeros_unread(before: RubricState, after: RubricState, unscorable: list[CheckState]) -> Proof | None:
    if any(check.is_gate for check in unscorable):
        return None
    if not any(is_counted(check, after) for check in unscorable):
        return Proof("what can be unscored has weight 0 in a weighted average, and is no gate")
    sure = [check for check in before.checks if check not in unscorable and not before.may_leave_out(check)]
    if after.combine not in HIGHEST or not sure:
        return None
    return Proof(f"{after.combine} takes the best, and {sure[0].id} is always scored")


def _decides_alone(check: CheckState, rubric: RubricState) -> bool:
    """Whether the rubric is 0 wherever this check counts as 0 and as failed."""
    return check.is_gate or _is_alone(check, rubric) or rubric.combine in LOWEST


def _is_alone(check: CheckState, rubric: RubricState) -> bool:
    return len(rubric.checks) == 1 and is_counted(check, rubric)


def _can_fail(check: CheckState, rubric: RubricState) -> bool:
    counted_as_zero = (check.may_miss and rubric.missing == "zero") or (check.may_err and rubric.errors == "zero")
    return check.threshold is None or check.threshold > 0 or counted_as_zero
