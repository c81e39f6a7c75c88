"""Reads which scores the rubric that a composite refers to can have, and if it may have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain

from evalstore.diff.attainable_scores import find_attainable_scores
from evalstore.diff.changes.composites import load_inner_rubric
from evalstore.diff.direction import is_always_scored
from evalstore.diff.limits import PROOFS
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CompositeFacts, RubricState


def attach_composite_facts(
    states: Iterable[RubricState], load: ArtifactLoader | None
) -> list[RubricState]:
    """Return the rubrics; their composites know what each exactly pinned rubric can score."""
    states = list(states)
    checks = chain.from_iterable(state.checks for state in states)
    refs = {check.params["rubric_ref"] for check in checks if check.grading.holds_rubric}
    known = {ref: facts for ref in sorted(refs) if (facts := _find_facts(ref, load))}
    if not known:
        return states
    return [_attach_facts(state, known) for state in states]


def _attach_facts(state: RubricState, known: Mapping[str, CompositeFacts]) -> RubricState:
    checks = list(state.checks)
    for place, check in enumerate(checks):
        if check.grading.holds_rubric:
            checks[place] = replace(check, rubrics=known)
    return replace(state, checks=tuple(checks))


def _find_facts(ref: str, load: ArtifactLoader | None) -> CompositeFacts | None:
    inner = load_inner_rubric(ref, load)
    if inner is None or any(check.grading.holds_rubric for check in inner.checks):
        return None
    if inner.needs_all:  # its verdict does not follow from its score
        return None
    is_sure = is_always_scored(inner)
    # In strict mode, a check errs if the engine at hand is only an approximation, and then every
    # composite with such a check errs too.
    is_portable = all(check.is_portable for check in inner.checks)
    scores = find_attainable_scores(inner) or frozenset()
    return CompositeFacts(
        scores=tuple(sorted(scores)) if len(scores) <= PROOFS.scores else (),
        threshold=inner.threshold,
        may_miss=not is_sure and any(map(inner.may_skip, inner.checks)),
        may_err=not is_portable or (not is_sure and any(check.may_err for check in inner.checks)),
    )
