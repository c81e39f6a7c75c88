"""Turns a modelgraded specification into a judge with its prompt, its choices and their scores."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.errors import LoadError
from evalstore.migration.artifact_names import make_id, make_slug
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.outcome import JudgeFacts
from evalstore.migration.prompts.template_braces import escape_literal, find_template_variables
from evalstore.migration.value_readings import is_number, read_messages
from evalstore.model import Kind
from evalstore.text import make_excerpt

CLASSIFY = "evals.elsuite.modelgraded.classify:ModelBasedClassify"
# What a judge here has of its own.
_OWN_PLACES = {"input": "input", "completion": "output", "ideal": "expected"}
_OUR_ENDING = "how it shall answer is said in our own words"
_OUR_PLACES = "an input of several messages, or with braces, is written in another way"
_READING = (
    "the program takes the first choice that {}, from the {} line on, and the lowest score for none"
)
_LAST, _FIRST = "last", "first"
_STOPS = "{}: the program stops there"


class _LineReading(NamedTuple):
    """How the program finds a choice in a line: in words, and as a function."""

    words: str
    has_choice: Callable[[str, str], bool]


class _AnswerWay(NamedTuple):
    """How an eval asks for the answer, and which line of a reply has it.

    `asked` is the eval type if it adds words to the prompt; `match` is a key of `_READINGS`.
    """

    asked: str
    line: str
    match: str


_USUAL_WAY = _AnswerWay("cot_classify", _LAST, "starts_or_endswith")
# Punctuation is first removed from a line. If a line has several choices, the one that the
# specification names first counts.
_READINGS: Mapping[str, _LineReading] = {
    "starts_or_endswith": _LineReading(
        "begins or ends a line",
        lambda line, choice: line.startswith(choice) or line.endswith(choice),
    ),
    "endswith": _LineReading("ends a line", str.endswith),
    "exact": _LineReading("is a line", str.__eq__),
    "include": _LineReading("has a line in it", lambda line, choice: line in choice),
}
_PUNCTUATION = r"!-/:-@\[-`{-~"  # ASCII punctuation, which the program removes
_NO_SCORES = (
    "{} gives its choices no scores, so the program counts letters: write `choice_scores` into the "
    "specification, and migrate again"
)


def draft_judge(
    name: str, spec: Mapping[str, Any], args: Mapping[str, Any], endings: Mapping[str, str]
) -> ArtifactDraft:
    """Return the judge of a specification, as the arguments of an eval ask it.

    `endings` say how to answer, by the eval's type. Raises `LoadError` for what evalstore's judges
    cannot do, and for what stops openai/evals.
    """
    choices, scores = spec.get("choice_strings"), spec.get("choice_scores")
    places = spec.get("input_outputs", {"input": "completion"})
    if not isinstance(places, dict) or list(places.values()) != ["completion"]:
        raise LoadError(f"{name} compares several outputs, which no judge here does")
    if args.get("multicomp_n", 1) != 1:
        raise LoadError("multicomp_n asks for several outputs at once, which no judge here does")
    if isinstance(choices, str) and not choices.startswith("from_n"):
        choices = list(choices)
    if not isinstance(choices, list) or not all(isinstance(one, str) for one in choices):
        raise LoadError(f"the choices of {name} are not written out")
    if odd := [one for one in choices if not one or set(one) & set(string.punctuation)]:
        raise LoadError(_STOPS.format(f"{odd[0]!r} of {name} is not a choice"))
    choices = list(dict.fromkeys(choices))
    way = _read_way(name, spec, args, endings)
    levels = _read_scores(name, choices, scores)
    system, template = _read_prompt(name, spec.get("prompt"))
    places = [place for _, place, _, _ in string.Formatter().parse(template) if place]
    names = dict.fromkeys(place for place in places if place not in _OWN_PLACES)
    worst_first = sorted(choices, key=lambda choice: levels[choice])
    ending = endings[way.asked] if way.asked else ""
    rendered = _render(template) + ending.format(choices=", ".join(choices))
    names |= dict.fromkeys(find_template_variables(rendered))
    value = {
        "title": f"{name} of openai/evals",
        "template": rendered,
        **({"variables": list(names)} if names else {}),
        "score_type": "levels",
        "level_names": worst_first,
        "level_scores": levels,
        "reply_pattern": _build_pattern(choices, way),
        "model": {"temperature": 0, **({"system": system} if system else {})},
    }
    words = _READINGS[way.match].words
    facts = JudgeFacts(
        _OUR_ENDING if way.asked else _OUR_PLACES,
        _READING.format(words, way.line) + _describe_mixed_up(choices, way.match),
    )
    # Evals of one specification may ask in several ways; the usual way is not named in the id.
    odd_ways = [way.asked or way.line, way.match] if way != _USUAL_WAY else []
    id_ = make_id(make_slug(" ".join([name, *odd_ways])) or "judge")
    return ArtifactDraft(Kind.JUDGE, id_, value, facts=facts, name=id_, is_common=True)


def _read_way(
    name: str, spec: Mapping[str, Any], args: Mapping[str, Any], endings: Mapping[str, str]
) -> _AnswerWay:
    """Return how an eval asks for the answer. Raises `LoadError` for what stops the program."""
    asked, match = args.get("eval_type"), args.get("match_fn") or "starts_or_endswith"
    if asked is not None and asked not in endings:
        raise LoadError(_STOPS.format(f"no eval_type is called {make_excerpt(str(asked))!r}"))
    if match not in _READINGS:
        raise LoadError(_STOPS.format(f"no match_fn is called {make_excerpt(str(match))!r}"))
    # The specification's own type decides how a reply is read, but adds no words to the prompt.
    type_ = spec.get("eval_type") or asked
    if not isinstance(type_, str):
        raise LoadError(_STOPS.format(f"neither the eval nor {name} has an eval_type"))
    line = _LAST if type_.startswith("cot_classify") else _FIRST
    return _AnswerWay(asked or "", line, match)


def _build_pattern(choices: list[str], way: _AnswerWay) -> str:
    """Return the pattern of a reply whose last or first line is exactly a choice."""
    one = "|".join(map(re.escape, sorted(choices, key=len, reverse=True)))
    marks = rf"[\s{_PUNCTUATION}]*"
    alone = rf"{marks}({one}){marks}"
    if way.match in {"exact", "include"}:  # the space in "- Yes" stays
        alone = rf"\s*[{_PUNCTUATION}]*({one})[{_PUNCTUATION}]*\s*"
    return rf"(?m)^{alone}\Z" if way.line == _LAST else rf"(?m)\A{alone}$"


def _describe_mixed_up(choices: list[str], match: str) -> str:
    """Return a clause about the first choice that is read as an earlier one, if any."""
    has_choice = _READINGS[match].has_choice
    for place, said in enumerate(choices):
        taken = next((one for one in choices[:place] if has_choice(said, one)), None)
        if taken is not None:
            return f"; it reads {said} as {taken}"
    return ""


def _read_scores(name: str, choices: list[str], scores: Any) -> dict[str, Any]:
    """Return a score from 0 to 1 of each choice; other ranges keep their order and distances."""
    if scores == "from_strings":
        try:
            scores = {choice: Decimal(choice) for choice in choices}
        except ArithmeticError:
            raise LoadError(f"the choices of {name} are not numbers") from None
    if not isinstance(scores, dict) or not all(is_number(scores.get(one)) for one in choices):
        raise LoadError(_NO_SCORES.format(name))
    numbers = {choice: scores[choice] for choice in choices}
    low, high = min(numbers.values()), max(numbers.values())
    if low >= 0 and high <= 1:
        return numbers
    return {choice: scale_number(number, low, high) for choice, number in numbers.items()}


def scale_number(number: int | Decimal, low: int | Decimal, high: int | Decimal) -> int | Decimal:
    """Return where a number is between two others, from 0 to 1.

    It has six digits, and is 0 if the two are equal.
    """
    span = Decimal(high) - Decimal(low)
    share = (Decimal(number) - Decimal(low)) / span if span else Decimal(0)
    # A whole number is written as one, and read again as one.
    return int(share) if share == int(share) else round(share, 6).normalize()


def _read_prompt(name: str, prompt: Any) -> tuple[str, str]:
    """Return the system message and the rest of a prompt, which is a text or chat messages."""
    if isinstance(prompt, str):
        return "", prompt
    messages = read_messages(prompt)
    texts = [message.get("content") for message in messages]
    if not messages or not all(isinstance(text, str) for text in texts):
        raise LoadError(f"the prompt of {name} is not text")
    is_system = [message["role"] == "system" for message in messages]
    system = "\n".join(str(text) for text, is_one in zip(texts, is_system, strict=True) if is_one)
    if "{" in system:
        raise LoadError(f"the system message of {name} has places, which none here fills")
    rest = (str(text) for text, is_one in zip(texts, is_system, strict=True) if not is_one)
    return system, "\n".join(rest)


def _render(text: str) -> str:
    """Return the template for a prompt written for `str.format`."""
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise LoadError(f"the prompt cannot be filled: {error}") from None
    parts = []
    for words, place, spec, conversion in pieces:
        parts.append(escape_literal(words))
        if spec or conversion or (place is not None and not place.isidentifier()):
            raise LoadError(f"the prompt formats {place}, which no template here does")
        if place:
            parts.append(f"{{{{ {_OWN_PLACES.get(place, place)} }}}}")
    return "".join(parts)
