"""Finds the answer in all that a model wrote: without its reasoning, in its one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.documents import read_leading_value
from evalstore.errors import LoadError

_TAG = r"<{slash}(?:think|thinking|reasoning)>|\[{slash}THINK\]"
_OPENS, _CLOSES = (re.compile(_TAG.format(slash=slash), re.IGNORECASE) for slash in ("", "/"))
# What introduces an object that is not the answer, in an unfinished sentence before it.
_EXAMPLE = re.compile(
    (
        r"\b(?:e\.g|example|instance|such as|(?<!\bI )(?:would|could)|says|said|claims|contains|"
        r"reads|quotes?|instead)\b"
    ),
    re.IGNORECASE,
)
_INTRODUCTION = 200  # characters of it that are examined
_FENCE = re.compile(r"```\w*\s*$")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_QUOTES = (
    *("'", '"', "\N{LEFT SINGLE QUOTATION MARK}", "\N{LEFT DOUBLE QUOTATION MARK}"),
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}",
)
_CORRECTION = re.compile(
    r"(?:^|[.!?\n])\s*+(?:wait|correction|actually|on reflection|on second thought)\b",
    re.IGNORECASE,
)
_BRACES = re.compile(r"[{}\[\]]")
# Between a key and its value, in any notation.
_ASSIGNMENT = r"(?:[\"'`*\\\s]|</?b>){0,20}(?:[:=>|]|\bis\b|\bof\b)[>\"'`*\\\s]{0,20}"
_ESCAPED_CHAR = re.compile(r"\\u([0-9a-fA-F]{4})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})")
_STRING = r""" "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' """
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_PAIR = re.compile(
    rf"\s*+({_STRING})\s*+:\s*+({_STRING}|{_NUMBER.pattern}|{'|'.join(_WORDS)})\s*+(,?)",
    re.DOTALL | re.VERBOSE,
)
_OBJECT_CLOSES = re.compile(r"\s*+\}")
_QUOTED_CHAR = re.compile(r"\\.|\"", re.DOTALL)
_JSON_CHARS = {"\\'": "'", '"': '\\"'}
_OBJECT_START = re.compile(r"\{\s*+([\"'])")


class ReplyError(ValueError):
    """A reply without one clear answer; its text says why, in words."""


@dataclass(frozen=True, slots=True)
class AnswerObject:
    """The one JSON object in a reply that answers, and the text of the reply after it."""

    value: Mapping[str, Any]
    rest: str


class _Place(NamedTuple):
    start: int
    end: int
    value: Any


def take_off_reasoning(text: str) -> str:
    """Return a reply without the reasoning before it: in tags, or up to a lone closing tag.

    Raises `ReplyError` if nobody can tell where the reasoning ends.
    """
    left = text
    while match := _OPENS.match(left):
        end = _CLOSES.search(left, match.end())
        if end is None:
            raise ReplyError(
                "the reply ends within its reasoning: raise the model's limit of tokens"
            )
        left = left[end.end() :].lstrip()
    ends = [match.end() for match in _CLOSES.finditer(left)]
    if not ends:
        answer = left
    elif len(ends) > 1 or left is not text or _OPENS.search(left):
        raise ReplyError(
            "the reply ends its reasoning more than once, so nobody can tell where its "
            "answer begins"
        )
    elif left.startswith("{"):
        raise ReplyError(
            "the reply has JSON before the tag that ends its reasoning: which is the answer?"
        )
    else:
        answer = left[ends[0] :].lstrip()
    if not answer:
        raise ReplyError("the reply has nothing behind its reasoning")
    return answer


def find_object(text: str, keys: Collection[str], output: str) -> AnswerObject | None:
    """Return the one JSON object with one of the keys in a reply's prose; None if there is none.

    `output` is the answer under review: an object that it contains, too, or whose key has the same
    value in it, may be a quotation. Keys match in any case. Raises `ReplyError` if there are
    several objects, or if one may be part of another, a quotation or an example.
    """
    places = list(_list_objects(text))
    found = [place for place in places if any(key.lower() in keys for key in place.value)]
    if not found:
        return None
    name = " or ".join(keys)
    if len(found) > 1:
        raise ReplyError(
            f"the reply has {len(found)} JSON objects with {name}: which is the answer?"
        )
    (place,) = found
    before, after = text[: place.start], text[place.end :]
    _check_braces(_blank(before, places), _blank(after, places, place.end))
    if "".join(text[place.start : place.end].split()) in "".join(output.split()):
        raise ReplyError(
            "the JSON of the reply is in the answer under review, too, and may be quoted from it"
        )
    if any(
        _holds_pair(output, key, value) for key, value in place.value.items() if key.lower() in keys
    ):
        raise ReplyError(
            "the JSON of the reply says what the answer under review says, too, and may be "
            "quoted from it"
        )
    if problem := _find_quotation(before, after):
        raise ReplyError(problem)
    return AnswerObject(place.value, after)


def _holds_pair(output: str, key: str, value: Any) -> bool:
    """Whether a text gives the key this value in any notation: JSON, Python, YAML, XML, prose."""
    plain = _ESCAPED_CHAR.sub(lambda match: chr(int(match[1], 16)), output)
    stated = re.compile(rf"(?<![^\W_]){re.escape(key)}{_ASSIGNMENT}", re.IGNORECASE)
    return any(_begins_with(plain, match.end(), value) for match in stated.finditer(plain))


def _begins_with(text: str, start: int, value: Any) -> bool:
    spelled = value.strip().lower() if isinstance(value, str) else str(value).lower()
    number, stated = _NUMBER.fullmatch(spelled), _NUMBER.match(text, start)
    if number:
        return stated is not None and Decimal(stated[0]) == Decimal(spelled)
    end = start + len(spelled)
    return text[start:end].lower() == spelled and not text[end : end + 1].isalnum()


def read_plain_object(text: str) -> dict[str, Any] | None:
    """Read one flat object as models write it outside JSON's rules; None for other texts.

    Quotes and words may be Python's, a text may contain a line break, and a comma may precede the
    brace. Keys must be unique.
    """
    place = _find_plain_object(text, len(text) - len(text.lstrip()))
    return place.value if place and not text[place.end :].strip() else None


def _find_plain_object(text: str, start: int) -> _Place | None:
    at, found = start + 1, dict[str, Any]()
    while text.startswith("{", start) and (match := _PAIR.match(text, at)):
        try:
            key, value = _read_token(match[1]), _read_token(match[2])
        except ValueError:
            return None
        if key in found:
            return None
        found[key], at = value, match.end()
        if not match[3]:
            break
    closed = _OBJECT_CLOSES.match(text, at)
    return _Place(start, closed.end(), found) if found and closed else None


def _read_token(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if token[0] not in "'\"":
        return Decimal(token)
    # A text in single quotes may contain double ones, and an escaped single one, which JSON does
    # not know.
    inner = _QUOTED_CHAR.sub(lambda match: _JSON_CHARS.get(match[0], match[0]), token[1:-1])
    return json.loads(f'"{inner}"', strict=False)


def _list_objects(text: str) -> Iterator[_Place]:
    """Yield the outermost JSON objects in a text.

    One that begins and is not JSON is a `ReplyError`.
    """
    # Braces in prose and code are left alone; what begins like JSON must be JSON, because otherwise
    # a part of it would count.
    end = 0
    while match := _OBJECT_START.search(text, end):
        try:
            place = _Place(
                match.start(), *reversed(read_leading_value(text, match.start(), "reply"))
            )
        except LoadError as error:
            plain = _find_plain_object(text, match.start())
            if plain is None and match[1] == '"':
                raise ReplyError(f"the JSON of the reply is broken, {error.message}") from None
            place = plain or _Place(match.start(), match.end(), {})
        if place.value:
            yield place
        end = place.end


def _blank(text: str, places: Collection[_Place], offset: int = 0) -> str:
    """Return a piece of a reply without the objects in it, whose braces are closed."""
    parts, at = [], 0
    for place in places:
        if offset <= place.start < offset + len(text):
            parts.append(text[at : place.start - offset])
            at = place.end - offset
    return "".join([*parts, text[at:]])


def _check_braces(before: str, after: str) -> None:
    depths = {"{": 0, "[": 0}
    for match in _BRACES.finditer(before):
        opener = {"}": "{", "]": "["}.get(match[0], match[0])
        depths[opener] = max(0, depths[opener] + (1 if match[0] == opener else -1))
    if depths["{"]:
        raise ReplyError(
            "the JSON of the reply is inside other braces, and so a part of something else"
        )
    if depths["["]:
        raise ReplyError(
            "the JSON of the reply is in a list, or behind a bracket that is not closed"
        )
    if after.count("}") > after.count("{"):
        raise ReplyError(
            "the JSON of the reply is inside other braces, and so a part of something else"
        )


def _find_quotation(before: str, after: str) -> str:
    """Return why an object may be only quoted or mentioned; empty if it answers."""
    line = before.rpartition("\n")[2]
    if line.rstrip(" *`").endswith(_QUOTES) or line.lstrip().startswith(">"):
        return "the JSON of the reply is in quotation marks, so it may be quoted and not the answer"
    introduction = _SENTENCE_END.split(_FENCE.sub("", before)[-_INTRODUCTION:].rstrip(" \t\r\n`*"))[
        -1
    ]
    if _EXAMPLE.search(introduction):
        return (
            "the JSON of the reply is introduced as an example or a quotation, so it may not be "
            "the answer"
        )
    goes_on = after.lstrip(" \t`*\"'.")
    within = bool(re.search(r"[\w,;]\s*$", line)) and bool(re.match(r"[^\W_]", goes_on))
    if within or re.match(r"[ \t`*]*(?:[,;]|[a-z])", after):
        return "the JSON of the reply is inside a sentence, so it may not be the answer"
    if _CORRECTION.search(after):
        return "the reply goes on to correct its JSON, with another answer or none"
    return ""
