"""What scoring answers: a verdict, an exact score, and a reason when there is none.

What is made for every check of every output is a tuple with names, which is made in a third of the time of a dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.documents import exact

_PLACES = 12
_ZERO, _ONE = Fraction(0), Fraction(1)

# How an engine's name ends that only comes close to the contract.
APPROXIMATE = "(approximate)"


class Verdict(StrEnum):
    """The three answers of a check or a rubric."""

    PASS = "pass"
    FAIL = "fail"
    UNSCORED = "unscored"


class Unscored(StrEnum):
    """Why a check has no score."""

    MISSING = "missing"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Output:
    """What a model answered: its text, and its tool calls when they were recorded."""

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] | None = None


class Graded(NamedTuple):
    """What one check kind found, before `negate` and `threshold`: a score in [0, 1], or why there is none.

    `replies` is the SHA-256 over what judges answered. `bar` is the threshold of a check that writes none and has no
    default of its own: a composite takes it from the rubric that it refers to.
    """

    score: Fraction | None
    reason: str = ""
    unscored: Unscored | None = None
    engine: str = "evalstore"
    replies: str = ""
    bar: Fraction | None = None

    @property
    def approximate(self) -> bool:
        """Whether the engine says of itself that it only comes close."""
        return self.engine.endswith(APPROXIMATE)


class CheckResult(NamedTuple):
    """One check's answer; `score` is None exactly when the verdict is unscored; `replies` as in `Graded`."""

    id: str
    kind: str
    score: Fraction | None
    verdict: Verdict
    reason: str = ""
    unscored: Unscored | None = None
    engine: str = "evalstore"
    replies: str = ""


@dataclass(frozen=True, slots=True)
class RubricResult:
    """One rubric's answer for one output."""

    score: Fraction | None
    verdict: Verdict
    checks: tuple[CheckResult, ...] = field(default=())
    reason: str = ""


def decimal(score: Fraction) -> str:
    """Write an exact score as the nearest decimal of twelve places."""
    return exact(Decimal(round(score * 10**_PLACES)).scaleb(-_PLACES))


def binary(holds: bool, reason: str, engine: str = "evalstore") -> Graded:  # noqa: FBT001  # the answer itself
    """Return the score of a check that either holds or does not."""
    return Graded(_ONE if holds else _ZERO, reason, engine=engine)


def missing(reason: str) -> Graded:
    """Return the answer of a check that has nothing to grade."""
    return Graded(None, reason, Unscored.MISSING)


def error(reason: str, engine: str = "evalstore") -> Graded:
    """Return the answer of a check that could not grade."""
    return Graded(None, reason, Unscored.ERROR, engine)
