"""Edits of a rubric's scoring that decide nothing: policies for unscored checks, gates, weights and combine modes."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import HIGHEST, LOOSER, LOWEST, STRICTER, bound_direction, is_advisory, is_counted
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine
from evalstore.versions import Bump


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
        return Proof("no check of this rubric needs a judge or another engine, or can take too many steps")
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
        return Proof("it passes whatever it grades, so it cannot fail")
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
    passes_all = not check.negate and KINDS[check.kind].passes_all(check.params)
    return counted_as_zero or not (passes_all or check.bar == 0)


@name_decider("unread")
def prove_weights_unread(change: Change) -> Proof | None:
    """Prove that no weight is read: the mode ignores them, or there is only one check."""
    before, after = change.states
    if before.combine is not Combine.WEIGHTED_AVG:
        return Proof(f"{before.combine} reads no weights")
    if len(before.checks) == 1 and before.checks[0].weight and after.checks[0].weight:
        return Proof("there is one check, and its weight cancels out")
    return None


@name_decider("rescaled")
def prove_rescaled(change: Change) -> Proof | None:
    """Prove that all weights were multiplied by one positive number, in exact arithmetic."""
    before, after = change.states
    old, new = ([check.weight for check in rubric.checks] for rubric in (before, after))
    factor = next((mine / theirs for theirs, mine in zip(old, new, strict=True) if theirs), Fraction(0))
    if not factor or [weight * factor for weight in old] != new:
        return None
    return Proof(f"every weight is multiplied by {factor}, which the average cancels", rule="check-weights-rescaled")


@name_decider("weightless")
def prove_weightless(change: Change) -> Proof | None:
    """Prove that the rubric reads neither side of a check: weight 0 in a weighted average, and no gate."""
    before, after = change.states
    for rubric in (before, after):
        if change.token in rubric.tokens and not is_advisory(rubric[change.token], rubric):
            return None
    return Proof("its weight is 0 in a weighted average and it is no gate: it is shown, not counted", Bump.MINOR)


_ALL, _ANY, _AVG = Combine.ALL_PASS, Combine.ANY_PASS, Combine.WEIGHTED_AVG
_MIN, _MAX, _MEDIAN = Combine.MIN, Combine.MAX, Combine.MEDIAN

# Every pair (lower, higher) that holds for any scores and weights.
_GRADED = frozenset({(_MIN, _AVG), (_AVG, _MAX), (_MIN, _MEDIAN), (_MEDIAN, _MAX), (_MIN, _MAX), (_ALL, _ANY)})
# With checks that are 0 or 1 and say so: the lowest, the two that are not comparable, the highest.
_BINARY = {_ALL: 0, _MIN: 0, _AVG: 1, _MEDIAN: 1, _ANY: 2, _MAX: 2}


@name_decider("equivalent")
def prove_modes_equivalent(change: Change) -> Proof | None:
    """Prove that two modes are one for this rubric."""
    before, after = change.states
    modes = {before.combine, after.combine}
    if why := _explain_equivalence(before, modes):
        return Proof(why, rule="scoring-combine-equivalent")
    return None


def find_modes_direction(change: Change) -> Direction:
    """Return whether the new mode can only raise, or only lower, the score."""
    before, after = change.states
    old, new = before.combine, after.combine
    if all(check.binary for check in before.checks) and _BINARY[old] != _BINARY[new]:
        return LOOSER if _BINARY[old] < _BINARY[new] else STRICTER
    return bound_direction(below=(old, new) in _GRADED, above=(new, old) in _GRADED)


def _explain_equivalence(rubric: RubricState, modes: set[Combine]) -> str:
    if not rubric.checks:
        return "no check is in both rubrics, so there is nothing that either mode combines"
    binary = all(check.binary for check in rubric.checks)
    weights = [check.weight for check in rubric.checks]
    weighed = _AVG not in modes or all(weights)
    if len(weights) == 1 and weighed and (binary or modes <= {_AVG, _MIN, _MAX, _MEDIAN}):
        return "there is one check, and both modes give its score"
    if binary and modes in ({_ALL, _MIN}, {_ANY, _MAX}):
        return "every check scores 0 or 1 and passes exactly at 1, so both modes give the same"
    if modes == {_MEDIAN, _AVG} and len(weights) == 2 and 0 != weights[0] == weights[1]:  # noqa: PLR2004  # two checks
        return "the median of two checks is their mean, and their weights are equal"
    return ""
