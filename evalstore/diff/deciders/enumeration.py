"""The scores that a check can have, and the proof that whatever the checks of a rubric answer, it moves nothing."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState
from evalstore.versions import Bump

_SCORES = 12
_RULES = {"scoring-combine-changed": "scoring-combine-equivalent"}
_TWO = (Fraction(0), Fraction(1))


@name_decider("settled")
def prove_by_enumeration(change: Change) -> Proof | None:
    """Prove that whatever the checks can answer to one output, the score and the verdict stay."""
    if change.effect is None or change.effect.moves:
        return None
    before, after = change.states
    ways = f"the checks can answer in {change.effect.ways:,} ways"
    text = f"{ways}, and each gives the same score and verdict before and after"
    return Proof(text, Bump.PATCH if before.tokens == after.tokens else Bump.MINOR, _RULES.get(change.rule))


def list_scores(check: CheckState) -> tuple[Fraction, ...]:
    """Return every score that a check can have, or nothing where these are not known to be few."""
    if check.two_valued:
        return _TWO
    if check.facts:
        return check.facts.scores
    parts = KINDS[check.kind].score_parts(check.params)
    return tuple(Fraction(part, parts) for part in range(parts + 1)) if 0 < parts < _SCORES else ()
