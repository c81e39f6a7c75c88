"""Weights: read by one mode only, and there only in proportion."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import is_advisory
from evalstore.model import Combine
from evalstore.versions import Bump


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
