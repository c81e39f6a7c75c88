"""Reads what the rubric behind a composite's pin can score, and whether it may lack a score."""

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
    """Return rubrics whose composites know the rubric behind every exact pin of both sides."""
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
    if inner.needs_all:  # its verdict is not that of its score
        return None
    is_sure = is_always_scored(inner)
    # An engine that only comes close answers for no check in strict mode, and so for none that
    # holds it.
    is_portable = all(check.is_portable for check in inner.checks)
    scores = find_attainable_scores(inner) or frozenset()
    return CompositeFacts(
        scores=tuple(sorted(scores)) if len(scores) <= PROOFS.scores else (),
        threshold=inner.threshold,
        may_miss=not is_sure and any(map(inner.may_skip, inner.checks)),
        may_err=not is_portable or (not is_sure and any(check.may_err for check in inner.checks)),
    )
