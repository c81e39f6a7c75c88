"""Explains the result of one output in a few lines: the verdict, and each check that failed or has no score."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from evalstore.model import RubricResult, Verdict, format_decimal
from evalstore.text import make_printable


def explain_result(result: RubricResult) -> str:
    """Return the verdict with its score, then a line for each check that failed or is unscored, with its reason."""
    return "\n".join(_list_lines(result))


def _list_lines(result: RubricResult) -> Iterator[str]:
    score = "" if result.score is None else f" ({_format_score(result.score)})"
    yield f"{result.verdict}{score}" + (f": {make_printable(result.reason)}" if result.reason else "")
    for check in result.checks:
        if check.verdict is Verdict.FAIL and check.score is not None:
            yield f"- {check.id} failed ({_format_score(check.score)}): {make_printable(check.reason)}"
        elif check.unscored:
            yield f"- {check.id} unscored ({check.unscored}): {make_printable(check.reason)}"


def _format_score(score: Fraction) -> str:
    near = format_decimal(score)
    return near if Fraction(near) == score else str(score)
