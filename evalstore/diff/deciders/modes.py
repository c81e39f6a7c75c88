"""The six modes: how they are ordered on one rubric, and where two of them are the same."""

from __future__ import annotations

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import LOOSER, STRICTER, bound_direction
from evalstore.diff.findings import Direction
from evalstore.diff.rubric_state import RubricState
from evalstore.model import Combine

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


def direct_modes(change: Change) -> Direction:
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
