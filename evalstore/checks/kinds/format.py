"""format: the whole output is strict JSON, or non-empty text, with a length within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.documents import read_value
from evalstore.errors import LimitError, LoadError
from evalstore.model import Grade, Question, Sample
from evalstore.model.outcome import grade_binary, grade_error, grade_missing
from evalstore.text import EXCERPT, find_nearest, make_excerpt

_FORMATS = frozenset({"json", "text"})


def read_strict_value(text: str) -> Any:
    """Parse one text of strict JSON (RFC 8259).

    It allows no duplicate key, no NaN, no half of a surrogate pair, and around the value only
    JSON's four white space characters.
    """
    return read_value(text, "output")


def grade_json(
    text: str,
    grade_value: Callable[[Any], Grade],
    read_json_value: Callable[[str], Any] = read_strict_value,
) -> Grade:
    """Return the grade of the JSON's value.

    Anything but JSON fails; JSON beyond the limits is unscored (error).
    """
    # A file may begin with a byte order mark, and its reader accepts it; a graded text may not, as
    # in `JSON.parse`.
    if text.startswith("\ufeff"):
        return grade_binary(False, "not JSON: it begins with a byte order mark")
    try:
        value = read_json_value(text)
    except LimitError as limit:
        return grade_error(make_excerpt(limit.message))
    except LoadError as broken:
        line = f" (line {broken.place.line})" if broken.place else ""
        return grade_binary(
            False,
            f"not JSON{line}: {make_excerpt(broken.message.removeprefix('not JSON: '), EXCERPT)}",
        )
    return grade_value(value)


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Test the limits (code points, stripped), then the format of the check, else of the question.

    With neither a format nor a limit, the check is unscored (missing); JSON deeper or larger than
    evalstore reads leaves it unscored (error).
    """
    written, least, most = params.get("format"), params.get("min_chars", 0), params.get("max_chars")
    has_limit = "min_chars" in params or most is not None

    def grade(sample: Sample) -> Grade:
        length = len(sample.text.strip())
        wanted = written or _find_expected_format(sample.question)
        if wanted is None and not has_limit:
            slip = _explain_absence(sample.question) if sample.question else ""
            return grade_missing(
                f"neither the check nor the question's expected.format says json or text{slip}"
            )
        if length < least:
            return grade_binary(False, f"{length:,} characters, at least {least:,} wanted")
        if most is not None and length > most:
            return grade_binary(False, f"{length:,} characters, at most {most:,} wanted")
        if wanted == "json":
            return grade_json(sample.text, lambda _: grade_binary(True, "strict JSON"))
        if length:
            return grade_binary(True, f"{length:,} characters")
        return grade_binary(wanted is None, "the output is empty")

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield limits that no output meets."""
    least, most = params.get("min_chars", 0), params.get("max_chars")
    if most is not None and least > most:
        yield CheckProblem(
            ("min_chars",),
            f"min_chars is {least} and max_chars {most}, so nothing passes",
            "swap or correct them",
        )
    elif most == 0 and "format" in params:
        yield CheckProblem(
            ("max_chars",),
            f"max_chars 0 allows no {params['format']}, so nothing passes",
            "raise it",
        )


def _find_expected_format(question: Question | None) -> str | None:
    expected = question.row.get("expected") if question else None
    wanted = expected.get("format") if isinstance(expected, Mapping) else None
    return wanted if isinstance(wanted, str) and wanted in _FORMATS else None


def _explain_absence(question: Question) -> str:
    """Return the words for a misspelt `expected`, `format` or format name; empty if none is."""
    expected = question.row.get("expected")
    wanted = expected.get("format") if isinstance(expected, Mapping) else None
    if isinstance(wanted, str) and (guess := find_nearest(wanted, sorted(_FORMATS))):
        return question.describe_slip(guess, wanted)
    return question.explain_absence("expected") or question.explain_absence(
        "format", within="expected"
    )


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="text",
    is_binary=True,
)
