"""Finds a reply of a model that gets another score after one edit of its judge."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product
from typing import Any

from evalstore.checks.reply import read_reply
from evalstore.diff.change import Change
from evalstore.diff.deciders.judges import read_judge_value
from evalstore.diff.findings import (
    ReplyWitness,
)
from evalstore.diff.limits import COMPARED, REPLIES
from evalstore.documents import convert_fraction, write_canonical
from evalstore.model import Judge, JudgeReply, ScoreType

# The keys of a judge that decide what a reply means, by the name of the edit. An edit of the levels
# includes their scores.
_READING: Mapping[str, tuple[str, ...]] = {
    "score_type": ("score_type",),
    "scale": ("scale",),
    "level_names": ("level_names", "level_scores"),
    "level_scores": ("level_scores",),
    "reply_pattern": ("reply_pattern",),
    "reads": ("reads",),
}

_WORDS = ("pass", "fail", "yes", "no", "1", "0")

# A digit other than 0 to 9: only some patterns match it as a digit.
_OTHER_DIGIT = "\N{ARABIC-INDIC DIGIT THREE}"
_CATEGORIES = {"CATEGORY_DIGIT": "3", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}


def find_reply(change: Change) -> ReplyWitness | None:
    """Return the shortest reply that gets another score, preferably with a score on both sides."""
    sides = _read_sides(change)
    if sides is None:
        return None
    replies = dict.fromkeys(reply for reply in _list_replies(sides) if len(reply) <= REPLIES.length)
    found = []
    for reply in islice(replies, REPLIES.tried):
        old, new = (read_reply(judge, JudgeReply(reply)).score for judge in sides)
        if old != new:
            found.append(ReplyWitness(reply, old, new))
    return min(found, key=_rank_witness, default=None)


def _rank_witness(witness: ReplyWitness) -> tuple[bool, bool, int]:
    lost = None in {witness.old_score, witness.new_score}
    return lost, not witness.reply.isascii(), len(witness.reply)


def _read_sides(change: Change) -> tuple[Judge, Judge] | None:
    """Return the judge before and after this edit alone, or after all edits if that is invalid."""
    if change.judges is None or change.name not in _READING:
        return None
    old, new = change.judges
    keys = _READING[change.name]
    edited = {
        **{key: value for key, value in old.items() if key not in keys},
        **{key: new[key] for key in keys if key in new},
    }
    before = read_judge_value(old)
    after = read_judge_value(edited) or read_judge_value(new)
    return (before, after) if before and after else None


def _list_replies(sides: tuple[Judge, Judge]) -> Iterator[str]:
    """Yield replies as JSON, then as texts in which one side's reply pattern finds an answer."""
    named: dict[tuple[Any, Any], None] = {}
    for judge in sides:
        for key, value in _list_answers(judge):
            named[getattr(judge.reads, key, None) or key, value] = None
    answers = list(named)
    keys = {judge.reads.words for judge in sides if judge.reads and judge.reads.words}
    said = [{}, *({key: "Why."} for key in sorted(keys))]
    documents = [write_canonical({key: value, **one}) for one in said for key, value in answers]
    yield from documents
    words = list(dict.fromkeys(word for _, value in answers for word in _spell_answer(value)))
    patterns = dict.fromkeys(judge.reply_pattern for judge in sides if judge.reply_pattern)
    texts = [text for pattern in patterns for text in _write_matches(pattern, words)]
    yield from texts
    for text in texts[: REPLIES.tried]:
        yield from (
            text.lower(),
            text.upper(),
            f"x {text}",
            f"{text} x",
            f"x{text}x",
            f"{text}\n{texts[0]}",
            f"{text} {documents[0]}",  # JSON is not read if the pattern captures anything else
        )
    yield from words


def _list_answers(judge: Judge) -> Iterator[tuple[str, Any]]:
    if judge.score_type is ScoreType.LEVELS:
        yield from (("level", name) for name in judge.levels or {})
    elif judge.score_type is ScoreType.BINARY:
        yield from (("verdict", "pass"), ("verdict", "fail"), ("score", 1), ("score", 0))
    else:
        numbers = [
            judge.most,
            judge.least,
            (judge.most + judge.least) / 2,
            Fraction(1),
            Fraction(0),
        ]
        yield from (("score", convert_fraction(number)) for number in numbers)


def _spell_answer(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (value, *_WORDS)
    else:
        number = str(value)
        yield from (number, f"{number}.5", f"{number}0", f"{number}{_OTHER_DIGIT}")


def _write_matches(pattern: str, words: list[str]) -> Iterator[str]:
    """Yield texts that a pattern may match, with each word as the answer; some may not match."""
    if len(pattern) > COMPARED.pattern:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # `re` has no public function that parses a pattern.
            tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001
        yield from [text for word in (*words, None) for text in _write_parts(tree, word)]
    except (re.error, RecursionError, OverflowError):
        return


def _write_parts(tree: Any, answer: str | None) -> list[str]:
    ways = [_write_part(str(name), argument, answer) for name, argument in tree]
    # Cut to one character more than allowed, which is enough to see that the text is too long.
    return ["".join(parts)[: REPLIES.length + 1] for parts in islice(product(*ways), REPLIES.ways)]


def _write_part(name: str, argument: Any, answer: str | None) -> list[str]:
    if name == "LITERAL":
        return [chr(argument)]
    if name == "IN":
        return [_choose_char(argument)]
    if name == "BRANCH":
        return [text for tree in argument[1] for text in _write_parts(tree, answer)[:2]]
    if name == "SUBPATTERN":
        is_answer = argument[0] == 1 and answer is not None
        return [str(answer)] if is_answer else _write_parts(argument[3], answer)
    if name.endswith("_REPEAT"):
        least, _, tree = argument
        once = _write_parts(tree, answer)[:2]
        return [text * min(least, REPLIES.length + 1) for text in once] + ([] if least else once)
    if name in {"ANY", "NOT_LITERAL"}:
        return ["x" if argument != ord("x") else "y"]
    return _write_parts(argument, answer) if name == "ATOMIC_GROUP" else [""]


def _choose_char(items: list[tuple[Any, Any]]) -> str:
    for name, argument in items:
        if str(name) == "LITERAL":
            return chr(argument)
        if str(name) == "RANGE":
            return chr(argument[0])
        if str(name) == "CATEGORY":
            return _CATEGORIES.get(str(argument), "-")
    return "-"
