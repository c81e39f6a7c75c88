"""Reads the value by which a judge answers, for each score type.

It becomes a score in [0, 1], or a problem in words, or None where nothing applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import write_canonical
from evalstore.model import Judge, ScoreType, parse_fraction
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.text import SHORT_EXCERPT, make_excerpt

NUMBER = (
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"  # of a score that a pattern captures
)
VERDICTS = {"pass": True, "yes": True, "true": True, "fail": False, "no": False, "false": False}
# What a judge says if its question does not apply to the output, besides null with a reason.
NOT_APPLICABLE = frozenset({"n/a", "na", "not applicable", "not_applicable", "not-applicable"})
VERDICT_KEY = "verdict"
_CONTRADICTION = "its verdict contradicts its score"
_HALF = Fraction(1, 2)
# The keys that answer for each score type, and how a value under them becomes a score.
_Read = Callable[[Judge, Any], Fraction | str]
# A score, a problem in words, or None if the judge says that it is not applicable.
ReplyAnswer = Fraction | str | None


def has_idle_verdict(value: Mapping[str, Any]) -> bool:
    """Whether an object has the verdict `n/a`, which a judge may give whatever its scale."""
    return any(
        key.lower() == VERDICT_KEY and is_not_applicable(item) for key, item in value.items()
    )


def is_not_applicable(value: Any) -> bool:
    """Whether a value says that the question does not apply to the output."""
    return isinstance(value, str) and value.strip().lower() in NOT_APPLICABLE


def read_answer(judge: Judge, value: Mapping[str, Any], *, has_words: bool) -> ReplyAnswer:
    """Return what an object answers under all keys of the score type, which must agree."""
    # A reply may have both `verdict` and `score`, or one of them twice: they must agree, and
    # nothing is guessed.
    readers = ANSWER_KEYS[judge.score_type]
    is_idle = has_idle_verdict(value)
    has_words = has_words or is_idle
    pairs = [(key.lower(), item) for key, item in value.items()]
    answers = [(key, item) for key, item in pairs if key in readers]
    scores = [_read_value(judge, key, item, has_words=has_words) for key, item in answers]
    if VERDICT_KEY not in readers and is_idle:
        scores.append(None)
    if len(set(scores)) > 1:
        return next((score for score in scores if isinstance(score, str)), _CONTRADICTION)
    score = scores[0]
    if isinstance(score, Fraction) and VERDICT_KEY not in readers:
        verdicts = (item for key, item in pairs if key == VERDICT_KEY)
        if any(_contradicts(judge, verdict, score) for verdict in verdicts):
            return _CONTRADICTION
    return score


def _read_value(judge: Judge, key: str, item: Any, *, has_words: bool) -> ReplyAnswer:
    """Return what the value under one key answers.

    There is no score if it is null with words, or `n/a` and not a level.
    """
    is_named = isinstance(item, str) and item in (judge.levels or {})
    if (item is None and has_words) or (is_not_applicable(item) and not is_named):
        return None
    return ANSWER_KEYS[judge.score_type][key](judge, item)


def _contradicts(judge: Judge, verdict: Any, score: Fraction) -> bool:
    """Whether a verdict contradicts a score.

    Between half and the threshold a judge may say either.
    """
    passes = _read_verdict(judge, verdict)
    if isinstance(passes, str):
        return False
    return score < _HALF if passes else score >= JUDGED_THRESHOLD


def is_spelled(judge: Judge, capture: str) -> bool:
    """Whether a captured text is written like an answer, though perhaps outside the scale."""
    if judge.score_type is ScoreType.CONTINUOUS and not is_not_applicable(capture):
        return to_number(capture) is not None
    return not isinstance(read_captured(judge, capture), str)


def read_captured(judge: Judge, capture: str) -> ReplyAnswer:
    """Return what a captured text answers."""
    if is_not_applicable(capture) and capture not in (judge.levels or {}):
        return None
    return CAPTURED_ANSWERS[judge.score_type](judge, capture)


def read_scaled_score(judge: Judge, value: Any) -> Fraction | str:
    """Return a number of the judge's scale as a share of it, or the problem in words."""
    number = to_number(value)
    if number is None:
        return f"the score is not a number but {_describe_value(value)}"
    score = parse_fraction(number)
    if not judge.least <= score <= judge.most:
        return (
            f"the score {_describe_value(value)} is outside the scale, {judge.least} to "
            f"{judge.most}"
        )
    return (score - judge.least) / (judge.most - judge.least)


def _read_verdict(_: Judge, value: Any) -> Fraction | str:
    word = value.strip().lower() if isinstance(value, str) else ""
    holds = value if isinstance(value, bool) else VERDICTS.get(word)
    if holds is None:
        return f"the verdict {_describe_value(value)} is none of {', '.join(VERDICTS)}"
    return Fraction(int(holds))


def _read_verdict_score(_: Judge, value: Any) -> Fraction | str:
    number = to_number(value)
    if number in {0, 1}:
        return Fraction(number)
    return f"the score of a binary judge is 0 or 1, not {_describe_value(value)}"


def _read_verdict_text(judge: Judge, text: str) -> Fraction | str:
    word = text.strip()
    return Fraction(word) if word in {"0", "1"} else _read_verdict(judge, word)


def read_level_score(judge: Judge, value: Any) -> Fraction | str:
    """Return the score of a level by its name, or the problem in words."""
    levels = judge.levels or {}
    if isinstance(value, str) and value in levels:
        return levels[value]
    return f"the level {_describe_value(value)} is none of {make_excerpt(', '.join(levels))}"


ANSWER_KEYS: Mapping[ScoreType, Mapping[str, _Read]] = {
    ScoreType.BINARY: {"verdict": _read_verdict, "score": _read_verdict_score},
    ScoreType.CONTINUOUS: {"score": read_scaled_score},
    ScoreType.LEVELS: {"level": read_level_score},
}


CAPTURED_ANSWERS: Mapping[ScoreType, _Read] = {
    ScoreType.BINARY: _read_verdict_text,
    ScoreType.CONTINUOUS: read_scaled_score,
    ScoreType.LEVELS: read_level_score,
}


def to_number(value: Any) -> int | Decimal | None:
    """Return a number, which some models put in quotes; None for anything else."""
    if isinstance(value, str):
        return Decimal(value.strip()) if re.fullmatch(NUMBER, value.strip()) else None
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _describe_value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return (
        quote_excerpt(value)
        if isinstance(value, str)
        else make_excerpt(write_canonical(value), SHORT_EXCERPT)
    )


def quote_excerpt(text: str) -> str:
    """Return the beginning of a text in quotes, for a message."""
    return f"'{make_excerpt(text.strip(), SHORT_EXCERPT)}'"
