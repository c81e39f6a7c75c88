"""Finds the answer that a judge's pattern captures, and says what a pattern cannot find."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from evalstore.budget import SharedBudget
from evalstore.checks.reply_values import (
    NUMBER,
    VERDICTS,
    ReplyAnswer,
    is_spelled,
    quote_excerpt,
    read_captured,
)
from evalstore.model import Judge, ScoreType

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import Expression
    from evalstore.languages.patterns import PatternMatcher

_MENTIONS = (
    'The answer under review says "{}" to that.',
    "The answer under review says {} to that.",
)


def find_pattern_problem(pattern: str) -> str | None:
    """Return why a judge's `reply_pattern` can find no answer, or None."""
    matcher = compile_reply_pattern(pattern)
    return matcher if isinstance(matcher, str) else None


def find_pattern_limit(pattern: str) -> str | None:
    """Say from which length on a judge's `reply_pattern` does not search a reply, or None."""
    matcher = compile_reply_pattern(pattern)
    return None if isinstance(matcher, str) else matcher.limit_problem


def find_object_pattern_problem(pattern: str) -> str | None:
    """Return why a pattern can find no object in a reply, or None."""
    matcher = compile_object_pattern(pattern)
    return matcher if isinstance(matcher, str) else matcher.limit_problem


def compile_object_pattern(pattern: str) -> PatternMatcher | str:
    """Return the matcher of a pattern that finds an object, or the problem in words."""
    from evalstore.languages.patterns import compile_matcher

    return compile_matcher(pattern, "", "search")


def compile_reply_pattern(pattern: str) -> PatternMatcher | str:
    """Return the matcher of a pattern that captures an answer, or the problem in words."""
    from evalstore.languages.patterns import compile_matcher

    matcher = compile_matcher(pattern, "", "findall")
    if isinstance(matcher, str) or matcher.groups:
        return matcher
    return "the pattern has no group: put the answer in its first group"


def find_quoted_answer(judge: Judge) -> str | None:
    """Return an answer that `reply_pattern` takes from a reply that only mentions it, or None.

    Such a pattern finds an answer in the output that a reply quotes, and the author of the output
    chooses it.
    """
    pattern = judge.reply_pattern
    if pattern is None or find_pattern_problem(pattern):
        return None
    for answer in _list_answers(judge):
        for mention in _MENTIONS:
            found = find_captured_answer(judge, pattern, mention.format(answer))
            if found is not None and isinstance(found[0], Fraction):
                return answer
    return None


def _list_answers(judge: Judge) -> list[str]:
    if judge.score_type is ScoreType.BINARY:
        return [*VERDICTS, "1", "0"]
    if judge.score_type is ScoreType.LEVELS:
        return list(judge.levels or {})
    middle = (judge.least + judge.most) / 2
    return [f"{number:g}" for number in map(float, (judge.most, judge.least, middle))]


def find_captured_answer(judge: Judge, pattern: str, text: str) -> tuple[ReplyAnswer, str] | None:
    """Return the score in a text, or the problem, and the captured text.

    Returns None if nothing is captured.
    """
    matcher = compile_reply_pattern(pattern)
    if isinstance(matcher, str):
        return f"reply_pattern: {matcher}", ""
    found = matcher.list_captures(text)
    if found is None:
        return f"reply_pattern {matcher.describe_excess(text)}", ""
    captures = list(dict.fromkeys(found))
    if not any(is_spelled(judge, capture) for capture in captures):
        return (read_captured(judge, captures[0]), captures[0]) if captures else None
    answers = list(dict.fromkeys(read_captured(judge, capture) for capture in captures))
    if len(answers) > 1:
        several = " and ".join(quote_excerpt(capture) for capture in captures[:2])
        return f"reply_pattern finds {len(captures)} different answers, such as {several}", ""
    return answers[0], captures[0]


def is_pattern_idle(judge: Judge) -> bool:
    """Whether it is proved that the judge's pattern captures no text that is an answer.

    False if that is unknown.
    """
    pattern = judge.reply_pattern
    return (
        pattern is not None
        and not find_pattern_problem(pattern)
        and _is_apart(pattern, _spell_answers(judge))
    )


def _spell_answers(judge: Judge) -> Expression:
    """Return an expression that matches every text read as an answer; it may match more."""
    from evalstore.languages.pattern_comparison import Expression

    if judge.score_type is ScoreType.LEVELS:
        return Expression("|".join(map(re.escape, judge.levels or {})), "", "fullmatch")
    if judge.score_type is ScoreType.BINARY:
        return Expression(rf"\s*(?:{'|'.join(VERDICTS)}|[01])\s*", "i", "fullmatch")
    return Expression(rf"\s*(?:{NUMBER})\s*", "", "fullmatch")


@lru_cache(1_000)  # patterns whose answer is remembered
def _is_apart(pattern: str, answers: Expression) -> bool:
    if re.fullmatch(answers.pattern, ""):
        return False  # a group that takes no part in a match is captured as the empty text
    from evalstore.languages.pattern_comparison import (
        QUESTION_STEPS,
        UndecidedError,
        build_group_language,
        build_pattern_language,
        find_memberships,
    )

    try:
        languages = build_group_language(pattern, 1), build_pattern_language(answers)
        found = find_memberships(languages, SharedBudget(QUESTION_STEPS))
    except UndecidedError:
        return False
    return found.is_complete and (True, True) not in found.texts
