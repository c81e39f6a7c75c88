"""composite: the score of another rubric, and its verdict if the check has no threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalstore.checks.context import CheckContext, GradeFunction
from evalstore.checks.evaluate import prepare_rubric
from evalstore.checks.kinds import CheckKind, find_check_kind
from evalstore.documents import compute_digest
from evalstore.errors import SchemaError
from evalstore.model import (
    MALFORMED_ERRORS,
    CheckResult,
    Combine,
    Grade,
    Kind,
    Rubric,
    RubricResult,
    Sample,
    Scoring,
    UnscoredReason,
    Verdict,
    VerdictRule,
    describe_misfit,
    read_rubric,
)
from evalstore.model.outcome import APPROXIMATE, grade_error
from evalstore.text import make_excerpt


def prepare_grading(params: Mapping[str, Any], context: CheckContext) -> GradeFunction:
    """Grade with the rubric that `rubric_ref` names.

    A rubric with a composite inside is unscored (error). An inner rubric without a score is missing
    if only missing checks kept it from one, else an error.
    """
    ref = params["rubric_ref"]
    rubric = _load_rubric(ref, context)
    deeper = next(
        (check for check in rubric.checks if find_check_kind(check.kind).holds_rubric), None
    )
    if deeper is not None:
        problem = grade_error(
            f"{ref} contains the composite {make_excerpt(deeper.id)}, but composites can be "
            "only one level deep"
        )
        return lambda _: problem
    # Prepared here, once: references within are read before the first output.
    inner = prepare_rubric(rubric, context)

    def grade(sample: Sample) -> Grade:
        try:
            return grade_inner_result(ref, rubric.scoring, inner(sample))
        except SchemaError as broken:
            raise SchemaError(f"{ref}: {broken.message}", hint=broken.hint) from None

    return grade


def _load_rubric(ref: str, context: CheckContext) -> Rubric:
    artifact = context.load_artifact(ref, Kind.RUBRIC)
    try:
        return read_rubric(artifact.value)
    except MALFORMED_ERRORS as misfit:
        text = f"{ref} is not a valid rubric: {describe_misfit(misfit)}"
        raise SchemaError(text, hint="see where: evalstore validate") from None


def grade_inner_result(ref: str, scoring: Scoring, result: RubricResult) -> Grade:
    """Return the grade of a composite from its rubric's result for the output."""
    replies = [check.replies for check in result.checks if check.replies]
    graded = Grade(
        score=result.score,
        reason=f"{ref}: {_describe_result(result)}",
        engine=_name_engines(result.checks),
        replies=compute_digest(replies) if replies else "",
        threshold=scoring.threshold,
        reply_digests=tuple(digest for check in result.checks for digest in check.reply_digests),
        inner_errors=_list_unscored(result, UnscoredReason.ERROR),
        setting=next((check.setting for check in result.checks if check.setting), None),
        inner_missing=_list_unscored(result, UnscoredReason.MISSING),
        passed=result.verdict is Verdict.PASS if scoring.verdict is VerdictRule.ALL else None,
    )
    return (
        graded
        if result.score is not None
        else graded._replace(unscored=_find_unscored_reason(scoring, result))
    )


def _list_unscored(result: RubricResult, reason: UnscoredReason) -> tuple[str, ...]:
    return tuple(check.id for check in result.checks if check.unscored is reason)


def _find_unscored_reason(scoring: Scoring, result: RubricResult) -> UnscoredReason:
    """Return why the rubric has no score, from the checks that its average weighs."""
    weighs = scoring.combine is Combine.WEIGHTED_AVG
    idle = {id_ for id_, weight in scoring.weights.items() if weighs and not weight}
    reasons = {
        check.unscored for check in result.checks if check.score is None and check.id not in idle
    }
    return UnscoredReason.MISSING if reasons == {UnscoredReason.MISSING} else UnscoredReason.ERROR


def _describe_result(result: RubricResult) -> str:
    passed = sum(check.verdict is Verdict.PASS for check in result.checks)
    unscored = [check for check in result.checks if check.score is None]
    first = f"; {unscored[0].id} is unscored: {unscored[0].reason}" if unscored else ""
    reason = f", {result.reason}" if result.reason else ""
    return f"{passed} of {len(result.checks)} checks pass{reason}{first}"


def _name_engines(checks: Sequence[CheckResult]) -> str:
    """Name the engines behind the score, an approximate one last, where it is seen."""
    counted = [check for check in checks if check.score is not None] or checks
    names = {name for check in counted for name in check.engine.split(", ")}
    return ", ".join(sorted(names, key=lambda name: (name.endswith(APPROXIMATE), name)))


KIND = CheckKind(
    prepare_grading=prepare_grading,
    reads_text=False,
    may_ask_judges=True,
    holds_rubric=True,
    has_free_params=False,
)
