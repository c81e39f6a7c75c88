"""format: the whole output is strict JSON or text that is not empty, and its length is within the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.output_json import grade_json
from evalstore.model import Grade, Question, Sample
from evalstore.model.outcome import grade_binary, grade_missing
from evalstore.text import find_nearest

_FORMATS = frozenset({"json", "text"})


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Test the limits (code points of the stripped output), then the check's format, or else the question's.

    With neither a format nor a limit the check is unscored (missing); JSON deeper or larger than evalstore reads leaves
    it unscored (error).
    """
    return lambda sample: _grade_text(params, sample)


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield limits that no output meets."""
    least, most = params.get("min_chars", 0), params.get("max_chars")
    if most is not None and least > most:
        yield CheckProblem(
            ("min_chars",), f"min_chars is {least} and max_chars {most}, so nothing passes", "swap or correct them"
        )
    elif most == 0 and "format" in params:
        yield CheckProblem(("max_chars",), f"max_chars 0 allows no {params['format']}, so nothing passes", "raise it")


def _grade_text(params: Mapping[str, Any], sample: Sample) -> Grade:
    text = sample.text.strip()
    wanted = params.get("format") or _find_expected_format(sample.question)
    least, most = params.get("min_chars", 0), params.get("max_chars")
    if wanted is None and "min_chars" not in params and most is None:
        slip = _explain_absence(sample.question) if sample.question else ""
        return grade_missing(f"neither the check nor the question's expected.format says json or text{slip}")
    if len(text) < least:
        return grade_binary(False, f"{len(text):,} characters, at least {least:,} wanted")
    if most is not None and len(text) > most:
        return grade_binary(False, f"{len(text):,} characters, at most {most:,} wanted")
    if wanted == "json":
        return grade_json(sample.text, lambda _: grade_binary(True, "strict JSON"))
    return grade_binary(bool(text) or wanted is None, f"{len(text):,} characters" if text else "the output is empty")


def _find_expected_format(question: Question | None) -> str | None:
    expected = question.row.get("expected") if question else None
    wanted = expected.get("format") if isinstance(expected, Mapping) else None
    return wanted if isinstance(wanted, str) and wanted in _FORMATS else None


def _explain_absence(question: Question) -> str:
    """Return the words for a misspelt `expected`, `format`, or name of a format; empty where there is none."""
    expected = question.row.get("expected")
    wanted = expected.get("format") if isinstance(expected, Mapping) else None
    if isinstance(wanted, str) and (guess := find_nearest(wanted, sorted(_FORMATS))):
        return question.describe_slip(guess, wanted)
    return question.explain_absence("expected") or question.explain_absence("format", within="expected")
