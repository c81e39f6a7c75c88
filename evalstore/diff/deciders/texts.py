"""Checks that look for text, compared by the outputs that they pass: patterns and phrases, negated or not."""

from __future__ import annotations

from functools import partial

from evalstore.budget import SharedBudget
from evalstore.diff.change import Change, Proof
from evalstore.diff.state import CheckState
from evalstore.model import Output, Sample
from evalstore.regex_inclusion import (
    QUESTION_STEPS,
    Comparison,
    Expression,
    Side,
    UndecidedError,
    compare_sides,
    contains_any,
    language,
    room_of,
)
from evalstore.regex_inclusion.syntax_tree import Ahead, Tree


def compare_checks(old: CheckState, new: CheckState, budget: SharedBudget) -> Comparison:
    """Return what the outputs that `new` passes are beside those of `old`; open for kinds that do not look for text."""
    question = SharedBudget(min(QUESTION_STEPS, budget.left))
    compared = compare_sides(_side(old), _side(new), question)
    budget.spend(question.spent)
    return compared


def same_text(change: Change) -> Proof | None:
    """Prove that the old and the new kind look for the same phrases, also where these are beyond what is compared."""
    before, after = change.checks
    old, new = _sought(before), _sought(after)
    if old is None or old != new or not (before.binary and after.binary):
        return None
    return Proof("both kinds look for the same plain text in the same way")


def _side(check: CheckState) -> Side:
    side = Side(partial(_passed, check), partial(_passes, check))
    return side._replace(room=partial(room_of, _expression(check))) if check.kind == "regex" else side


def _passed(check: CheckState) -> Tree:
    found, absent = _found(check), check.kind == "must_not_contain"
    return found if check.negate is absent else Ahead(found, wanted=False)


def _found(check: CheckState) -> Tree:
    params = check.params
    if check.kind == "regex":
        return language(_expression(check))
    if _is_for_one(check):
        return contains_any(params["values"], case_sensitive=params["case_sensitive"])
    raise UndecidedError("it is no check for one text of a list")


def _sought(check: CheckState) -> tuple[object, ...] | None:
    """Return the phrases of a check, how they are read, and whether it passes with one of them or with none."""
    if not _is_for_one(check):
        return None
    sensitive, values = check.params["case_sensitive"], check.params["values"]
    phrases = frozenset(values if sensitive else (value.lower() for value in values))
    return phrases, sensitive, check.negate is (check.kind == "must_contain_any")


def _is_for_one(check: CheckState) -> bool:
    """Whether it looks for one phrase of a list, whichever."""
    return check.kind == "must_not_contain" or (check.kind == "must_contain_any" and check.params["min_matches"] == 1)


def _expression(check: CheckState) -> Expression:
    return Expression(check.params["pattern"], check.params["flags"], check.params["mode"])


def _passes(check: CheckState, text: str) -> bool | None:
    from evalstore.checks import prepare_check

    score = prepare_check(check.check())(Sample(Output(text))).score
    return None if score is None else score == 1
