"""The scores that a check can have, and the proof that whatever the checks of a rubric answer, it moves nothing."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, RubricEffect, name_decider
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState

_SCORES = 12
_RULES = {"scoring-combine-changed": "scoring-combine-equivalent"}
_TWO = (Fraction(0), Fraction(1))


@name_decider("settled")
def prove_by_enumeration(change: Change) -> Proof | None:
    """Prove that whatever the checks can answer to one output, the score and the verdict stay."""
    if change.effect is None or change.effect.moves:
        return None
    return Proof(explain_same_result(change.effect), rule=_RULES.get(change.rule))


def explain_same_result(effect: RubricEffect) -> str:
    """Say why an edit moves nothing, of an effect that does not."""
    ways = f"the checks can answer in {effect.ways:,} ways"
    return f"{ways}, and each gives the same score and verdict before and after"


def list_scores(check: CheckState) -> tuple[Fraction, ...]:
    """Return every score that a check can have, or nothing where these are not known to be few."""
    if check.two_valued:
        return _TWO
    if check.facts:
        return check.facts.scores
    parts = KINDS[check.kind].score_parts(check.params)
    return tuple(Fraction(part, parts) for part in range(parts + 1)) if 0 < parts < _SCORES else ()
