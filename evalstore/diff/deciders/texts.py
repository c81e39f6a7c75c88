"""Checks that look for text, compared by the outputs that they pass: patterns and phrases, negated or not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from evalstore.budget import SharedBudget
from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.rubric_state import CheckState
from evalstore.model import Output, Sample
from evalstore.regex_inclusion import (
    QUESTION_STEPS,
    Expression,
    LanguageComparison,
    LanguageRelation,
    RegexTree,
    UndecidedError,
    build_complement,
    build_pattern_language,
    build_phrase_language,
    compare_languages,
)


def compare_checks(old: CheckState, new: CheckState, budget: SharedBudget) -> LanguageComparison:
    """Return what the outputs that `new` passes are to those of `old`; undecided for kinds that seek no text."""
    question = SharedBudget(min(QUESTION_STEPS, budget.left))
    try:
        return _compare_outputs(old, new, question)
    except UndecidedError as error:
        return LanguageComparison(LanguageRelation.UNDECIDED, why=str(error))
    finally:
        # What the last request asked for beyond the limit is not taken from the questions to come.
        budget.spend(question.spent)


def _compare_outputs(old: CheckState, new: CheckState, question: SharedBudget) -> LanguageComparison:
    compared = compare_languages(_build_language(old), _build_language(new), question)
    if not compared.is_confirmed_by(partial(_passes_text, old), partial(_passes_text, new)):
        why = "the scorer answers otherwise than the comparison"
        return LanguageComparison(LanguageRelation.UNDECIDED, why=why)
    if _find_limit(old) != _find_limit(new):
        why = "one of them can take too many steps on a very long output"
        return replace(compared, relation=LanguageRelation.UNDECIDED, why=why)
    return compared


@name_decider("same_text")
def prove_same_text(change: Change) -> Proof | None:
    """Prove that the old and the new kind look for the same phrases, also where these are beyond what is compared."""
    before, after = change.checks
    old, new = _find_phrases(before), _find_phrases(after)
    if old is None or old != new or not (before.binary and after.binary):
        return None
    return Proof("both kinds look for the same plain text in the same way")


def _find_limit(check: CheckState) -> object:
    """Return what says on which outputs a check takes too many steps; None where it never does."""
    if check.kind != "regex":
        count = len(check.params["values"])
        return count if count > PHRASE_LIMIT else None
    return _read_expression(check) if check.may_err else None


def _build_language(check: CheckState) -> RegexTree:
    """Return the outputs that a check passes."""
    found, absent = _build_found_language(check), check.kind == "must_not_contain"
    return found if check.negate is absent else build_complement(found)


def _build_found_language(check: CheckState) -> RegexTree:
    params = check.params
    if check.kind == "regex":
        return build_pattern_language(_read_expression(check))
    if _needs_one_phrase(check):
        return build_phrase_language(params["values"], case_sensitive=params["case_sensitive"])
    raise UndecidedError("it is no check for one text of a list")


def _find_phrases(check: CheckState) -> tuple[object, ...] | None:
    """Return the phrases of a check, how they are read, and whether it passes with one of them or with none."""
    if not _needs_one_phrase(check):
        return None
    sensitive, values = check.params["case_sensitive"], check.params["values"]
    phrases = frozenset(values if sensitive else (value.lower() for value in values))
    return phrases, sensitive, check.negate is (check.kind == "must_contain_any")


def _needs_one_phrase(check: CheckState) -> bool:
    """Whether it looks for one phrase of a list, whichever."""
    return check.kind == "must_not_contain" or (check.kind == "must_contain_any" and check.params["min_matches"] == 1)


def _read_expression(check: CheckState) -> Expression:
    return Expression(check.params["pattern"], check.params["flags"], check.params["mode"])


def _passes_text(check: CheckState, text: str) -> bool | None:
    from evalstore.checks import prepare_check

    score = prepare_check(check.to_check())(Sample(Output(text))).score
    return None if score is None else score == 1
