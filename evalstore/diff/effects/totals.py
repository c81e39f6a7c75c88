"""Combines the effects of single edits into what all of them do together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from evalstore.diff.change import STATEMENTS_CHANGED, Change, RubricEffect
from evalstore.diff.direction import (
    EITHER,
    NONE,
    intersect_directions,
    is_always_scored,
    join_directions,
)
from evalstore.diff.effects.scoring_edits import is_scoring_edit
from evalstore.diff.findings import Claim, DiffFinding, TotalEffect

_STILL = TotalEffect(NONE, NONE, Fraction(0), Fraction(0))
_UNKNOWN = TotalEffect(EITHER, EITHER, None)


def join_effects(
    steps: Sequence[tuple[Change, DiffFinding]], effect: RubricEffect | None
) -> TotalEffect:
    """Return what all edits do together, given each one as made after those before it.

    `effect` is the known effect of all edits of scoring, or None.
    """
    edits, others, questions = (
        list[tuple[Change, DiffFinding]](),
        list[Claim](),
        list[TotalEffect](),
    )
    for change, finding in steps:
        if {*finding.directions} == {NONE}:
            continue
        if change.before and is_scoring_edit(*change.states):
            edits.append((change, finding))
        elif change.questions and change.imported_diff:
            questions.append(change.together or change.imported_diff.total)
        else:
            others.append(finding)
    return _join([_join_edits(edits, effect), *others, join_questions(questions)])


def _join_edits(
    edits: Sequence[tuple[Change, DiffFinding]], effect: RubricEffect | None
) -> TotalEffect:
    states = [state for change, _ in edits for state in change.states]
    # A check may lose its score by one edit and get it back by the next, and then the sum of both
    # effects is wrong. Edits of statements are safe: each statement that is asked about in between
    # is asked about before or after all edits, too.
    is_sum = (
        len(edits) < 2  # noqa: PLR2004  # two edits
        or all(change.rule == STATEMENTS_CHANGED for change, _ in edits)
        or all(map(is_always_scored, states))
    )
    total = _join([finding for _, finding in edits]) if is_sum else _UNKNOWN
    if effect is None:
        return total
    return narrow_effect(total, effect) if effect.moves else _STILL


def narrow_effect(claim: TotalEffect, effect: RubricEffect) -> TotalEffect:
    """Return a claim narrowed to the directions and bounds that the checks' answers allow."""
    score = intersect_directions(claim.direction, effect.direction)
    verdict = intersect_directions(claim.verdict_direction, effect.verdict_direction)
    # If no score moves, outputs only gain or lose a score, and the direction is the one that the
    # rule claims.
    directions = claim.directions if {score, verdict} == {NONE} else (score, verdict)
    shift = effect.max_shift if claim.max_shift is None else min(effect.max_shift, claim.max_shift)
    known = (claim.max_shift_scored, effect.max_shift_scored)
    return TotalEffect(*directions, shift, min(shift, *(one for one in known if one is not None)))


def join_questions(claims: Sequence[TotalEffect]) -> TotalEffect:
    """Return what is true for every output, given the claims for several questions."""
    return TotalEffect(
        join_directions(*(claim.direction for claim in claims)),
        join_directions(*(claim.verdict_direction for claim in claims)),
        _find_largest([claim.max_shift for claim in claims]),
        _find_largest([claim.max_shift_scored for claim in claims]),
        next(filter(None, (claim.witness for claim in claims)), None),
    )


def _find_largest(shifts: Sequence[Fraction | None]) -> Fraction | None:
    known = [shift for shift in shifts if shift is not None]
    return max(known, default=Fraction(0)) if len(known) == len(shifts) else None


def _join(parts: Sequence[Claim]) -> TotalEffect:
    return TotalEffect(
        join_directions(*(part.direction for part in parts)),
        join_directions(*(part.verdict_direction for part in parts)),
        _add([part.max_shift for part in parts]),
        _add([part.max_shift_scored for part in parts]),
    )


def _add(shifts: Sequence[Fraction | None]) -> Fraction | None:
    known = [shift for shift in shifts if shift is not None]
    return min(Fraction(1), sum(known, Fraction(0))) if len(known) == len(shifts) else None
