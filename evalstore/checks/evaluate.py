"""Grades one output by one rubric, exactly: a pure function of (rubric, question, output), prepared once a rubric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from evalstore.checks.combine import OUTPUT_TOO_LONG, combine_results
from evalstore.checks.context import NO_CONTEXT, CheckContext, GradeFunction
from evalstore.checks.kinds import KINDS
from evalstore.documents import format_json_pointer
from evalstore.errors import SchemaError
from evalstore.identity_cache import IdentityCache
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    Check,
    CheckResult,
    Grade,
    Output,
    Question,
    Rubric,
    RubricResult,
    Sample,
    Verdict,
    find_check_pins,
    read_call_name,
    read_rubric,
)
from evalstore.model.outcome import grade_error
from evalstore.model.rubric import DETERMINISTIC_THRESHOLD
from evalstore.patterns.limits import OUTPUT_LIMIT
from evalstore.text import find_nearest, make_excerpt

_KEPT_GRADES = 256  # of a check


def evaluate(
    rubric: Rubric | Artifact | Mapping[str, Any],
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    context: CheckContext = NO_CONTEXT,
) -> RubricResult:
    """Grade one output; scores are exact fractions in [0, 1], and a check that cannot be graded is unscored, never 0.

    Each check is graded by its kind, then turned round where it says `negate` (1 - score), then passes when its score
    is at least its threshold; `combine` says how the rubric's score comes of that. `output` is a text or a mapping
    `{output, tool_calls?}`, `question` a row of a dataset; `context` finds what the rubric refers to and asks its
    judges. An output of more than `OUTPUT_LIMIT` characters is unscored, whatever the rubric says. For many outputs,
    `prepare_rubric` once. Raises `SchemaError` for a rubric that cannot be read as one; what else its schema refuses,
    `evalstore validate` says.
    """
    return prepare_rubric(_read_rubric(rubric), context)(Sample(_read_output(output), _read_question(question)))


def prepare_rubric(rubric: Rubric, context: CheckContext = NO_CONTEXT) -> Callable[[Sample], RubricResult]:
    """Return the rubric as a function of samples; `RefError` where it refers to what is not there."""
    checks = [prepare_check(check, context) for check in rubric.checks]
    # The outputs of a run have few different results, and each combination of them is combined once.
    combined = IdentityCache(lambda *results: combine_results(rubric.scoring, results))
    return lambda sample: combined.find(*[grade(sample) for grade in checks])


def prepare_check(check: Check, context: CheckContext = NO_CONTEXT) -> Callable[[Sample], CheckResult]:
    """Return one check as a function of samples: its kind's score, then `negate`, then the verdict."""
    grade_by_kind = _prepare_kind(check, context)
    too_long = apply_threshold(check, grade_error(OUTPUT_TOO_LONG), strict=False)

    # Equal grades have one result, the same object.
    @lru_cache(maxsize=_KEPT_GRADES)
    def judge_grade(graded: Grade) -> CheckResult:
        return apply_threshold(check, graded, strict=context.strict)

    def grade(sample: Sample) -> CheckResult:
        if len(sample.output.text) > OUTPUT_LIMIT:
            return too_long
        try:
            return judge_grade(grade_by_kind(sample))
        except MALFORMED_ERRORS as misfit:
            raise _explain_misfit(check, misfit) from misfit

    return grade


def _prepare_kind(check: Check, context: CheckContext) -> GradeFunction:
    if check.kind not in KINDS:
        guess = find_nearest(check.kind, KINDS)
        hint = f"; did you mean {guess}?" if guess else ""
        return _answer_always(grade_error(f"there is no check kind {make_excerpt(check.kind)!r}{hint}"))
    try:
        if context.load is None and (pins := [ref for _, ref in find_check_pins((), check.params)]):
            return _answer_always(grade_error(f"no store was given to find {make_excerpt(', '.join(pins))} in"))
        # The threshold of the check, not of what it was written in: the members of a jury vote by it.
        bar = {} if check.threshold is None else {"threshold": check.threshold}
        return KINDS[check.kind].prepare_grading({**check.params, **bar}, context)
    except MALFORMED_ERRORS as misfit:
        raise _explain_misfit(check, misfit) from misfit


def _answer_always(graded: Grade) -> GradeFunction:
    return lambda _: graded


def apply_threshold(check: Check, graded: Grade, *, strict: bool) -> CheckResult:
    """Turn the grade of a kind into the result of a check: `negate`, then the verdict by its threshold."""
    # `strict` turns an approximate answer into none, before the score is looked at.
    if strict and graded.approximate:
        graded = grade_error(f"{graded.engine} is no exact engine", graded.engine)
    score, verdict = graded.score, Verdict.UNSCORED
    if score is not None:
        score = 1 - score if check.negate else score
        bar = graded.threshold if check.threshold is None else check.threshold
        verdict = Verdict.PASS if score >= (DETERMINISTIC_THRESHOLD if bar is None else bar) else Verdict.FAIL
    return CheckResult(
        check.id,
        check.kind,
        score,
        verdict,
        graded.reason,
        graded.unscored,
        graded.engine,
        graded.replies,
        graded.reply_digests,
        graded.inner_errors,
    )


def _explain_misfit(check: Check, misfit: Exception) -> Exception:
    """Return the errors of the check's schema on its parameters; without any, the fault is evalstore's."""
    import json

    from evalstore.resources import find_resource_folder
    from evalstore.schemas import compile_shipped_schema

    text = (find_resource_folder("schema") / "checks" / f"{check.kind}.schema.json").read_text("utf-8")
    # A key that nothing reads is no reason: `validate` says so, and grading goes on.
    violations = compile_shipped_schema(json.loads(text)).find_violations(check.params)
    violation = next((found for found in violations if found.keyword != "unevaluatedProperties"), None)
    if violation is None:
        return misfit
    message = "cannot stand beside the other parameters" if violation.keyword == "not" else violation.message
    what = f"check {check.id}{format_json_pointer(violation.pointer)}"
    return SchemaError(f"{make_excerpt(what)}: {make_excerpt(message)}", hint="`evalstore validate` shows the place")


def _read_rubric(rubric: Rubric | Artifact | Mapping[str, Any]) -> Rubric:
    if isinstance(rubric, Rubric):
        return rubric
    try:
        return read_rubric(rubric.value if isinstance(rubric, Artifact) else rubric)
    except MALFORMED_ERRORS as misfit:
        raise SchemaError(
            f"this is no rubric: {type(misfit).__name__}: {make_excerpt(str(misfit))}",
            hint="a rubric has `checks` and `scoring`; `evalstore validate` shows what is wrong in a file",
        ) from None


def _read_output(output: str | Output | Mapping[str, Any]) -> Output:
    if isinstance(output, str):
        return Output(output)
    if isinstance(output, Output):
        return output
    text, calls = (output.get("output"), output.get("tool_calls")) if isinstance(output, Mapping) else (None, None)
    if not isinstance(text, str):
        raise SchemaError("an output is a text, or a mapping {output, tool_calls?} whose output is a text")
    if calls is None:
        return Output(text)
    if not isinstance(calls, list | tuple) or not all(
        isinstance(call, Mapping) and read_call_name(call) for call in calls
    ):
        raise SchemaError("`tool_calls` is no list of calls", hint='a call is {"name": "…", "args": {…}}')
    return Output(text, tuple(calls))


def _read_question(question: Question | Mapping[str, Any] | None) -> Question | None:
    if question is None or isinstance(question, Question):
        return question
    return Question(str(question.get("id", "")), str(question.get("input", "")), question)
