"""Whether the checks of a composite's rubric, put in its place, give every output the same score and verdict."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.direction import HIGHEST, LOWEST, VERDICT_MODES
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine

_COMPOSITE = "composite"
# The lowest of the lowest is the lowest of all, whatever is left out.
_NESTED = LOWEST | HIGHEST


def explain_same_score(rubric: RubricState, check: CheckState, inner: RubricState) -> str | None:
    """Say why a rubric scores the same with the checks of its composite in its place; None if that is not sure."""
    mode = rubric.combine
    gated = check.is_gate or any(one.is_gate for one in inner.checks)
    deeper = any(one.kind == _COMPOSITE for one in inner.checks)
    if mode is not inner.combine or check.negate or gated or deeper or not _treats_unscored_alike(rubric, inner):
        return None
    if mode in VERDICT_MODES and not 0 < _find_threshold(check, inner) <= 1:
        return None
    if mode in _NESTED:
        return f"both rubrics combine by {mode}, and treat what is not scored alike"
    if mode is Combine.WEIGHTED_AVG and any(one.weight for one in inner.checks):
        return "each check gets its share of the composite's weight, and each is always counted"
    return None


def _find_threshold(check: CheckState, inner: RubricState) -> Fraction:
    return inner.threshold if check.threshold is None else check.threshold


def _treats_unscored_alike(rubric: RubricState, inner: RubricState) -> bool:
    """Whether a check that is not scored comes to the same in both rubrics; an average must not leave it out."""
    if any(one.may_miss for one in inner.checks) and not _has_same_effect(rubric, (rubric.missing, inner.missing)):
        return False
    return not any(one.may_err for one in inner.checks) or _has_same_effect(rubric, (rubric.errors, inner.errors))


def _has_same_effect(rubric: RubricState, policies: tuple[str, str]) -> bool:
    outer, inner = policies
    if outer != inner:
        return False
    if outer == "zero":
        return rubric.combine in _NESTED or rubric.combine is Combine.WEIGHTED_AVG
    # Under the lowest, a check that cannot grade makes the inner rubric 0, and that makes the outer one 0 as well.
    return rubric.combine in (LOWEST if outer == "fail" else _NESTED)
