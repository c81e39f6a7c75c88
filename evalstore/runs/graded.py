"""One row of Every Eval Ever, of any version, as it was graded; opens no file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import Place
from evalstore.model import CheckResult, UnscoredReason, Verdict
from evalstore.runs.form import UNKNOWN
from evalstore.runs.recorded import read_stored_output
from evalstore.runs.shape import exact_score, number_of, require_text, read_text_or
from evalstore.runs.values import GradedRow
from evalstore.text import make_excerpt


def read_graded_row(value: Mapping[str, Any], place: Place) -> GradedRow | None:
    """Return a row with its grade; None when its model gave no output. In rows of others, -1 means unscored."""
    recorded = read_stored_output(value, place)
    if recorded is None:
        return None
    details, (prompt, reference) = value.get("metadata") or {}, _input_and_reference(value)
    score, verdict = _score_and_verdict(value, details)
    checks = read_row(read_text_or(details, "evalstore_checks", "[]").encode(), place.file, place.line or 0)
    return GradedRow(
        id=recorded.id,
        input=prompt,
        reference=reference,
        output=recorded.output,
        score=score,
        verdict=verdict,
        rubric=read_text_or(details, "evalstore_rubric"),
        rubric_digest=read_text_or(details, "evalstore_rubric_digest"),
        checks=tuple(_read_check(check) for check in checks),
        reason=read_text_or(details, "evalstore_reason", read_text_or(value, "error")),
        input_digest=read_text_or(details, "evalstore_input_digest"),
        reference_digest=read_text_or(details, "evalstore_reference_digest"),
        group=read_text_or(details, "evalstore_group") if "evalstore_group" in details else None,
    )


def _input_and_reference(row: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what the model was asked, and the expected answers; the samples of the first aggregates are flat."""
    flat, input_ = "response" in row, row["input"]
    reference = row.get("ground_truth") if flat else input_.get("reference")
    several = reference if isinstance(reference, list) else [] if reference is None else [reference]
    if not all(isinstance(text, str) for text in several):
        raise ValueError("its reference is no text")
    return require_text(row, "input") if flat else require_text(input_, "raw"), tuple(several)


def _score_and_verdict(row: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[Fraction | None, Verdict]:
    if "evalstore_score" in details:
        return _consistent_grade(details["evalstore_score"], details["evalstore_verdict"])
    if "response" in row:
        return None, Verdict.UNSCORED
    evaluation = row["metrics"] if "metrics" in row and "evaluation" not in row else row["evaluation"]
    score = number_of(evaluation.get("score"))
    if score is None or score == UNKNOWN:
        return None, Verdict.UNSCORED
    if isinstance(correct := evaluation["is_correct"], bool):
        return score, Verdict.PASS if correct else Verdict.FAIL
    raise ValueError("its `is_correct` is neither true nor false")


def _consistent_grade(score: str, verdict: str) -> tuple[Fraction | None, Verdict]:
    grade = exact_score(score), Verdict(verdict)
    if (grade[0] is None) == (grade[1] is Verdict.UNSCORED):
        return grade
    raise ValueError(f"the verdict '{verdict}' contradicts the score '{make_excerpt(score, 40)}'")


def _read_check(check: Mapping[str, Any]) -> CheckResult:
    score, verdict = _consistent_grade(check["score"], check["verdict"])
    return CheckResult(
        id=require_text(check, "id"),
        kind=require_text(check, "kind"),
        score=score,
        verdict=verdict,
        reason=require_text(check, "reason"),
        unscored=UnscoredReason(check["unscored"]) if check["unscored"] else None,
        engine=require_text(check, "engine"),
        replies=read_text_or(check, "replies"),
    )
