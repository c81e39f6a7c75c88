"""The statements that an `llm_judge` with `each` asks about one by one, and how their scores become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.model import parse_fraction

_ZERO, _ONE = Fraction(0), Fraction(1)


class Statement(NamedTuple):
    """One statement; a weight below 0 is that of something an output must not do."""

    id: str
    text: str
    weight: Fraction


def read_statements(listed: Any) -> tuple[Statement, ...]:
    """Read texts, or mappings `{text, weight?, id?}`; one without an id is named by its number, from 1."""
    if not isinstance(listed, list | tuple):
        raise TypeError("each is not a list of statements")
    return tuple(_read_statement(str(number), item) for number, item in enumerate(listed, 1))


def _read_statement(number: str, item: Any) -> Statement:
    if isinstance(item, str):
        return Statement(number, item, _ONE)
    text, weight = item["text"], item.get("weight", 1)
    if not isinstance(text, str) or isinstance(weight, bool | str):
        raise TypeError(
            "a statement is a text, or a mapping of a `text`, a number as `weight` and an `id`"
        )
    return Statement(str(item.get("id", number)), text, parse_fraction(weight))


def _average(statements: Sequence[Statement], scores: Sequence[Fraction]) -> Fraction:
    total = sum((abs(one.weight) for one in statements), _ZERO)
    return sum(map(_weigh_absolutely, statements, scores), _ZERO) / total


def _weigh_absolutely(one: Statement, score: Fraction) -> Fraction:
    return abs(one.weight) * (score if one.weight > 0 else 1 - score)


def _count_points(statements: Sequence[Statement], scores: Sequence[Fraction]) -> Fraction:
    points = sum((one.weight * score for one, score in zip(statements, scores, strict=True)), _ZERO)
    return min(_ONE, max(_ZERO, points / _sum_positive(statements)))


def _sum_positive(statements: Sequence[Statement]) -> Fraction:
    return sum((max(_ZERO, one.weight) for one in statements), _ZERO)


# Each of statements that `find_weight_problem` finds nothing wrong with, and their scores in the
# same order.
STATEMENT_AGGREGATES: Mapping[
    str, Callable[[Sequence[Statement], Sequence[Fraction]], Fraction]
] = {
    "mean": _average,
    "points": _count_points,
}


def find_weight_problem(aggregate: str, statements: Sequence[Statement]) -> str:
    """Return why the statements' weights make no score; empty when they do, and where there are no statements."""
    if not statements:
        return ""
    if aggregate == "points" and not _sum_positive(statements):
        return "no statement has a weight above 0, so there are no points to reach"
    if not any(one.weight for one in statements):
        return "the weights of all statements are 0"
    return ""
