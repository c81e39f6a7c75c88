"""Reads a judge's reply: a score in [0, 1] and words, that nothing applies, or a problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalstore.budget import SharedBudget
from evalstore.checks.reply_keys import (
    find_first_object,
    join_texts,
    parse_object,
    read_level,
    read_score,
    read_verdict,
)
from evalstore.checks.reply_text import (
    AnswerObject,
    ReplyError,
    find_object,
    read_plain_object,
    take_off_reasoning,
)
from evalstore.documents import convert_fraction, read_json, write_canonical
from evalstore.errors import LoadError
from evalstore.model import Judge, JudgeReply, ScoreType, parse_fraction
from evalstore.model.judge import FirstPrompt, ReplyKeys
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.text import LONG_EXCERPT, SHORT_EXCERPT, make_excerpt

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import Expression
    from evalstore.languages.patterns import PatternMatcher

_FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
NUMBER = (
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"  # of a score that a pattern captures
)
VERDICTS = {"pass": True, "yes": True, "true": True, "fail": False, "no": False, "false": False}
# What a judge says if its question does not apply to the output, besides null with a reason.
_NOT_APPLICABLE = frozenset({"n/a", "na", "not applicable", "not_applicable", "not-applicable"})
_IDLE = "n/a"  # the one of those that a judge is told to use
_VERDICT = "verdict"
_CONTRADICTION = "its verdict contradicts its score"
_MENTIONS = (
    'The answer under review says "{}" to that.',
    "The answer under review says {} to that.",
)
_HALF = Fraction(1, 2)
# Where a reply's words are looked for, in order.
WORD_KEYS = (
    "rationale",
    "reason",
    "reasoning",
    "explanation",
)
_CUT = {
    "length": "the reply was cut off at its maximum length: raise the model's max_tokens",
    "content_filter": "the reply was held back by the endpoint's content filter",
    "refusal": "the model refused to answer",
}
# The keys that answer for each score type, and how a value under them becomes a score.
_Read = Callable[[Judge, Any], Fraction | str]
# A score, a problem in words, or None if the judge says that it is not applicable.
_Answer = Fraction | str | None


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
        any(key in value for key in _KEYS[judge.score_type]) or _says_not_applicable(value)
    ):
        return _to_answer(judge, value)
    try:
        prose = take_off_reasoning(text)
        if judge.reply_pattern is not None:
            found = _find_in_text(judge, judge.reply_pattern, prose)
            if found is not None:
                return _to_parsed_reply(judge, *found)
        # After the pattern, which reads such a reply as its author meant it.
        loose = read_plain_object(_open_fence(text)) if value is None and prose == text else value
        if isinstance(loose, dict) and _is_answer(judge, loose):
            return _to_answer(judge, loose)
        answer = _find_in_prose(judge, prose, output) if loose is None else None
    except ReplyError as problem:
        return ParsedReply(None, f"{problem}: {_quote_excerpt(text)}")
    if answer is not None:
        return _to_answer(judge, answer.value, answer.rest)
    if judge.reply_pattern is not None:
        return ParsedReply(
            None, f"reply_pattern finds nothing in the reply: {_quote_excerpt(prose)}"
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
        score = f"the reply has no words under {keys.words}: {_quote_excerpt(text)}"
    if score is None and judge.reply_pattern is not None:
        score, capture = _find_in_text(judge, judge.reply_pattern, text) or (None, "")
        if level := read_level(capture, judge.levels or {}):
            score = _read_level(judge, level)
    if score is None:
        wanted = keys.level or keys.score or keys.verdict
        return ParsedReply(None, f"the reply has no object with {wanted}: {_quote_excerpt(text)}")
    return _to_parsed_reply(judge, score, None, words)


def _find_object(text: str, pattern: str | None) -> Mapping[str, Any] | None:
    """Return the object in a reply: the first JSON that a pattern finds, else a text in braces."""
    if pattern is None:
        return find_first_object(text)
    matcher = _compile_search(pattern)
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
            None, f"the first reply has no list of texts under {first.key}: {_quote_excerpt(text)}"
        )
    return ParsedFirst(listed)


def _find_by_keys(judge: Judge, keys: ReplyKeys, value: Mapping[str, Any]) -> Fraction | str | None:
    """Return the score under a judge's keys, or a problem in words; None if nothing answers."""
    if keys.level is not None:
        said = value.get(keys.level)
        level = read_level(said, judge.levels or {})
        return _read_level(judge, level or said) if isinstance(said, str) and said else None
    passes = keys.no_verdict
    if keys.verdict is not None and value.get(keys.verdict) is not None:
        passes = read_verdict(value[keys.verdict])
    if passes is False or (keys.verdict is not None and passes is None):
        return None if passes is None else Fraction(0)
    number = _read_number(keys, value)
    if number is None:
        return None if passes is None else Fraction(1)
    return _read_score(judge, number)


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
    return " or ".join(_KEYS[judge.score_type])


def _is_answer(judge: Judge, value: Mapping[str, Any]) -> bool:
    return any(key.lower() in _KEYS[judge.score_type] for key in value) or _says_not_applicable(
        value
    )


def _says_not_applicable(value: Mapping[str, Any]) -> bool:
    """Whether an object has the verdict `n/a`, which a judge may give whatever its scale."""
    return any(key.lower() == _VERDICT and _is_not_applicable(item) for key, item in value.items())


def _is_not_applicable(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _NOT_APPLICABLE


def _find_in_prose(judge: Judge, prose: str, output: str) -> AnswerObject | None:
    keys = _KEYS[judge.score_type]
    found = find_object(prose, keys, output)
    if found is None and _VERDICT not in keys:
        found = find_object(prose, (_VERDICT,), output)
        return found if found and _says_not_applicable(found.value) else None
    return found


def _open_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced else text


def _to_answer(judge: Judge, value: Mapping[str, Any], rest: str = "") -> ParsedReply:
    """Return what an object answers; the text after it must not give a different score."""
    said = {key.lower(): item for key, item in value.items()}
    words = _find_words(value)
    score = _find_in_json(judge, value, has_words=bool(words))
    if not isinstance(score, str) and (other := _find_other_answer(judge, score, rest)):
        return ParsedReply(
            None,
            f"the reply has JSON with one answer, and another behind it: {_quote_excerpt(other)}",
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
        read = _CAPTURED[judge.score_type](judge, match[1])
        if isinstance(read, Fraction) and read != score:
            return match[0]
    return ""


def build_reply_schema(judge: Judge, *, may_be_idle: bool = False) -> dict[str, Any]:
    """Return the `response_format` of a request for JSON: first the judge's words, then the answer.

    `may_be_idle`: it also allows the answer that the question does not apply.
    """
    values: dict[str, Any]
    if judge.score_type is ScoreType.CONTINUOUS:
        least, most = convert_fraction(judge.least), convert_fraction(judge.most)
        answer, values = "score", {"type": "number", "minimum": least, "maximum": most}
    elif judge.score_type is ScoreType.LEVELS:
        answer, values = "level", {"type": "string", "enum": list(judge.levels or {})}
    else:
        answer, values = "verdict", {"type": "string", "enum": ["pass", "fail"]}
    if may_be_idle and answer == "score":
        values["type"] = [values["type"], "null"]
    elif may_be_idle:
        # A level may have that name; null is not a level.
        has_name = _NOT_APPLICABLE.isdisjoint(map(str.lower, values["enum"]))
        values["type"] = values["type"] if has_name else [values["type"], "null"]
        values["enum"].append(_IDLE if has_name else None)
    answer = getattr(judge.reads, answer, None) or answer
    schema = {
        "type": "object",
        "properties": {WORD_KEYS[0]: {"type": "string"}, answer: values},
        "required": [WORD_KEYS[0], answer],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "judgement", "strict": True, "schema": schema},
    }


def find_pattern_problem(pattern: str) -> str | None:
    """Return why a judge's `reply_pattern` can find no answer, or None."""
    matcher = _compile(pattern)
    return matcher if isinstance(matcher, str) else None


def find_pattern_limit(pattern: str) -> str | None:
    """Say from which length on a judge's `reply_pattern` does not search a reply, or None."""
    matcher = _compile(pattern)
    return None if isinstance(matcher, str) else matcher.limit_problem


def find_object_pattern_problem(pattern: str) -> str | None:
    """Return why a pattern can find no object in a reply, or None."""
    matcher = _compile_search(pattern)
    return matcher if isinstance(matcher, str) else matcher.limit_problem


def _compile_search(pattern: str) -> PatternMatcher | str:
    from evalstore.languages.patterns import compile_matcher

    return compile_matcher(pattern, "", "search")


def _compile(pattern: str) -> PatternMatcher | str:
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
            found = _find_in_text(judge, pattern, mention.format(answer))
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


def _to_parsed_reply(judge: Judge, score: _Answer, level: Any, words: str = "") -> ParsedReply:
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
            return None, f"the reply cannot be read, {error.message}: {_quote_excerpt(text)}"
    what = f"has no JSON object with {_name_keys(judge)}" if "{" in text else "is not JSON"
    return (
        None,
        (
            f"the reply {what}, and the judge has no reply_pattern to find the answer: "
            f"{_quote_excerpt(text)}"
        ),
    )


def _find_in_json(judge: Judge, value: Mapping[str, Any], *, has_words: bool) -> _Answer:
    # A reply may have both `verdict` and `score`, or one of them twice: they must agree, and
    # nothing is guessed.
    readers = _KEYS[judge.score_type]
    is_idle = _says_not_applicable(value)
    has_words = has_words or is_idle
    pairs = [(key.lower(), item) for key, item in value.items()]
    answers = [(key, item) for key, item in pairs if key in readers]
    scores = [_read_value(judge, key, item, has_words=has_words) for key, item in answers]
    if _VERDICT not in readers and is_idle:
        scores.append(None)
    if len(set(scores)) > 1:
        return next((score for score in scores if isinstance(score, str)), _CONTRADICTION)
    score = scores[0]
    if isinstance(score, Fraction) and _VERDICT not in readers:
        verdicts = (item for key, item in pairs if key == _VERDICT)
        if any(_contradicts(judge, verdict, score) for verdict in verdicts):
            return _CONTRADICTION
    return score


def _read_value(judge: Judge, key: str, item: Any, *, has_words: bool) -> _Answer:
    """Return what the value under one key answers.

    There is no score if it is null with words, or `n/a` and not a level.
    """
    is_named = isinstance(item, str) and item in (judge.levels or {})
    if (item is None and has_words) or (_is_not_applicable(item) and not is_named):
        return None
    return _KEYS[judge.score_type][key](judge, item)


def _contradicts(judge: Judge, verdict: Any, score: Fraction) -> bool:
    """Whether a verdict contradicts a score.

    Between half and the threshold a judge may say either.
    """
    passes = _read_verdict(judge, verdict)
    if isinstance(passes, str):
        return False
    return score < _HALF if passes else score >= JUDGED_THRESHOLD


def _is_spelled(judge: Judge, capture: str) -> bool:
    """Whether a captured text is written like an answer, though perhaps outside the scale."""
    if judge.score_type is ScoreType.CONTINUOUS and not _is_not_applicable(capture):
        return _to_number(capture) is not None
    return not isinstance(_read_captured(judge, capture), str)


def _read_captured(judge: Judge, capture: str) -> _Answer:
    if _is_not_applicable(capture) and capture not in (judge.levels or {}):
        return None
    return _CAPTURED[judge.score_type](judge, capture)


def _find_in_text(judge: Judge, pattern: str, text: str) -> tuple[_Answer, str] | None:
    """Return the score in a text, or the problem, and the captured text.

    Returns None if nothing is captured.
    """
    matcher = _compile(pattern)
    if isinstance(matcher, str):
        return f"reply_pattern: {matcher}", ""
    found = matcher.list_captures(text)
    if found is None:
        return f"reply_pattern {matcher.describe_excess(text)}", ""
    captures = list(dict.fromkeys(found))
    if not any(_is_spelled(judge, capture) for capture in captures):
        return (_read_captured(judge, captures[0]), captures[0]) if captures else None
    answers = list(dict.fromkeys(_read_captured(judge, capture) for capture in captures))
    if len(answers) > 1:
        several = " and ".join(_quote_excerpt(capture) for capture in captures[:2])
        return f"reply_pattern finds {len(captures)} different answers, such as {several}", ""
    return answers[0], captures[0]


def _read_score(judge: Judge, value: Any) -> Fraction | str:
    number = _to_number(value)
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
    number = _to_number(value)
    if number in {0, 1}:
        return Fraction(number)
    return f"the score of a binary judge is 0 or 1, not {_describe_value(value)}"


def _read_verdict_text(judge: Judge, text: str) -> Fraction | str:
    word = text.strip()
    return Fraction(word) if word in {"0", "1"} else _read_verdict(judge, word)


def _read_level(judge: Judge, value: Any) -> Fraction | str:
    levels = judge.levels or {}
    if isinstance(value, str) and value in levels:
        return levels[value]
    return f"the level {_describe_value(value)} is none of {make_excerpt(', '.join(levels))}"


_KEYS: Mapping[ScoreType, Mapping[str, _Read]] = {
    ScoreType.BINARY: {"verdict": _read_verdict, "score": _read_verdict_score},
    ScoreType.CONTINUOUS: {"score": _read_score},
    ScoreType.LEVELS: {"level": _read_level},
}
_CAPTURED: Mapping[ScoreType, _Read] = {
    ScoreType.BINARY: _read_verdict_text,
    ScoreType.CONTINUOUS: _read_score,
    ScoreType.LEVELS: _read_level,
}


def _to_number(value: Any) -> int | Decimal | None:
    """Return a number, which some models put in quotes; None for anything else."""
    if isinstance(value, str):
        return Decimal(value.strip()) if re.fullmatch(NUMBER, value.strip()) else None
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _describe_value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return (
        _quote_excerpt(value)
        if isinstance(value, str)
        else make_excerpt(write_canonical(value), SHORT_EXCERPT)
    )


def _quote_excerpt(text: str) -> str:
    return f"'{make_excerpt(text.strip(), SHORT_EXCERPT)}'"


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
