"""Reads scores and verdicts of other tools: exact numbers, words for pass and fail.

Opens no file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.model import CheckResult, UnscoredReason, Verdict
from evalstore.runs.imports.entry import RecordedGrade
from evalstore.text import LONG_EXCERPT, make_excerpt

RECORDED = "recorded"  # the kind of a check that another tool made
PASSED, FAILED = Fraction(1), Fraction(0)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE
)
_WORDS = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "correct", "met", "c", "success"), True),
    **dict.fromkeys(("fail", "failed", "false", "no", "incorrect", "unmet", "i", "failure"), False),
}
_NO_SCORE = "it recorded no score"


def read_score(value: Any) -> Fraction | None:
    """Return a number exactly, true and false as 1 and 0; None for anything else, such as NaN."""
    if isinstance(value, str):
        text = value.strip()
        return Fraction(Decimal(text)) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool | int | Fraction):
        return Fraction(value)
    if isinstance(value, Decimal | float) and Decimal(value).is_finite():
        return Fraction(value)
    return None


def read_passed(value: Any) -> bool | None:
    """Return whether a word or a boolean means pass or fail; None if neither."""
    if isinstance(value, bool):
        return value
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None


def find_verdict(
    score: Fraction | None,
    passed: bool | None = None,  # noqa: FBT001  # a recorded fact
) -> Verdict:
    """Return the recorded verdict; without one, a full score passes. Unscored without a score."""
    if score is None:
        return Verdict.UNSCORED
    if passed is None:
        passed = score >= 1
    return Verdict.PASS if passed else Verdict.FAIL


def make_check(  # noqa: PLR0913  # what a check records
    id_: str,
    score: Fraction | None,
    passed: bool | None = None,  # noqa: FBT001  # a recorded fact
    *,
    reason: Any = "",
    engine: str,
    missing: str = _NO_SCORE,
) -> CheckResult:
    """Return another tool's check as a result; without a score, its verdict counts as 1 or 0."""
    if score is None and passed is not None:
        score = PASSED if passed else FAILED
    text = reason if isinstance(reason, str) else ""
    if score is not None and not 0 <= score <= 1:
        missing, score = f"its score {float(score):g} is not between 0 and 1", None
    return CheckResult(
        make_excerpt(id_ or "a check", LONG_EXCERPT),
        RECORDED,
        score,
        find_verdict(score, passed),
        (text or missing) if score is None else text,
        UnscoredReason.ERROR if score is None else None,
        engine,
    )


def name_apart(checks: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return checks with unique names: a name that occurs again gets a number."""
    seen: Counter[str] = Counter()
    found = []
    for check in checks:
        seen[check.id] += 1
        number = seen[check.id]
        found.append(check if number == 1 else check._replace(id=f"{check.id} ({number})"))
    return tuple(found)


def compute_average(scores: Iterable[Fraction | None]) -> Fraction | None:
    """Return the mean of the scores that are not None; None if there is none."""
    known = [score for score in scores if score is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def make_grade(  # noqa: PLR0913  # what a row records
    score: Fraction | None,
    passed: bool | None = None,  # noqa: FBT001  # a recorded fact
    checks: Sequence[CheckResult] = (),
    *,
    reason: Any = "",
    reference: tuple[str, ...] = (),
    stated: Fraction | None = None,
) -> RecordedGrade:
    """Return a row's grade; a score outside 0 to 1 is dropped, and the reason says so."""
    text = reason if isinstance(reason, str) else ""
    if score is None and passed is not None:
        score = PASSED if passed else FAILED
    if score is not None and not 0 <= score <= 1:
        text, score = f"its score {float(score):g} is not between 0 and 1", None
    return RecordedGrade(
        score, find_verdict(score, passed), name_apart(checks), text, reference, stated
    )


def grade_by_checks(checks: Sequence[CheckResult], **facts: Any) -> RecordedGrade:
    """Return the grade of a row that has only checks: their mean, passed if all passed."""
    known = [check for check in checks if check.score is not None]
    passed = all(check.verdict is Verdict.PASS for check in known) if known else None
    return make_grade(compute_average(check.score for check in checks), passed, checks, **facts)
