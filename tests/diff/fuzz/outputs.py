"""Outputs for a pair: of what both sides look for, of JSON, Markdown and code, and of letters that hurt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

from evalstore.documents import write_canonical
from tests.diff.fuzz import datasets, judges, schemas, steps
from tests.diff.fuzz.pair import Drawn, Pair, Value
from tests.diff.fuzz.pattern_texts import draw_text, list_patterns
from tests.diff.fuzz.words import BLANKS, JSON, MARKDOWN, ODD, PHP, PHRASES, TOOLS, some

_LONGEST = 60
_TELLING = frozenset(
    {"values", "required_sections", "forbidden_patterns", "facts", "targets", "pattern", "expected_facts", "names"}
)


def samples(random: Random, pair: Pair) -> Iterator[Drawn]:
    """Yield samples to grade under both sides, without end."""
    wanted = list(dict.fromkeys(text for side in (pair.old, pair.new, *pair.refs.values()) for text in _wanted(side)))
    sides = [pair.old, pair.new, *pair.refs.values()]
    asked = [one for side in sides for one in _schemas(side)]
    read = steps.list_steps(sides)
    patterns = [one for side in sides for one in list_patterns(side)]
    while True:
        drawn = _sample(random, pair, wanted, asked)
        if patterns and random.random() < 0.6:
            text = draw_text(random, *random.choice(patterns))
            drawn = drawn if text is None else replace(drawn, text=text[:_LONGEST])
        is_wrapped = read and random.random() < 0.6
        yield replace(drawn, text=steps.wrap(random, drawn.text, random.choice(read))) if is_wrapped else drawn


def _sample(random: Random, pair: Pair, wanted: list[str], asked: list[Any]) -> Drawn:
    question = datasets.question(random) if random.random() < 0.8 else None
    facts = list(_texts((question or {}).get("expected_facts", [])))
    json = random.random() < (0.5 if asked else 0.15)
    return Drawn(
        _json(random, asked, question) if json else _text(random, [*wanted, *facts]),
        _calls(random),
        question,
        judges.family(random, dict(pair.refs) | {"old": pair.old, "new": pair.new}),
        random.randrange(1000),
    )


def _text(random: Random, wanted: list[str]) -> str:
    pools = [
        PHRASES,
        PHRASES,
        BLANKS,
        MARKDOWN,
        ODD,
        PHP,
        ["", "aaaa", "2", "3", "x"],
        *([wanted] * 5 if wanted else []),
    ]
    parts = [random.choice(random.choice(pools)) for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4]))]
    glue = random.choice(["", "", "\n", " ", "\n\n"])
    text = glue.join(random.choice([part, part, part, part.swapcase(), part.upper()]) for part in parts)
    return text[:_LONGEST] if "```" not in text else text


def _json(random: Random, asked: list[Any], question: Value | None) -> str:
    value = schemas.instance(random)
    if asked and random.random() < 0.4:
        value = _near(random, random.choice(asked), value)
    elif question and random.random() < 0.3:
        value = question.get("expected", value)
    text = write_canonical(value) if random.random() < 0.8 else random.choice(JSON)
    return random.choice([text, text, f"a\n\n```json\n{text}\n```", f"```\n{text}\n```", f" {text}\n"])


def _near(random: Random, schema: Any, value: Any) -> Any:
    """Return a value that a schema names, or else the value."""
    named = schema.get("enum") or [schema.get("const", value)] if isinstance(schema, dict) else [value]
    return random.choice(named) if isinstance(named, list) and named else value


def _calls(random: Random) -> list[Value] | None:
    if random.random() < 0.4:
        return None
    return [
        {"name": name, **random.choice([{}, {"args": {"n": 0}}, {"args": {"n": 1}}, {"args": {"n": 1, "m": 2}}])}
        for name in some(random, TOOLS, 0, 4)
    ]


def _wanted(value: Any) -> Iterator[str]:
    """Yield the texts that the checks of an artifact look for."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in _TELLING:
                yield from _texts(item)
            elif name in {"checks", "questions", "defaults"}:
                yield from _wanted(item)
    elif isinstance(value, list):
        for item in value:
            yield from _wanted(item)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part for part in value.replace("\\", "").split("|") if len(part) < _LONGEST)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item.get("value") if isinstance(item, dict) else item)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        yield from (str(value), str(value + 1), f"{value}.0" if isinstance(value, int) else f"{value}1")


def _schemas(value: Value) -> Iterator[Any]:
    return (one["schema"] for one in value.get("checks", ()) if isinstance(one, dict) and "schema" in one)
