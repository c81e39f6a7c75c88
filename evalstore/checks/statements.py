"""The statements that an `llm_judge` with `each` asks about, and how their scores combine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.model import parse_fraction

_ZERO, _ONE = Fraction(0), Fraction(1)
STATEMENT_AGGREGATES = ("mean", "points")


class Statement(NamedTuple):
    """One statement; a negative weight means something that an output must not do."""

    id: str
    text: str
    weight: Fraction


def read_statements(listed: Any) -> tuple[Statement, ...]:
    """Read texts, or mappings `{text, weight?, id?}`.

    A statement without an id is named by its number, from 1.
    """
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


class StatementSum(NamedTuple):
    """How statements' scores become one: `constant`, and score times factor, clipped to 0 and 1."""

    constant: Fraction
    factors: tuple[Fraction, ...]

    def compute(self, scores: Sequence[Fraction]) -> Fraction:
        """Return one score from the statements' scores, which are in the order of the factors."""
        parts = (factor * score for factor, score in zip(self.factors, scores, strict=True))
        return min(_ONE, max(_ZERO, sum(parts, self.constant)))


def build_statement_sum(aggregate: str, statements: Sequence[Statement]) -> StatementSum:
    """Return how statements' scores become one; `find_weight_problem` must find nothing wrong.

    `mean` is weighted by |w|, and a statement of negative weight counts 1 - its score; `points` are
    those reached, over all that are possible.
    """
    lost, positive = (
        sum((max(_ZERO, sign * one.weight) for one in statements), _ZERO) for sign in (-1, 1)
    )
    total = positive + lost if aggregate == "mean" else positive
    constant = lost / total if aggregate == "mean" else _ZERO
    return StatementSum(constant, tuple(one.weight / total for one in statements))


def find_weight_problem(aggregate: str, statements: Sequence[Statement]) -> str:
    """Return why the statements' weights make no score; empty if they do, or without statements."""
    if not statements:
        return ""
    if aggregate == "points" and not any(one.weight > 0 for one in statements):
        return "no statement has a weight above 0, so there are no points to reach"
    if not any(one.weight for one in statements):
        return "the weights of all statements are 0"
    return ""
