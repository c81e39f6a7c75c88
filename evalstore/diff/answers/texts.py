"""What a check that looks for text says about any text, and two such checks compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from evalstore.budget import SharedBudget
from evalstore.checks.steps import NOTHING_KEY, STEPS_KEY
from evalstore.diff.answers.text_scores import TextScore
from evalstore.diff.kinds import KINDS, find_plain_kind
from evalstore.diff.rubric_state import CheckState
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)
from evalstore.model import Output, Sample

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import (
        LanguageComparison,
        RegexTree,
    )


def read_text_score(check: CheckState) -> TextScore | None:
    """Return a check as a function of the text; None if it reads more or a language is unknown."""
    try:
        return KINDS[check.kind].text_score(check.params)
    except pattern_comparison.UndecidedError:
        return None


def compare_checks(old: CheckState, new: CheckState, budget: SharedBudget) -> LanguageComparison:
    """Compare the set of outputs that `new` passes with the set that `old` passes.

    A kind that does not look for text is undecided.
    """
    question = SharedBudget(min(pattern_comparison.QUESTION_STEPS, budget.left))
    try:
        return _compare_outputs(old, new, question)
    except pattern_comparison.UndecidedError as error:
        return pattern_comparison.LanguageComparison(
            pattern_comparison.LanguageRelation.UNDECIDED, why=str(error)
        )
    finally:
        # `spent` is capped: a last request beyond the limit takes nothing from later questions.
        budget.spend(question.spent)


def _compare_outputs(
    old: CheckState, new: CheckState, question: SharedBudget
) -> LanguageComparison:
    if any(old.params.get(name) != new.params.get(name) for name in (STEPS_KEY, NOTHING_KEY)):
        raise pattern_comparison.UndecidedError("they read different parts of the output")
    compared = pattern_comparison.compare_languages(
        _build_language(old), _build_language(new), question
    )
    if not compared.is_confirmed_by(partial(_passes_text, old), partial(_passes_text, new)):
        why = "the scorer and the comparison disagree"
        return pattern_comparison.LanguageComparison(
            pattern_comparison.LanguageRelation.UNDECIDED, why=why
        )
    if _find_limit(old) != _find_limit(new):
        why = "one of them can take too many steps on a very long output"
        return replace(compared, relation=pattern_comparison.LanguageRelation.UNDECIDED, why=why)
    return compared


def _find_limit(check: CheckState) -> object:
    """Return what decides on which outputs a check takes too many steps; None if it never does."""
    return KINDS[check.kind].step_limit(check.params)


def _build_language(check: CheckState) -> RegexTree:
    """Return the outputs that a check passes."""
    if find_plain_kind(check.kind) != check.kind:
        raise pattern_comparison.UndecidedError("the question says what is looked for")
    kind = KINDS[check.kind]
    if (found := kind.found_language(check.params)) is None:
        raise pattern_comparison.UndecidedError("it is not a check for one text of a list")
    return found if check.negate is kind.bans else pattern_comparison.build_complement(found)


def _passes_text(check: CheckState, text: str) -> bool | None:
    """Whether a check passes a text if it reads all of it; None if unscored."""
    from evalstore.checks import prepare_check

    whole = replace(check, params={**check.params, STEPS_KEY: None})
    score = prepare_check(whole.to_check())(Sample(Output(text))).score
    return None if score is None else score == 1
