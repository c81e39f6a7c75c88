"""AgentV's scorer as it was measured, dialect by dialect: the oracle of the AgentEvals migration. Exact where it used floats.

`grade(suite, case, dialect, answer)` gives the score and whether the test passes, or None where the runner never asks
the case. `Crash` is where it stops. What a model would answer is `answer.ask(prompt)`: a score in [0, 1], or None if it
could not be reached; `answer.holds(point)` says whether a single point is met. A program's verdict is always 1/3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

ORDER = ["D0", "D1", "D2", "D2s", "D3", "D4"]
# Dialects with thresholds, texts among the checks, and types of a project's own.
NEW = {"D3", "D4"}
JS_SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
PASS = Fraction(4, 5)
# Patterns with what they match, said without any regular expression.
PATTERNS: dict[tuple[str, str], Callable[[str], bool]] = {
    ("^[0-9]+$", ""): lambda text: bool(text) and set(text) <= set("0123456789"),
    ("\\d", ""): lambda text: any(char in "0123456789" for char in text),
    ("a.*b", ""): lambda text: any(_within(line, "a", "b") for line in re.split("[\n\r\u2028\u2029]", text)),
    ("a.*b", "s"): lambda text: _within(text, "a", "b"),
    ("^k", "im"): lambda text: any(line[:1] in {"k", "K"} for line in re.split("[\n\r\u2028\u2029]", text)),
    ("ok$", ""): lambda text: text.endswith("ok"),
    ("k", "i"): lambda text: "k" in text or "K" in text,
}


class Crash(Exception):  # noqa: N818  # what happens, in a word
    """The runner stops."""


@dataclass
class Answer:
    """One output with its calls, and the model that grades it."""

    text: str
    calls: list[dict[str, Any]]
    ask: Callable[[str], Fraction | None]
    holds: Callable[[str], bool]


@dataclass
class Scored:
    """The score of one evaluator that took part, and whether it passes by itself."""

    name: str
    score: Fraction
    passes: bool


def grade(suite: dict[str, Any], case: Any, dialect: str, answer: Answer) -> tuple[Fraction, bool] | None:
    if not isinstance(case, dict):
        return None
    if dialect != "D4" and (not isinstance(case.get("id"), str) or not case["id"] or case.get("input") is None):
        return None
    limit = _limit(suite, case, dialect)
    total = weights = Fraction(0)
    report = False
    for raw, scored in _graders(suite, case, dialect, answer):
        score, weight = scored.score, _weight(raw)
        if ORDER.index(dialect) >= 2:
            required = raw.get("required")
            if raw.get("negate") is True and scored.name != "<error>":
                score = 1 - score
            least = _share(raw.get("min_score")) if dialect in NEW else None
            bar = least or (limit if required is True else _share(required))
            report |= (required is True or _share(required) is not None) and bar is not None and score < bar
        total += score * weight
        weights += weight
    score = Fraction(0) if report or not weights else total / weights
    return score, score >= limit


def _graders(
    suite: dict[str, Any], case: dict[str, Any], dialect: str, answer: Answer
) -> Iterator[tuple[dict[str, Any], Scored]]:
    own, shared = _list(case, dialect), _list(suite, dialect)
    if ORDER.index(dialect) >= 2:
        skips = isinstance(case.get("execution"), dict) and case["execution"].get("skip_defaults") is True
        default = suite.get("default_test", {}).get("assert", []) if dialect == "D4" else []
        raws = [*(own or []), *([] if skips else [*default, *(shared or [])])]
    else:
        raws = own if own is not None else shared or []
    if dialect == "D4" and any(
        isinstance(raw, dict) and isinstance(raw.get("type"), str) and type(raw.get("required")) in {int, Decimal}
        for raw in raws
    ):
        raise Crash("required")
    found = [(raw, scored) for raw in raws if isinstance(raw, dict) if (scored := _one(raw, dialect, answer))]
    found += _bare_texts(raws, dialect, answer)
    if dialect != "D4" and isinstance(case.get("rubrics"), list):
        points = _points(case["rubrics"], answer)
        found += [({}, Scored("rubrics", points, points >= PASS))] if points is not None else []
    if not found and dialect != "D4" and (criteria := case.get("criteria", case.get("expected_outcome"))) is not None:
        said = answer.ask(f"criteria: {criteria}")
        found = [({}, Scored("<error>" if said is None else "criteria", said or Fraction(0), False))]
    yield from found


def _bare_texts(raws: list[Any], dialect: str, answer: Answer) -> list[tuple[dict[str, Any], Scored]]:
    """All texts of a list are one grader that weighs as much as there are."""
    texts = [raw for raw in raws if isinstance(raw, str) and raw.strip()] if dialect in NEW else []
    share = Fraction(sum(map(answer.holds, texts)), max(len(texts), 1))
    return [({"weight": len(texts)}, Scored("texts", share, share >= PASS))] if texts else []


def _list(holder: dict[str, Any], dialect: str) -> list[Any] | None:
    execution = holder.get("execution") if isinstance(holder.get("execution"), dict) else {}
    places = {
        "D2": [holder.get("assert"), execution.get("evaluators")],
        "D4": [holder.get("assert"), execution.get("assert")],
        "D3": [holder.get("assertions"), holder.get("assert"), execution.get("evaluators"), holder.get("evaluators")],
    }.get(dialect, [execution.get("evaluators"), holder.get("evaluators")])
    found = next((given for given in places if given is not None), None)
    return found if isinstance(found, list | None) else []


def _one(raw: dict[str, Any], dialect: str, answer: Answer) -> Scored | None:
    """Score one evaluator; None where the runner skips it."""
    kind = raw.get("type")
    if not isinstance(kind, str):
        return None
    name = raw.get("name", raw.get("id", kind))
    kind = kind.replace("_", "-")
    if dialect == "D4" and kind == "composite":
        raise Crash(kind)
    known = {since: types for since, types in KNOWN.items() if since[0] <= ORDER.index(dialect) <= since[1]}
    if not any(kind in types for types in known.values()):
        in_any = any(kind in types for types in KNOWN.values())
        return Scored(str(name), Fraction(1, 3), False) if dialect in NEW and not in_any else None
    try:
        score = KINDS[kind](raw, dialect, answer)
    except ConnectionError:
        _weight(raw)
        return Scored("<error>", Fraction(0), False)
    if score is None:
        return None
    _weight(raw)
    return Scored(str(name), score, score >= PASS)


def _text(kind: str) -> Callable[[dict[str, Any], str, Answer], Fraction | None]:
    def score(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
        value = raw.get("value")
        values = [value] if value and kind.endswith("contains") else []
        if isinstance(value, list) and not kind.endswith("contains"):
            values = value
        values = [one for one in values if isinstance(one, str)]
        if not values:
            return None
        text = answer.text
        if kind.startswith("i"):
            text, values = text.lower(), [one.lower() for one in values]
        found = [one in text for one in values]
        return Fraction(int(all(found) if kind.endswith("all") else any(found)))

    return score


def _trimmed(test: Callable[[str, str], bool]) -> Callable[[dict[str, Any], str, Answer], Fraction | None]:
    def score(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
        if not isinstance(raw.get("value"), str) or not raw["value"]:
            return None
        return Fraction(int(test(answer.text.strip(JS_SPACE), raw["value"].strip(JS_SPACE))))

    return score


def _regex(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
    if not isinstance(raw.get("value"), str):
        return None
    return Fraction(int(PATTERNS[raw["value"], raw.get("flags", "")](answer.text)))


def _json(_: dict[str, Any], __: str, answer: Answer) -> Fraction:
    try:
        json.loads(answer.text, parse_constant=lambda word: int(f"no {word}"))
    except ValueError:
        return Fraction(0)
    return Fraction(1)


def _rubric(raw: dict[str, Any], dialect: str, answer: Answer) -> Fraction | None:
    if "prompt" not in raw:
        return Fraction(int(answer.holds(raw["value"]))) if "value" in raw else None
    return _judge(raw, dialect, answer)


def _set(raw: dict[str, Any], dialect: str, answer: Answer) -> Fraction | None:
    raws = raw["assert"]
    found = [(one, scored) for one in raws if isinstance(one, dict) and (scored := _one(one, dialect, answer))]
    found += _bare_texts(raws, dialect, answer)
    total = sum((_weight(one) for one, _ in found), Fraction(0))
    if not found:
        return None
    return sum((_weight(one) * scored.score for one, scored in found), Fraction(0)) / total if total else total


def _judge(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
    said = answer.ask(raw["prompt"])
    if said is None:
        raise ConnectionError
    return said


def _rubrics(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
    given = raw.get("criteria", raw.get("rubrics"))
    return _points(given, answer) if isinstance(given, list) else None


def _points(given: list[Any], answer: Answer) -> Fraction | None:
    points = [({"outcome": one} if isinstance(one, str) else one) for one in given]
    points = [one for one in points if isinstance(one, dict) and one.get("outcome", "").strip()]
    weights = sum((_weight(one) for one in points), Fraction(0))
    earned = sum((_weight(one) for one in points if answer.holds(one["outcome"])), Fraction(0))
    return None if not points else earned / weights if weights else Fraction(0)


def _composite(raw: dict[str, Any], dialect: str, answer: Answer) -> Fraction | None:
    aggregator = raw.get("aggregator")
    if not isinstance(aggregator, dict) or aggregator.get("type") not in {"weighted_average", "threshold"}:
        return None
    keys = ("assertions", "assert", "evaluators")
    members = next((raw[key] for key in keys if raw.get(key) is not None), [])
    scored = [one for member in members if isinstance(member, dict) if (one := _one(member, dialect, answer))]
    if not scored:
        return None
    if aggregator["type"] == "threshold":
        return Fraction(sum(one.score >= PASS for one in scored), len(scored))
    weights = [_weight({"weight": aggregator.get("weights", {}).get(one.name)}) for one in scored]
    total = sum(weights, Fraction(0))
    return sum((w * one.score for w, one in zip(weights, scored, strict=True)), Fraction(0)) / total if total else total


def _trajectory(raw: dict[str, Any], _: str, answer: Answer) -> Fraction | None:
    minimums = raw.get("minimums")
    if raw.get("mode") != "any_order" or not isinstance(minimums, dict) or not minimums:
        return None
    met = [sum(call["name"] == tool for call in answer.calls) >= least for tool, least in minimums.items()]
    return Fraction(sum(met), len(met))


def _program(_: dict[str, Any], __: str, ___: Answer) -> Fraction:
    return Fraction(1, 3)


KINDS: dict[str, Callable[[dict[str, Any], str, Answer], Fraction | None]] = {
    **{f"{i}contains{of}": _text(f"{i}contains{of}") for i in ("", "i") for of in ("", "-any", "-all")},
    "starts-with": _trimmed(str.startswith),
    "ends-with": _trimmed(str.endswith),
    "equals": _trimmed(str.__eq__),
    "regex": _regex,
    "is-json": _json,
    "llm-judge": _judge,
    "llm-grader": _judge,
    "llm-rubric": _rubric,
    "assert-set": _set,
    "script": _program,
    "rubrics": _rubrics,
    "composite": _composite,
    "tool-trajectory": _trajectory,
    "code-judge": _program,
    "code-grader": _program,
    "latency": _program,
}
_TEXTS = frozenset(kind for kind in KINDS if "contains" in kind) | {
    "starts-with",
    "ends-with",
    "equals",
    "regex",
    "is-json",
}
KNOWN: dict[tuple[int, int], frozenset[str]] = {
    (2, 5): _TEXTS,
    (0, 3): frozenset({"llm-judge", "code-judge"}),
    (5, 5): frozenset({"llm-rubric", "assert-set", "script"}),
    (4, 4): frozenset({"llm-grader", "code-grader"}),
    (0, 4): frozenset({"rubrics", "composite", "tool-trajectory"}),
    (0, 5): frozenset({"latency"}),
}


def _limit(suite: dict[str, Any], case: dict[str, Any], dialect: str) -> Fraction:
    for holder in (case, suite.get("default_test", {}), suite) if dialect in NEW else ():
        for inner in (holder, holder.get("execution")):
            if isinstance(inner, dict) and inner.get("threshold") is not None:
                return _exact(inner["threshold"])
    return PASS


def _weight(raw: dict[str, Any]) -> Fraction:
    weight = raw.get("weight")
    if weight is None:
        return Fraction(1)
    if isinstance(weight, bool) or not isinstance(weight, int | Decimal) or weight < 0:
        raise Crash(weight)
    return Fraction(weight)


def _share(number: Any) -> Fraction | None:
    fits = isinstance(number, int | Decimal) and not isinstance(number, bool) and 0 < number <= 1
    return Fraction(number) if fits else None


def _exact(number: Any) -> Fraction:
    return Fraction(number)


def _within(text: str, first: str, last: str) -> bool:
    return first in text and last in text[text.index(first) + 1 :]
