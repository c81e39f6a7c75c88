"""Reads one row of a run as a graded row; opens no file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from evalstore.documents import read_row
from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Output, UnscoredReason, Verdict
from evalstore.runs.eee_rows import (
    is_eee_row,
    read_eee_answer,
    read_eee_sample,
    read_sample_id,
    read_stored_output,
)
from evalstore.runs.eee_write import write_score
from evalstore.runs.record_fields import (
    get_mapping,
    parse_exact_score,
    read_number,
    read_text_or,
    require_text,
)
from evalstore.runs.values import UNKNOWN, GradedRow
from evalstore.text import make_excerpt


def read_graded_row(value: Mapping[str, Any], place: Place) -> GradedRow | None:
    """Return a row with its grade; None if the model gave no output.

    In rows that evalstore did not write, a score of -1 means unscored.
    """
    id_, sample, output = _read_answer(value, place)
    return None if output is None else _build_graded_row(value, (id_, sample), output, place)


class BareRow(NamedTuple):
    """A row with its grade.

    If the output is not stored, its text is empty, and the run has only its digest.
    """

    row: GradedRow
    is_stored: bool
    output_digest: str


def read_bare_row(value: Mapping[str, Any], place: Place) -> BareRow:
    """Return a row with its grade, whether its output is stored, and its recorded digest."""
    id_, sample, output = _read_answer(value, place)
    row = _build_graded_row(value, (id_, sample), output or Output(""), place)
    return BareRow(
        row,
        output is not None,
        read_text_or(value.get("metadata") or {}, "evalstore_output_digest"),
    )


def _build_graded_row(
    value: Mapping[str, Any], key: tuple[str, int], output: Output, place: Place
) -> GradedRow:
    details, (prompt, reference) = value.get("metadata") or {}, _input_and_reference(value)
    score, verdict = _score_and_verdict(value, details)
    return GradedRow(
        id=key[0],
        input=prompt,
        reference=reference,
        output=output,
        score=score,
        verdict=verdict,
        rubric=read_text_or(details, "evalstore_rubric"),
        rubric_digest=read_text_or(details, "evalstore_rubric_digest"),
        checks=_load_checks(read_text_or(details, "evalstore_checks", "[]"), place),
        reason=read_text_or(details, "evalstore_reason", read_text_or(value, "error")),
        input_digest=read_text_or(details, "evalstore_input_digest"),
        reference_digest=read_text_or(details, "evalstore_reference_digest"),
        group=read_text_or(details, "evalstore_group") if "evalstore_group" in details else None,
        sample=key[1],
        asked=read_text_or(details, "evalstore_asked") or None,
    )


def _read_answer(value: Mapping[str, Any], place: Place) -> tuple[str, int, Output | None]:
    """Return the question, the sample and the output of a line, whatever its label says."""
    if is_eee_row(value):
        return read_sample_id(value, place), read_eee_sample(value), read_eee_answer(value, place)
    recorded = read_stored_output(value, place)
    return (recorded.id, recorded.sample, recorded.output) if recorded else ("", 0, None)


def _input_and_reference(row: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what the model was asked, and the expected answers.

    In samples embedded in the oldest aggregates, these fields are not nested.
    """
    flat, input_ = "response" in row, row["input"]
    reference = row.get("ground_truth") if flat else input_.get("reference")
    if reference is None:
        reference = []
    several = reference if isinstance(reference, list) else [reference]
    if not all(isinstance(text, str) for text in several):
        raise ValueError("its reference is not text")
    return require_text(row, "input") if flat else require_text(input_, "raw"), tuple(several)


def _score_and_verdict(
    row: Mapping[str, Any], details: Mapping[str, Any]
) -> tuple[Fraction | None, Verdict]:
    if "evalstore_score" in details:
        shown = get_mapping(row, "evaluation")
        grade = details["evalstore_score"], details["evalstore_verdict"]
        return _read_row_grade(*grade, shown.get("score"), shown.get("is_correct"))
    if "response" in row:
        return None, Verdict.UNSCORED
    evaluation = (
        row["metrics"] if "metrics" in row and "evaluation" not in row else row["evaluation"]
    )
    score = read_number(evaluation.get("score"))
    if score is None or score == UNKNOWN:
        return None, Verdict.UNSCORED
    if isinstance(correct := evaluation["is_correct"], bool):
        return score, Verdict.PASS if correct else Verdict.FAIL
    raise ValueError("its `is_correct` is not true or false")


# Cached: a run has few different grades.
@lru_cache(maxsize=1024)
def _read_consistent_grade(score: str, verdict: str) -> tuple[Fraction | None, Verdict]:
    """Return a grade that evalstore wrote; raises `ValueError` if verdict and score disagree."""
    grade = parse_exact_score(score), Verdict(verdict)
    if (grade[0] is None) == (grade[1] is Verdict.UNSCORED):
        return grade
    raise ValueError(f"the verdict '{verdict}' contradicts the score '{make_excerpt(score, 40)}'")


@lru_cache(maxsize=1024, typed=True)  # a 1 is not the True of another row
def _read_row_grade(
    exact: str, verdict: str, score: Any, is_correct: Any
) -> tuple[Fraction | None, Verdict]:
    """Return the exact grade of a row, which the numbers that other programs read must not deny."""
    grade = _read_consistent_grade(exact, verdict)
    if score is not None and read_number(score) != Fraction(repr(write_score(grade[0]))):
        raise ValueError(f"its score {score} contradicts its exact score, {exact or 'none'}")
    if is_correct is not None and is_correct is not (grade[1] is Verdict.PASS):
        raise ValueError(f"its `is_correct` contradicts its verdict, {verdict}")
    return grade


def _load_checks(text: str, place: Place) -> tuple[CheckResult, ...]:
    """Return the results of checks from the JSON in a row."""
    try:
        return _read_checks(text)
    except LoadError as error:
        error.place = place
        raise


# Cached: in a run without judges many rows have equal results.
@lru_cache(maxsize=256)
def _read_checks(text: str) -> tuple[CheckResult, ...]:
    return tuple(map(_read_check, read_row(text.encode(), "", 0)))


def _read_check(check: Mapping[str, Any]) -> CheckResult:
    score, verdict = _read_consistent_grade(check["score"], check["verdict"])
    id_, kind, reason, engine = (
        require_text(check, key) for key in ("id", "kind", "reason", "engine")
    )
    unscored = UnscoredReason(check["unscored"]) if check["unscored"] else None
    replies = read_text_or(check, "replies") if "replies" in check else ""
    return CheckResult(
        id_,
        kind,
        score,
        verdict,
        reason,
        unscored,
        engine,
        replies,
        reply_digests=_read_texts(check, "reply_digests"),
        inner_errors=_read_texts(check, "inner_errors"),
        inner_missing=_read_texts(check, "inner_missing"),
    )


def _read_texts(check: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = check.get(key, [])
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    raise ValueError(f"its `{key}` are not strings")
