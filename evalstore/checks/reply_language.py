"""Decides whether a judge's `reply_pattern` can find any answer of its score type: by languages, not by examples."""

from __future__ import annotations

import re
from functools import lru_cache

from evalstore.budget import SharedBudget
from evalstore.checks.reply import NUMBER, VERDICTS, find_pattern_problem
from evalstore.model import Judge, ScoreType
from evalstore.regex_inclusion import (
    QUESTION_STEPS,
    Expression,
    UndecidedError,
    build_group_language,
    build_pattern_language,
    find_memberships,
)

_KEPT = 1_000  # patterns whose answer is remembered


def is_pattern_idle(judge: Judge) -> bool:
    """Whether it is proved that no text which the judge's pattern captures is an answer; False where nobody can say."""
    pattern = judge.reply_pattern
    return pattern is not None and not find_pattern_problem(pattern) and _is_apart(pattern, _spell_answers(judge))


def _spell_answers(judge: Judge) -> Expression:
    """Return an expression that matches every text which is read as an answer; it may match more."""
    if judge.score_type is ScoreType.LEVELS:
        return Expression("|".join(map(re.escape, judge.levels or {})), "", "fullmatch")
    if judge.score_type is ScoreType.BINARY:
        return Expression(rf"\s*(?:{'|'.join(VERDICTS)}|[01])\s*", "i", "fullmatch")
    return Expression(rf"\s*(?:{NUMBER})\s*", "", "fullmatch")


@lru_cache(_KEPT)
def _is_apart(pattern: str, answers: Expression) -> bool:
    if re.fullmatch(answers.pattern, ""):
        return False  # a group that takes no part in a match is captured as the empty text
    try:
        languages = build_group_language(pattern, 1), build_pattern_language(answers)
        found = find_memberships(languages, SharedBudget(QUESTION_STEPS))
    except UndecidedError:
        return False
    return found.is_complete and (True, True) not in found.texts
