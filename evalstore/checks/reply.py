"""Reads a judge's reply: a score in [0, 1] and words, that nothing applies, or a problem."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.checks.reply_keys import (
    find_first_object,
    join_texts,
    parse_object,
    read_level,
    read_score,
    read_verdict,
)
from evalstore.checks.reply_patterns import compile_object_pattern, find_captured_answer
from evalstore.checks.reply_schema import WORD_KEYS
from evalstore.checks.reply_text import (
    AnswerObject,
    ReplyError,
    find_object,
    read_plain_object,
    take_off_reasoning,
)
from evalstore.checks.reply_values import (
    ANSWER_KEYS,
    CAPTURED_ANSWERS,
    NUMBER,
    VERDICT_KEY,
    VERDICTS,
    ReplyAnswer,
    has_idle_verdict,
    quote_excerpt,
    read_answer,
    read_level_score,
    read_scaled_score,
)
from evalstore.documents import read_json
from evalstore.errors import LoadError
from evalstore.model import Judge, JudgeReply
from evalstore.model.judge import FirstPrompt, ReplyKeys
from evalstore.text import LONG_EXCERPT, SHORT_EXCERPT, make_excerpt

_FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_CUT = {
    "length": "the reply was cut off at its maximum length: raise the model's max_tokens",
    "content_filter": "the reply was held back by the endpoint's content filter",
    "refusal": "the model refused to answer",
}


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply says: a score in [0, 1] and the judge's words, or the problem in words.

    With a problem there is no score.

    `level` is the name of the level with that score, if the judge gives levels. A judge that says
    `n/a` gave an answer without a score (`is_applicable` is False), with its words.
    """

    score: Fraction | None
    words: str = ""
    level: str = ""
    is_applicable: bool = True

    @property
    def is_answer(self) -> bool:
        """Whether the judge answered, even if only that there is nothing to judge."""
        return self.score is not None or not self.is_applicable


@dataclass(frozen=True, slots=True)
class ParsedFirst:
    """The text that the reply to a first prompt fills in; None if there is a problem, in words."""

    text: str | None
    problem: str = ""


def read_reply(judge: Judge, reply: JudgeReply, *, output: str = "") -> ParsedReply:
    """Read one reply: JSON with the key of the score type, else what `reply_pattern` finds.

    A verdict `n/a`, or null with the judge's words next to it, is the answer that nothing applies.

    The JSON is the whole reply, or the entire content of its one fenced block, or the one such
    object in the prose after the model's reasoning; the judge's words are the first text of
    `WORD_KEYS` in it. The pattern's first group is the answer. If there are several answers, or the
    only one may be quoted from `output`, which is the answer under review, nobody can tell which is
    the judge's, and the reply has none.

    A judge that names keys in `reads` is read accordingly, without such care.
    """
    text = reply.text.strip()
    if problem := reply.problem or _CUT.get(reply.finish) or ("" if text else "the reply is empty"):
        return ParsedReply(None, make_excerpt(problem))
    if judge.reads:
        return _read_by_keys(judge, judge.reads, text)
    value, broken = _parse_json(judge, text)
    if isinstance(value, dict) and (
        any(key in value for key in ANSWER_KEYS[judge.score_type]) or has_idle_verdict(value)
    ):
        return _to_answer(judge, value)
    try:
        prose = take_off_reasoning(text)
        if judge.reply_pattern is not None:
            found = find_captured_answer(judge, judge.reply_pattern, prose)
            if found is not None:
                return _to_parsed_reply(judge, *found)
        # After the pattern, which reads such a reply as its author meant it.
        loose = read_plain_object(_open_fence(text)) if value is None and prose == text else value
        if isinstance(loose, dict) and _is_answer(judge, loose):
            return _to_answer(judge, loose)
        answer = _find_in_prose(judge, prose, output) if loose is None else None
    except ReplyError as problem:
        return ParsedReply(None, f"{problem}: {quote_excerpt(text)}")
    if answer is not None:
        return _to_answer(judge, answer.value, answer.rest)
    if judge.reply_pattern is not None:
        return ParsedReply(
            None, f"reply_pattern finds nothing in the reply: {quote_excerpt(prose)}"
        )
    return ParsedReply(
        None, broken or f"the reply's JSON is not an object with {_name_keys(judge)}"
    )


def _read_by_keys(judge: Judge, keys: ReplyKeys, text: str) -> ParsedReply:
    """Return what a reply's first object says under the judge's keys, or its pattern finds."""
    value = _find_object(text, keys.pattern)
    score = None if value is None else _find_by_keys(judge, keys, value)
    words = _find_words(value or {}) if keys.words is None else _get_text(value, keys.words)
    if score is not None and keys.words is not None and not words.strip():
        score = f"the reply has no words under {keys.words}: {quote_excerpt(text)}"
    if score is None and judge.reply_pattern is not None:
        score, capture = find_captured_answer(judge, judge.reply_pattern, text) or (None, "")
        if level := read_level(capture, judge.levels or {}):
            score = read_level_score(judge, level)
    if score is None:
        wanted = keys.level or keys.score or keys.verdict
        return ParsedReply(None, f"the reply has no object with {wanted}: {quote_excerpt(text)}")
    return _to_parsed_reply(judge, score, None, words)


def _find_object(text: str, pattern: str | None) -> Mapping[str, Any] | None:
    """Return the object in a reply: the first JSON that a pattern finds, else a text in braces."""
    if pattern is None:
        return find_first_object(text)
    matcher = compile_object_pattern(pattern)
    groups = None if isinstance(matcher, str) else matcher.find_groups(text)
    return parse_object(groups[0] or "") if groups else None


def _get_text(value: Mapping[str, Any] | None, key: str) -> str:
    said = (value or {}).get(key)
    return said if isinstance(said, str) else ""


def read_first_reply(first: FirstPrompt, reply: JudgeReply) -> ParsedFirst:
    """Read the reply to a judge's first prompt.

    Its text is the whole reply, or the texts of the list that the prompt's `key` names.
    """
    text = reply.text.strip()
    if problem := reply.problem or _CUT.get(reply.finish) or ("" if text else "the reply is empty"):
        return ParsedFirst(None, make_excerpt(problem))
    if first.key is None:
        return ParsedFirst(text)
    listed = join_texts((_find_object(text, first.pattern) or {}).get(first.key))
    if listed is None:
        return ParsedFirst(
            None, f"the first reply has no list of texts under {first.key}: {quote_excerpt(text)}"
        )
    return ParsedFirst(listed)


def _find_by_keys(judge: Judge, keys: ReplyKeys, value: Mapping[str, Any]) -> Fraction | str | None:
    """Return the score under a judge's keys, or a problem in words; None if nothing answers."""
    if keys.level is not None:
        said = value.get(keys.level)
        level = read_level(said, judge.levels or {})
        return read_level_score(judge, level or said) if isinstance(said, str) and said else None
    passes = keys.no_verdict
    if keys.verdict is not None and value.get(keys.verdict) is not None:
        passes = read_verdict(value[keys.verdict])
    if passes is False or (keys.verdict is not None and passes is None):
        return None if passes is None else Fraction(0)
    number = _read_number(keys, value)
    if number is None:
        return None if passes is None else Fraction(1)
    return read_scaled_score(judge, number)


def _read_number(keys: ReplyKeys, value: Mapping[str, Any]) -> int | Decimal | None:
    """Return the number in a reply's score.

    In an object found by a pattern, only a number counts.
    """
    if keys.score is None or keys.score not in value:
        return None
    said = value[keys.score]
    is_none = said is None or isinstance(said, bool) or (isinstance(said, str) and not said.strip())
    return None if keys.pattern is not None and is_none else read_score(said)


def _find_words(value: Mapping[str, Any]) -> str:
    """Return the judge's words in an object: the first text of `WORD_KEYS`."""
    said = {key.lower(): item for key, item in value.items() if isinstance(key, str)}
    texts = (said.get(key) for key in WORD_KEYS)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _name_keys(judge: Judge) -> str:
    return " or ".join(ANSWER_KEYS[judge.score_type])


def _is_answer(judge: Judge, value: Mapping[str, Any]) -> bool:
    return any(key.lower() in ANSWER_KEYS[judge.score_type] for key in value) or has_idle_verdict(
        value
    )


def _find_in_prose(judge: Judge, prose: str, output: str) -> AnswerObject | None:
    keys = ANSWER_KEYS[judge.score_type]
    found = find_object(prose, keys, output)
    if found is None and VERDICT_KEY not in keys:
        found = find_object(prose, (VERDICT_KEY,), output)
        return found if found and has_idle_verdict(found.value) else None
    return found


def _open_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced else text


def _to_answer(judge: Judge, value: Mapping[str, Any], rest: str = "") -> ParsedReply:
    """Return what an object answers; the text after it must not give a different score."""
    said = {key.lower(): item for key, item in value.items()}
    words = _find_words(value)
    score = read_answer(judge, value, has_words=bool(words))
    if not isinstance(score, str) and (other := _find_other_answer(judge, score, rest)):
        return ParsedReply(
            None,
            f"the reply has JSON with one answer, and another behind it: {quote_excerpt(other)}",
        )
    return _to_parsed_reply(judge, score, said.get("level"), words)


def _find_other_answer(judge: Judge, score: Fraction | None, rest: str) -> str:
    """Return where a text gives another score than the JSON before it, such as `Score: 2`.

    Else "".
    """
    names = (
        "|".join(map(re.escape, judge.levels or {}))
        or rf"{NUMBER}(?!\s*(?:to|or|-)\s*\d)|{'|'.join(VERDICTS)}"
    )
    stated = re.compile(
        rf"\b(?:score|verdict|level)\W{{1,4}}(?:is\W{{1,4}}|of\W{{1,4}})?({names})\b", re.IGNORECASE
    )
    for match in stated.finditer(rest):
        read = CAPTURED_ANSWERS[judge.score_type](judge, match[1])
        if isinstance(read, Fraction) and read != score:
            return match[0]
    return ""


def _to_parsed_reply(judge: Judge, score: ReplyAnswer, level: Any, words: str = "") -> ParsedReply:
    """Return a score, or none, with the judge's words, or the problem in its place."""
    if isinstance(score, str):
        return ParsedReply(None, score)
    if score is None:
        return ParsedReply(None, make_excerpt(words.strip(), LONG_EXCERPT), is_applicable=False)
    name = make_excerpt(level, SHORT_EXCERPT) if judge.levels and isinstance(level, str) else ""
    return ParsedReply(score, make_excerpt(words.strip(), LONG_EXCERPT), name)


def _parse_json(judge: Judge, text: str) -> tuple[Any, str]:
    """Return the value of a reply that is pure JSON, or why it cannot be read as that."""
    body = _open_fence(text)
    try:
        return read_json(body, "reply").value, ""
    except LoadError as error:
        if body is not text or text.startswith("{"):
            return None, f"the reply cannot be read, {error.message}: {quote_excerpt(text)}"
    what = f"has no JSON object with {_name_keys(judge)}" if "{" in text else "is not JSON"
    return (
        None,
        (
            f"the reply {what}, and the judge has no reply_pattern to find the answer: "
            f"{quote_excerpt(text)}"
        ),
    )
