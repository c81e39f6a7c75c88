"""Turns a modelgraded specification into a judge: its own prompt, its choices and their scores."""

from __future__ import annotations

import string
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalstore.errors import LoadError
from evalstore.migration.artifact_names import make_id, make_slug
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.outcome import JudgeFacts
from evalstore.migration.prompts.template_braces import escape_literal, find_template_variables
from evalstore.migration.value_readings import is_number, read_messages
from evalstore.model import Kind

CLASSIFY = "evals.elsuite.modelgraded.classify:ModelBasedClassify"
# What a judge here has of its own.
_OWN_PLACES = {"input": "input", "completion": "output", "ideal": "expected"}
_FACTS = JudgeFacts(
    "how it shall answer is said in our own words",
    "the program takes the first choice that begins or ends a line, and the lowest score for none",
)
_NO_SCORES = (
    "{} gives its choices no scores, so the program counts letters: write `choice_scores` into the "
    "specification, and migrate again"
)


def draft_judge(
    name: str, spec: Mapping[str, Any], args: Mapping[str, Any], ending: str
) -> ArtifactDraft:
    """Return the judge of a specification. Raises `LoadError` for what no judge here can do."""
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
    levels = _read_scores(name, choices, scores)
    system, template = _read_prompt(name, spec.get("prompt"))
    places = [place for _, place, _, _ in string.Formatter().parse(template) if place]
    names = dict.fromkeys(place for place in places if place not in _OWN_PLACES)
    worst_first = sorted(choices, key=lambda choice: levels[choice])
    rendered = _render(template) + ending.format(choices=", ".join(choices))
    names |= dict.fromkeys(find_template_variables(rendered))
    value = {
        "title": f"{name} of openai/evals",
        "template": rendered,
        **({"variables": list(names)} if names else {}),
        "score_type": "levels",
        "level_names": worst_first,
        "level_scores": levels,
        "reply_pattern": rf"(?m)^\W*({'|'.join(sorted(choices, key=len, reverse=True))})\W*\Z",
        "model": {"temperature": 0, **({"system": system} if system else {})},
    }
    id_ = make_id(make_slug(name) or "judge")
    return ArtifactDraft(Kind.JUDGE, id_, value, facts=_FACTS, name=id_, is_common=True)


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
    """Return the template of a prompt that `str.format` fills."""
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
