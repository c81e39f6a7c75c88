"""Finds what each edit of scoring does to the score, alone and together with the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from evalstore.budget import SharedBudget
from evalstore.diff.answers.joint import (
    States,
    TextScores,
    VariableNumbers,
    drop_unchanged,
    list_joint_answers,
    measure_part,
    number_variables,
    read_text_scores,
)
from evalstore.diff.change import NOTHING_SHOWN, Change, MovingEdits, RubricEffect
from evalstore.diff.direction import (
    VERDICT_MODES,
)
from evalstore.diff.effects.rubric_effect import find_effect
from evalstore.diff.effects.scoring_edits import list_scoring_edits
from evalstore.diff.effects.text_search import build_empty_texts, search_changed_texts, search_texts
from evalstore.diff.limits import EFFECTS, PROOFS
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import RubricState


def attach_effects(
    changes: Sequence[Change], load: ArtifactLoader | None, moving: MovingEdits = NOTHING_SHOWN
) -> tuple[list[Change], RubricEffect | None]:
    """Return the changes, each edit of scoring with its effect, and the effect of all together.

    Edits in `moving` are skipped: it is already known that they move a score.
    """
    edits = list_scoring_edits(changes)
    if not edits or len(edits) >= EFFECTS.edits:
        return [*changes], None
    alone = [index for index in edits if index not in moving.alone]
    ends = changes[edits[0]].step.states[0], changes[edits[-1]].step.states[1]
    together = [] if moving.together or len(edits) == 1 else [ends]
    effects = find_effects([*(changes[index].states for index in alone), *together], load)
    found = dict(zip(alone, effects, strict=False))
    total = effects[-1] if together or (alone and len(edits) == 1) else None
    return [replace(change, effect=found.get(index)) for index, change in enumerate(changes)], total


def _list_read_settings(rubric: RubricState) -> tuple[object, ...]:
    """Return the settings that have an effect, so no policy for what cannot happen."""
    threshold: Fraction | None = rubric.threshold
    if rubric.needs_all:
        threshold = None
    elif rubric.combine in VERDICT_MODES and threshold:
        threshold = Fraction(1)
    missing = rubric.missing if any(check.may_miss for check in rubric.checks) else None
    return (
        rubric.combine,
        rubric.verdict,
        threshold,
        missing,
        rubric.errors if any(check.may_err for check in rubric.checks) else None,
    )


def find_effects(pairs: Sequence[States], load: ArtifactLoader | None) -> list[RubricEffect | None]:
    """Return the effect of each edit, given the rubric before and after; None if it is too much."""
    states = [state for pair in pairs for state in pair]
    budget, ways, numbers = SharedBudget(EFFECTS.total_steps), 0, number_variables(states)
    scores = read_text_scores(states)
    if any(len(state.checks) > EFFECTS.checks for state in states):
        return [_prove_no_effect(pair, numbers, scores, budget, load) for pair in pairs]
    common = search_texts(states, numbers, scores, budget)
    effects: list[RubricEffect | None] = []
    for pair in pairs:
        known = common or search_changed_texts(pair, numbers, scores, budget)
        answers = list_joint_answers(pair, numbers, known, load)
        fits = answers is not None and ways + answers.count <= EFFECTS.ways
        ways += answers.count if answers and fits else 0
        effects.append(
            find_effect(answers)
            if answers and fits
            else _prove_no_effect(pair, numbers, scores, budget, load)
        )
    return effects


def _prove_no_effect(
    pair: States,
    numbers: VariableNumbers,
    scores: TextScores,
    budget: SharedBudget,
    load: ArtifactLoader | None,
) -> RubricEffect | None:
    """Return the effect of an edit if the checks it changes prove that it moves nothing; else None.

    Then the changed checks contribute the same to the rubric's score on both sides, whatever the
    other checks answer.
    """
    old, new = pair
    if _list_read_settings(old) != _list_read_settings(new):
        return None
    changed = drop_unchanged(pair, numbers)
    if all(
        len(state.checks) == len(part.checks) for state, part in zip(pair, changed, strict=True)
    ):
        return None  # nothing is left out, so this would be as much work as all checks
    known = search_texts(changed, numbers, scores, budget) or build_empty_texts(scores)
    answers = list_joint_answers(changed, numbers, known, load)
    if answers is None or answers.count > PROOFS.ways:
        return None
    for answer in answers.list_distinct():
        sides = zip((answer.old, answer.new), changed, strict=True)
        before, after = (measure_part(state, results) for results, state in sides)
        if before != after:
            return None
    return RubricEffect(moves=False, ways=answers.count)
