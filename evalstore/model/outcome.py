"""The results of scoring: a verdict, an exact score, and a reason if there is no score.

Values made for every check of every output are named tuples, which take a third of the time of a
dataclass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.documents import format_exact
from evalstore.model.measures import NO_MEASURES, Measures
from evalstore.notebook import ReportValue, format_repr

_PLACES = 12
_ZERO, _ONE = Fraction(0), Fraction(1)

# The share of gradings that may fail before there is no score, and no answer.
MAX_UNGRADED = Fraction(2, 100)
# Begins the reason of every check of a question that is not graded: no policy for errors makes a
# score of it.
QUESTION_BROKEN = "the question cannot be graded: "
# The end of the name of an engine that only approximates its contract.
APPROXIMATE = "(approximate)"


class Verdict(StrEnum):
    """The three verdicts of a check or a rubric."""

    PASS = "pass"
    FAIL = "fail"
    UNSCORED = "unscored"


class UnscoredReason(StrEnum):
    """Why a check has no score."""

    MISSING = "missing"
    ERROR = "error"


class MissingSetting(StrEnum):
    """What a person must supply before a check can grade at all."""

    MODEL = "model"
    ENDPOINT = "endpoint"
    PHP = "php"


class OutputEnd(StrEnum):
    """Why an output ended before it was an answer: it was cut off, or refused."""

    CUT = "cut"
    REFUSED = "refused"


# By the reasons that model APIs, and the tools that call them, give.
_ENDS = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), OutputEnd.CUT),
    **dict.fromkeys(
        ("refusal", "content_filter", "safety", "prohibited_content", "blocklist"),
        OutputEnd.REFUSED,
    ),
}


def read_output_end(reason: Any) -> OutputEnd | None:
    """Return what a finish reason means; None for a complete output, or if it is not a reason."""
    return _ENDS.get(reason.lower()) if isinstance(reason, str) else None


class Output(NamedTuple):
    """The output of a model: its text, tool calls, why it ended early, and numbers about it."""

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    end: OutputEnd | None = None
    measures: Measures = NO_MEASURES


class Grade(NamedTuple):
    """The score of one check before `negate` and `threshold`: in [0, 1], or None with a reason.

    `replies` is the SHA-256 over the texts of the judges' replies; `reply_digests` name each as it
    is kept. The threshold is for a check that sets none and whose kind has no default: a composite
    takes it from its rubric, or, if that rubric's verdict follows its checks, `passed` is the
    verdict. `inner_errors` are the checks of a composite's rubric that could not be graded,
    although the rubric may have a score; `inner_missing` are those that had nothing to grade.
    `setting` is what was missing for this grading or one within it; runs do not record it.
    """

    score: Fraction | None
    reason: str = ""
    unscored: UnscoredReason | None = None
    engine: str = "evalstore"
    replies: str = ""
    threshold: Fraction | None = None
    reply_digests: tuple[str, ...] = ()
    inner_errors: tuple[str, ...] = ()
    setting: MissingSetting | None = None
    inner_missing: tuple[str, ...] = ()
    passed: bool | None = None

    def __hash__(self) -> int:
        # Grades are looked up again for every check of every output, and exact fractions hash
        # slowly.
        return hash(self.reason)

    @property
    def approximate(self) -> bool:
        """Whether the engine itself says that it approximates."""
        return self.engine.endswith(APPROXIMATE)


class CheckResult(NamedTuple):
    """The result of one check.

    `score` is None exactly if the verdict is unscored; the rest is as in `Grade`.
    """

    id: str
    kind: str
    score: Fraction | None
    verdict: Verdict
    reason: str = ""
    unscored: UnscoredReason | None = None
    engine: str = "evalstore"
    replies: str = ""
    reply_digests: tuple[str, ...] = ()
    inner_errors: tuple[str, ...] = ()
    setting: MissingSetting | None = None
    inner_missing: tuple[str, ...] = ()

    @property
    def gaps(self) -> frozenset[str]:
        """What had nothing to grade: a composite's checks by id, `""` for the check itself."""
        if self.score is None:
            return frozenset({""} if self.unscored is UnscoredReason.MISSING else ())
        return frozenset(self.inner_missing)

    @property
    def is_whole(self) -> bool:
        """Whether it was graded, and, for a composite, all of its rubric."""
        return self.score is not None and not self.inner_errors and not self.inner_missing

    @property
    def is_ungraded(self) -> bool:
        """Whether it, or a check of its rubric, could not be graded."""
        return self.unscored is UnscoredReason.ERROR or (
            self.score is not None and bool(self.inner_errors)
        )


class Coverage(NamedTuple):
    """How many gradings (one per check and output) were asked for, and how many were complete."""

    graded: int = 0
    asked: int = 0

    def __str__(self) -> str:
        return f"{self.graded:,} of {self.asked:,} gradings"


# For a run that another tool graded.
NO_GRADINGS = Coverage()


def count_coverage(results: Iterable[CheckResult]) -> Coverage:
    """Return how many of these results are grades."""
    graded = [result.is_whole for result in results]
    return Coverage(sum(graded), len(graded))


@dataclass(frozen=True, slots=True)
class RubricResult(ReportValue):
    """The result of one rubric for one output.

    Attributes:
        score: An exact fraction of 1; None if nothing could be graded.
        verdict: `pass`, `fail` or `unscored`.
        checks: The results of its checks, each with `.id`, `.kind`, `.score`, `.verdict` and
            `.reason`.
        reason: What decided the result, beyond the checks.

    Examples:
        >>> print(evaluate("rubric/answer_style", "Run `export`.", store=store).verdict)
        fail
    """

    score: Fraction | None
    verdict: Verdict
    checks: tuple[CheckResult, ...] = field(default=())
    reason: str = ""

    def __repr__(self) -> str:
        checks = ", ".join(f"{check.id} {check.verdict}" for check in self.checks)
        gap = [f"not graded: {', '.join(self.ungraded)}"] if self.ungraded else []
        return format_repr(
            self, f"score {self.score}", str(self.verdict), f"checks: {checks}", *gap
        )

    @property
    def ungraded(self) -> tuple[str, ...]:
        """The checks that were not graded, or not in full; the others made the score."""
        return tuple(check.id for check in self.checks if check.is_ungraded)


def has_failed_check(results: Iterable[CheckResult]) -> bool:
    """Whether a check could not be run: a judge did not answer, or a program is missing."""
    return any(result.is_ungraded for result in results)


def format_decimal(score: Fraction) -> str:
    """Write an exact score as the nearest decimal with twelve places."""
    # Exact until it is rounded (half to even): no binary float is involved.
    return format_exact(Decimal(round(score * 10**_PLACES)).scaleb(-_PLACES))


def format_exact_score(score: Fraction) -> str:
    """Write a score as a decimal, or as a fraction if twelve places are not enough."""
    decimal = format_decimal(score)
    return decimal if Fraction(decimal) == score else str(score)


def format_score(score: Fraction) -> str:
    """Write a score in points of 100, such as `81.25`; `0` and `100` are never rounded values."""
    points = round(score * 100, 2)
    if 0 < score < 1:
        points = min(max(points, Fraction("0.01")), Fraction("99.99"))
    return format_decimal(points)


def grade_binary(
    holds: bool,  # noqa: FBT001  # the answer itself
    reason: str,
    engine: str = "evalstore",
) -> Grade:
    """Return the grade of a check that either holds or does not hold."""
    return Grade(_ONE if holds else _ZERO, reason, engine=engine)


def grade_missing(reason: str) -> Grade:
    """Return the grade of a check that has nothing to grade."""
    return Grade(None, reason, UnscoredReason.MISSING)


def grade_error(
    reason: str, engine: str = "evalstore", setting: MissingSetting | None = None
) -> Grade:
    """Return the grade of a check that could not be run."""
    return Grade(None, reason, UnscoredReason.ERROR, engine, setting=setting)
