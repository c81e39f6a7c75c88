"""Finds a text for each combination of answers that checks can give, and has the scorer confirm it.

Texts are put together if that gives every possible combination; else they are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import starmap
from operator import eq
from typing import TYPE_CHECKING

from evalstore.budget import SharedBudget
from evalstore.diff.answers.joint import KnownTexts, States, TextScores, VariableNumbers
from evalstore.diff.effects.assembled_texts import TextAssembly, TextGrader
from evalstore.diff.limits import EFFECTS
from evalstore.diff.rubric_state import CheckState, RubricState

# A lazy package: its names load on first use.
from evalstore.languages import pattern_comparison
from evalstore.model import Output, Sample

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import MembershipTable, RegexTree

    _Languages = tuple[RegexTree, ...]


def search_changed_texts(
    pair: States, numbers: VariableNumbers, scores: TextScores, budget: SharedBudget
) -> KnownTexts:
    """Return texts for the checks that are on one side only; none if there are too many."""
    old, new = ({numbers[id(check)] for check in state.checks} for state in pair)
    changed = []
    for state in pair:
        checks = tuple(check for check in state.checks if numbers[id(check)] in old ^ new)
        changed.append(replace(state, checks=checks))
    return search_texts(changed, numbers, scores, budget) or build_empty_texts(scores)


def build_empty_texts(scores: TextScores) -> KnownTexts:
    """Return what is known if no text is read: one combination, the empty one."""
    return KnownTexts(scores, {}, pattern_comparison.MembershipTable({(): ""}, is_complete=True))


def search_texts(
    states: Sequence[RubricState],
    numbers: VariableNumbers,
    scores: TextScores,
    budget: SharedBudget,
) -> KnownTexts | None:
    """Return all combinations that texts can have; None if not all are found or confirmed."""
    checks = {numbers[id(check)]: check for state in states for check in state.checks}
    read = [(check, score) for check in checks.values() if (score := scores.get(id(check)))]
    languages = tuple(dict.fromkeys(language for _, score in read for language in score.languages))
    if not languages:
        return build_empty_texts(scores)
    if len(languages) > EFFECTS.languages:
        return None
    places = {language: place for place, language in enumerate(languages)}
    graders = [
        TextGrader(
            score,
            tuple(places[language] for language in score.languages),
            _prepare_grading(check),
        )
        for check, score in read
    ]
    if len(languages) <= EFFECTS.assembled_languages and (
        assembled := TextAssembly(languages, graders).build_table()
    ):
        return KnownTexts(scores, places, assembled)
    table, spent = _find_memberships(languages, min(EFFECTS.search_steps, budget.left))
    budget.left -= spent
    if table is None:
        return None
    confirmed = all(_is_confirmed(grader, table) for grader in graders)
    return KnownTexts(scores, places, table) if table.is_complete and confirmed else None


@lru_cache(maxsize=64)
def _find_memberships(languages: _Languages, steps: int) -> tuple[MembershipTable | None, int]:
    """Return the combinations of languages that texts can have, and the steps that this took.

    Answers are cached, because the same releases are compared often.
    """
    search = SharedBudget(steps)
    try:
        return pattern_comparison.find_memberships(languages, search), search.spent
    except pattern_comparison.UndecidedError:
        return None, search.spent


def _is_confirmed(grader: TextGrader, table: MembershipTable) -> bool:
    """Whether the scorer gives every text the score that follows from its languages."""
    computed = map(grader.compute, table.texts)
    return all(starmap(eq, zip(computed, map(grader.grade, table.texts.values()), strict=True)))


def _prepare_grading(check: CheckState) -> Callable[[str], Fraction | None]:
    """Return a function from a text to the check's score before `negate`."""
    from evalstore.checks import prepare_check

    grade = prepare_check(replace(check, negate=False).to_check())
    return lru_cache(None)(lambda text: grade(Sample(Output(text))).score)
