"""One rubric over one output, exactly: a pure function of (rubric, question, output)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalstore.checks.combine import combine
from evalstore.checks.kinds import KINDS, PENDING
from evalstore.errors import SchemaError
from evalstore.model import (
    Artifact,
    Check,
    CheckResult,
    Graded,
    Output,
    Question,
    Rubric,
    RubricResult,
    Unscored,
    Verdict,
    rubric_of,
)
from evalstore.text import excerpt, nearest


def evaluate(
    rubric: Rubric | Artifact | Mapping[str, Any],
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    load: Callable[[str], Artifact] | None = None,  # noqa: ARG001  # for the kinds that refer to other artifacts
    strict: bool = False,
) -> RubricResult:
    """Grade one output; scores are exact fractions in [0, 1], and a check that cannot be graded is unscored, never 0.

    Each check is graded by its kind, then turned round where it says `negate` (1 - score), then passes when its score
    is at least its threshold; `combine` says how the rubric's score comes of that. `output` is a text or a mapping
    `{output, tool_calls?}`, `question` a row of a dataset. `strict` takes no answer of an approximate engine. For many
    outputs pass `rubric_of(mapping)`, read once. Raises `SchemaError` for a rubric that cannot be read as one; what
    else its schema refuses, `evalstore validate` says.
    """
    prepared, answer, asked = _rubric(rubric), _output(output), _question(question)
    results = [grade(check, answer, asked, strict=strict) for check in prepared.checks]
    return combine(prepared.scoring, results)


def grade(check: Check, output: Output, question: Question | None, *, strict: bool = False) -> CheckResult:
    """Grade one check: its kind's score, then `negate`, then the verdict against the threshold."""
    graded = _graded(check, output, question)
    if strict and graded.approximate:
        graded = Graded(None, f"{graded.engine} is no exact engine", Unscored.ERROR, graded.engine)
    score, verdict = graded.score, Verdict.UNSCORED
    if score is not None:
        score = 1 - score if check.negate else score
        verdict = Verdict.PASS if score >= check.threshold else Verdict.FAIL
    return CheckResult(check.id, check.kind, score, verdict, graded.reason, graded.unscored, graded.engine)


def _graded(check: Check, output: Output, question: Question | None) -> Graded:
    if check.kind in PENDING:
        return Graded(None, f"this version of evalstore does not run {check.kind} checks yet", Unscored.ERROR)
    if check.kind not in KINDS:
        guess = nearest(check.kind, [*KINDS, *PENDING])
        reason = f"there is no check kind {excerpt(check.kind)!r}" + (f"; did you mean {guess}?" if guess else "")
        return Graded(None, reason, Unscored.ERROR)
    try:
        return KINDS[check.kind].grade(check.params, output, question)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _explained(check, error) from error


def _explained(check: Check, error: Exception) -> Exception:
    """Return what the check's schema says against its parameters; if it says nothing, the error is ours."""
    import json

    from evalstore.resources import folder
    from evalstore.schemas import compile_schema

    text = (folder("schema") / "checks" / f"{check.kind}.schema.json").read_text("utf-8")
    violation = next(compile_schema(json.loads(text)).violations(check.params), None)
    if violation is None:
        return error
    return SchemaError(f"check {check.id}: {violation.message}", hint="`evalstore validate` shows the place")


def _rubric(rubric: Rubric | Artifact | Mapping[str, Any]) -> Rubric:
    if isinstance(rubric, Rubric):
        return rubric
    try:
        return rubric_of(rubric.value if isinstance(rubric, Artifact) else rubric)
    except (AttributeError, ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise SchemaError(
            f"this is no rubric: {type(error).__name__}: {excerpt(str(error))}",
            hint="a rubric has `checks` and `scoring`; `evalstore validate` shows what is wrong in a file",
        ) from None


def _output(output: str | Output | Mapping[str, Any]) -> Output:
    if isinstance(output, str):
        return Output(output)
    if isinstance(output, Output):
        return output
    text, calls = (output.get("output"), output.get("tool_calls")) if isinstance(output, Mapping) else (None, None)
    if not isinstance(text, str):
        raise SchemaError("an output is a text, or a mapping {output, tool_calls?} whose output is a text")
    return Output(text, None if calls is None else tuple(calls))


def _question(question: Question | Mapping[str, Any] | None) -> Question | None:
    if question is None or isinstance(question, Question):
        return question
    return Question(str(question.get("id", "")), str(question.get("input", "")), question)
