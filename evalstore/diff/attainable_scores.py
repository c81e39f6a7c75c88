"""Lists the scores that a check or a rubric can have, if these are few."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.direction import VERDICT_MODES
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine

_ONE, _TWO = (Fraction(1),), (Fraction(0), Fraction(1))
_ZERO_AND_ONE = frozenset(_TWO)


def list_scores(check: CheckState) -> tuple[Fraction, ...]:
    """Return every score that a check can have; nothing if they are many, or not known."""
    if KINDS[check.kind].passes_all(check.params):
        return _ONE
    if check.two_valued:
        return _TWO
    if check.facts:
        return check.facts.scores
    parts = KINDS[check.kind].score_parts(check.params)
    return (
        tuple(Fraction(part, parts) for part in range(parts + 1))
        if 0 < parts < PROOFS.scores
        else ()
    )


def find_attainable_scores(rubric: RubricState) -> frozenset[Fraction] | None:
    """Return a finite set that contains every score of the rubric; None if none is known."""
    if rubric.combine in VERDICT_MODES:
        return _ZERO_AND_ONE
    scores = [list_scores(check) for check in rubric.checks]
    if len(scores) > PROOFS.combined_checks or not all(scores):
        return None
    if rubric.combine is Combine.WEIGHTED_AVG:
        return _find_attainable_averages(rubric)
    # A failed required check, and the policies for unscored checks, give 0.
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
        sums = left_out | {
            (points + gain, total + check.weight) for points, total in sums for gain in gains
        }
        if len(sums) > PROOFS.sums:
            return None
    # A failed required check and the policies for errors give 0.
    return frozenset({Fraction(0)} | {points / total for points, total in sums if total})
