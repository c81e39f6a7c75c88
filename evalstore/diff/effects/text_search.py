"""Searches the texts that tell the checks of a rubric apart, and holds each against the scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import starmap
from operator import eq
from typing import TYPE_CHECKING

from evalstore.budget import SharedBudget
from evalstore.diff.answers.joint import (
    States,
    VariableNumbers,
    read_text_check,
)
from evalstore.diff.answers.text_scores import TextScore
from evalstore.diff.limits import EFFECTS
from evalstore.diff.rubric_state import CheckState, RubricState

# Its names are imported where texts are searched.
from evalstore.languages import pattern_comparison
from evalstore.model import Output, Sample

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import MembershipTable, RegexTree

    _Languages = tuple[RegexTree, ...]


def search_changed_texts(
    pair: States, numbers: VariableNumbers, budget: SharedBudget
) -> tuple[_Languages, MembershipTable]:
    """Return the texts that tell the checks on one side only apart; none if they are too many."""
    old, new = ({numbers[id(check)] for check in state.checks} for state in pair)
    changed = []
    for state in pair:
        checks = tuple(check for check in state.checks if numbers[id(check)] in old ^ new)
        changed.append(replace(state, checks=checks))
    return search_texts(numbers, changed, budget) or ((), make_empty_table())


def make_empty_table() -> MembershipTable:
    """Return the table where no text is read: one combination, of nothing."""
    return pattern_comparison.MembershipTable({(): ""}, is_complete=True)


def search_texts(
    numbers: VariableNumbers, states: Sequence[RubricState], budget: SharedBudget
) -> tuple[_Languages, MembershipTable] | None:
    """Return the combinations that texts have; None if not all are found or confirmed."""
    checks = {numbers[id(check)]: check for state in states for check in state.checks}
    scores = {
        number: score for number, check in checks.items() if (score := read_text_check(check))
    }
    languages = tuple(
        dict.fromkeys(language for score in scores.values() for language in score.languages)
    )
    if not languages:
        return (), make_empty_table()
    if len(languages) > EFFECTS.languages:
        return None
    table, spent = _find_memberships(languages, min(EFFECTS.search_steps, budget.left))
    budget.left -= spent
    if table is None:
        return None
    places = {language: place for place, language in enumerate(languages)}
    confirmed = all(
        _is_confirmed(checks[number], score, places, table) for number, score in scores.items()
    )
    return (languages, table) if table.is_complete and confirmed else None


@lru_cache(maxsize=64)
def _find_memberships(languages: _Languages, steps: int) -> tuple[MembershipTable | None, int]:
    """Return what texts have, and the steps it took; the same releases are compared often."""
    search = SharedBudget(steps)
    try:
        return pattern_comparison.find_memberships(languages, search), search.spent
    except pattern_comparison.UndecidedError:
        return None, search.spent


def _is_confirmed(
    check: CheckState, score: TextScore, places: Mapping[RegexTree, int], table: MembershipTable
) -> bool:
    """Whether the scorer gives every text the score that its languages say."""
    mine = [places[language] for language in score.languages]
    said = (score.compute(tuple(members[place] for place in mine)) for members in table.texts)
    return all(starmap(eq, zip(said, _grade_texts(check, table), strict=True)))


def _grade_texts(check: CheckState, table: MembershipTable) -> Iterator[Fraction | None]:
    from evalstore.checks import prepare_check

    grade = prepare_check(replace(check, negate=False).to_check())
    return (grade(Sample(Output(text))).score for text in table.texts.values())
