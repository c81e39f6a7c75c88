"""Grades one output by one rubric, exactly: a pure function, prepared once for each rubric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import lcm
from operator import mul
from typing import Any, NamedTuple

from evalstore.checks.context import (
    NO_CONTEXT,
    CheckContext,
    GradeFunction,
    find_median,
    grade_always,
)
from evalstore.checks.kinds import KINDS, find_check_kind, suggest_kind
from evalstore.checks.question_values import fill_from_question
from evalstore.checks.steps import ReadPart, prepare_reading
from evalstore.documents import format_json_pointer
from evalstore.errors import SchemaError
from evalstore.identity_cache import IdentityCache
from evalstore.languages.patterns import OUTPUT_LIMIT
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    Check,
    CheckResult,
    Combine,
    Grade,
    Output,
    Question,
    Rubric,
    RubricResult,
    Sample,
    Scoring,
    UnscoredReason,
    Verdict,
    VerdictRule,
    describe_misfit,
    find_check_pins,
    read_call_name,
    read_rubric,
)
from evalstore.model.check_schemas import load_check_schema
from evalstore.model.measures import read_measures
from evalstore.model.outcome import QUESTION_BROKEN, MissingSetting, grade_error
from evalstore.model.question_params import QuestionValue, list_question_values
from evalstore.model.rubric import DETERMINISTIC_THRESHOLD
from evalstore.text import make_excerpt

# The reason of every check of an output that is not graded.
OUTPUT_TOO_LONG = f"the output is longer than {OUTPUT_LIMIT:,} characters, the limit for grading"
_ZERO, _ONE = Fraction(0), Fraction(1)


class CountedCheck(NamedTuple):
    """One check as the rubric counts it: an unscored one that counts has score 0 and failed."""

    id: str
    score: Fraction
    passed: bool
    weight: Fraction


def combine_results(scoring: Scoring, results: Sequence[CheckResult]) -> RubricResult:
    """Combine the checks' results; the verdict is pass if the score reaches the rubric's threshold.

    With `verdict: all` it is pass if every check that counts and has weight passed, and nothing
    made the score 0.

    An output that is too long, or whose question is broken, is unscored under every rubric.
    Otherwise, in this order:

    1. `errors: fail` and a check that could not grade: the score is 0.
    2. An unscored check whose policy (`missing`, `errors`) is `zero` counts as score 0 and as
       failed, whatever its threshold; its own result stays unscored. Every other unscored check is
       left out.
    3. A check of `required` that counts and failed makes the score 0. One left out
       closes nothing.
    4. No check counts: the rubric is unscored.
    5. The mode's row in `MODES`; a weighted average over a total weight of 0 is unscored.
    """
    score, reason = _compute_score(scoring, results)
    if scoring.verdict is VerdictRule.ALL and score is not None:
        passed = not reason and _passes_every_check(scoring, results)
        verdict = Verdict.PASS if passed else Verdict.FAIL
    else:
        verdict = _decide_verdict(score, scoring.threshold)
    return RubricResult(score, verdict, tuple(results), reason)


def _passes_every_check(scoring: Scoring, results: Sequence[CheckResult]) -> bool:
    counted = select_counted(scoring, results)
    return all(check.passed for check in counted if scoring.has_weight(check.id))


def select_counted(scoring: Scoring, results: Sequence[CheckResult]) -> list[CountedCheck]:
    """Return the checks that the rubric counts, in order, by its policies for unscored checks."""
    counted = [one for one in results if one.score is not None or _counts_as_zero(scoring, one)]
    return [_count_check(one, scoring.weights.get(one.id, _ONE)) for one in counted]


def _count_check(result: CheckResult, weight: Fraction) -> CountedCheck:
    score = _ZERO if result.score is None else result.score
    return CountedCheck(result.id, score, result.verdict is Verdict.PASS, weight)


def _counts_as_zero(scoring: Scoring, result: CheckResult) -> bool:
    """Whether an unscored check counts as 0."""
    policy = scoring.missing if result.unscored is UnscoredReason.MISSING else scoring.errors
    return policy == "zero"


def is_never_scored(result: CheckResult) -> bool:
    """Whether a result leaves its rubric without a score, whatever the policies say.

    It does if no check could grade the output or read the question.
    """
    return result.reason == OUTPUT_TOO_LONG or result.reason.startswith(QUESTION_BROKEN)


def _compute_score(scoring: Scoring, results: Sequence[CheckResult]) -> tuple[Fraction | None, str]:
    if reason := next((one.reason for one in results if is_never_scored(one)), ""):
        return None, reason
    broken = [result.id for result in results if result.unscored is UnscoredReason.ERROR]
    if broken and scoring.errors == "fail":
        return _ZERO, f"could not be graded, and this rubric counts that as 0: {_join_ids(broken)}"
    checks = select_counted(scoring, results)
    # A required check that the policies leave out is not among `checks`: it makes nothing 0.
    closed = [check.id for check in checks if check.id in scoring.required and not check.passed]
    if closed:
        return _ZERO, f"required and failed: {_join_ids(closed)}"
    if not checks:
        return None, "no check was scored"
    score = MODES[scoring.combine](checks)
    return score, "" if score is not None else "every scored check has weight 0"


def _score_all_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if all(check.passed for check in checks) else _ZERO


def _score_any_pass(checks: Sequence[CountedCheck]) -> Fraction:
    return _ONE if any(check.passed for check in checks) else _ZERO


def _average_by_weight(checks: Sequence[CountedCheck]) -> Fraction | None:
    weights, _ = _scale_to_integers([check.weight for check in checks])
    scores, unit = _scale_to_integers([check.score for check in checks])
    total = sum(weights)
    return _divide(sum(map(mul, weights, scores)), total * unit) if total else None


# Equal scores are one object, by which code that counts and writes rows recognises them.
@lru_cache(maxsize=4096)
def _divide(above: int, below: int) -> Fraction:
    return Fraction(above, below)


def _scale_to_integers(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numbers over one denominator, and the denominator.

    Sums of fractions would be reduced term by term.
    """
    pairs = [number.as_integer_ratio() for number in numbers]
    unit = lcm(*[below for _, below in pairs])
    return [above * (unit // below) for above, below in pairs], unit


# At least one check each; None only if nothing has weight.
MODES: Mapping[Combine, Callable[[Sequence[CountedCheck]], Fraction | None]] = {
    Combine.ALL_PASS: _score_all_pass,
    Combine.ANY_PASS: _score_any_pass,
    Combine.WEIGHTED_AVG: _average_by_weight,
    Combine.MIN: lambda checks: min(check.score for check in checks),
    Combine.MAX: lambda checks: max(check.score for check in checks),
    Combine.MEDIAN: lambda checks: find_median([check.score for check in checks]),
}


def _decide_verdict(score: Fraction | None, threshold: Fraction) -> Verdict:
    if score is None:
        return Verdict.UNSCORED
    return Verdict.PASS if score >= threshold else Verdict.FAIL


def _join_ids(ids: list[str]) -> str:
    return ", ".join(sorted(ids))


def evaluate(
    rubric: Rubric | Artifact | Mapping[str, Any],
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    context: CheckContext = NO_CONTEXT,
) -> RubricResult:
    """Grade one output; scores are exact fractions from 0 to 1.

    A check that cannot be graded is unscored, never 0.

    Each check is graded by its kind, then inverted if it says `negate` (1 - score), and passes if
    its score is at least its threshold; `combine` says how these make the rubric's score. `output`
    is a text or a mapping `{output, tool_calls?}`, `question` a row of a dataset; `context` finds
    what the rubric refers to and asks its judges. An output of more than `OUTPUT_LIMIT` characters
    is unscored, whatever the rubric says. For many outputs, call `prepare_rubric` once. Raises
    `SchemaError` for a rubric that cannot be read as one; `evalstore validate` reports whatever
    else its schema refuses.
    """
    return prepare_rubric(_read_rubric(rubric), context)(
        Sample(_read_output(output), _read_question(question))
    )


def prepare_rubric(
    rubric: Rubric, context: CheckContext = NO_CONTEXT
) -> Callable[[Sample], RubricResult]:
    """Return the rubric as a function of samples.

    Raises `RefError` if it refers to something that does not exist.
    """
    checks = [_prepare_grading(check, context) for check in rubric.checks]
    # The outputs of a run have few different results, and each combination of them is combined
    # once.
    combined = IdentityCache(lambda *results: combine_results(rubric.scoring, results))

    @lru_cache(maxsize=8)
    def refuse(reason: str) -> RubricResult:
        return combine_results(rubric.scoring, [_refuse(check, reason) for check in rubric.checks])

    def grade(sample: Sample) -> RubricResult:
        if reason := _find_refusal(sample):
            return refuse(reason)
        return combined.find(*[grade_check(sample) for grade_check in checks])

    return grade


def prepare_check(
    check: Check, context: CheckContext = NO_CONTEXT
) -> Callable[[Sample], CheckResult]:
    """Return one check as a function of samples: its kind's score, `negate`, the verdict."""
    grade = _prepare_grading(check, context)

    def grade_or_refuse(sample: Sample) -> CheckResult:
        reason = _find_refusal(sample)
        return _refuse(check, reason) if reason else grade(sample)

    return grade_or_refuse


def _find_refusal(sample: Sample) -> str:
    """Return why no check can grade a sample; empty if all can."""
    if len(sample.output.text) > OUTPUT_LIMIT:
        return OUTPUT_TOO_LONG
    question = sample.question
    return f"{QUESTION_BROKEN}{question.broken}" if question and question.broken else ""


def _refuse(check: Check, reason: str) -> CheckResult:
    return apply_threshold(check, grade_error(reason), strict=False)


def _prepare_grading(check: Check, context: CheckContext) -> Callable[[Sample], CheckResult]:
    """Return one check as a function of the samples that are not refused."""
    grade_by_kind = _prepare_kind(check, context)
    read_part = _prepare_reading(check)
    # If `on` finds nothing the check failed, and is not inverted.
    unturned = replace(check, negate=False)
    kind, params = find_check_kind(check.kind), {**check.params, "kind": check.kind}
    inputs = kind.find_judge_inputs(params) if read_part else None
    is_judged = inputs is not None and any(inputs.refs)

    def grade_unread(sample: Sample, unread: Grade) -> CheckResult:
        """Grade an output of which nothing is read: missing if no output could be graded."""
        whole = unread if is_judged else grade_by_kind(replace(sample, output=Output("")))
        is_missing = whole.unscored is UnscoredReason.MISSING
        return apply_threshold(unturned, whole if is_missing else unread, strict=context.strict)

    # Equal grades have one result, the same object.
    @lru_cache(maxsize=4096)  # of a check
    def judge_grade(graded: Grade) -> CheckResult:
        return apply_threshold(check, graded, strict=context.strict)

    def grade(sample: Sample) -> CheckResult:
        try:
            part = read_part(sample) if read_part else sample
            if isinstance(part, Grade):
                return grade_unread(sample, part)
            return judge_grade(grade_by_kind(part))
        except MALFORMED_ERRORS as misfit:
            raise _explain_misfit(check, misfit) from misfit

    return grade


def _prepare_reading(check: Check) -> ReadPart | None:
    try:
        return prepare_reading(check.params) if find_check_kind(check.kind).reads_text else None
    except MALFORMED_ERRORS as misfit:
        raise _explain_misfit(check, misfit) from misfit


def _prepare_kind(check: Check, context: CheckContext) -> GradeFunction:
    if check.kind not in KINDS:
        hint = f"; {said}" if (said := suggest_kind(check.kind)) else ""
        return grade_always(grade_error(f"unknown check kind {make_excerpt(check.kind)!r}{hint}"))
    try:
        if context.load is None and (pins := [ref for _, ref in find_check_pins((), check.params)]):
            return grade_always(
                grade_error(f"no store was given to resolve {make_excerpt(', '.join(pins))}")
            )
        # The threshold of the check, not of the check that contains it: the members of a jury vote
        # by it.
        bar = {} if check.threshold is None else {"threshold": check.threshold}
        params, values = (
            {**check.params, **bar, "kind": check.kind},
            list_question_values(check.params),
        )
        if values:
            return _prepare_each_question(params, values, context)
        return KINDS[check.kind].prepare_grading(params, context)
    except MALFORMED_ERRORS as misfit:
        raise _explain_misfit(check, misfit) from misfit


def _prepare_each_question(
    params: Mapping[str, Any], values: tuple[QuestionValue, ...], context: CheckContext
) -> GradeFunction:
    """Return a check that is filled from each question, then prepared as if written that way."""
    if context.load is not None:
        for _, ref in find_check_pins((), params):
            context.load(ref)  # what does not exist is reported before the first output

    def prepare(question: Question | None) -> GradeFunction:
        filled = fill_from_question(params, values, question)
        if isinstance(filled, Grade):
            return grade_always(filled)
        return KINDS[params["kind"]].prepare_grading(filled, context)

    # The samples of a question come one after another.
    prepared = IdentityCache(prepare, size=8)
    return lambda sample: prepared.find(sample.question)(sample)


def apply_threshold(check: Check, graded: Grade, *, strict: bool) -> CheckResult:
    """Turn a kind's grade into a check's result: `negate`, then the verdict by its threshold."""
    # `strict` turns an approximate answer into none, before the score is looked at.
    if strict and graded.approximate:
        graded = grade_error(
            f"{graded.engine} is not an exact engine", graded.engine, MissingSetting.PHP
        )
    score, verdict = graded.score, Verdict.UNSCORED
    if score is not None:
        score = 1 - score if check.negate else score
        bar = graded.threshold if check.threshold is None else check.threshold
        if check.threshold is None and graded.passed is not None:
            passed = graded.passed is not check.negate
        else:
            passed = score >= (DETERMINISTIC_THRESHOLD if bar is None else bar)
        verdict = Verdict.PASS if passed else Verdict.FAIL
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
        graded.setting,
        graded.inner_missing,
    )


def _explain_misfit(check: Check, misfit: Exception) -> Exception:
    """Return the errors of the check's schema about its parameters.

    If there are none, the fault is evalstore's.
    """
    from evalstore.languages.schemas import compile_shipped_schema

    # A key that nothing reads is not a reason: `validate` reports it, and grading goes on.
    violations = compile_shipped_schema(load_check_schema(check.kind)).find_violations(check.params)
    violation = next(
        (found for found in violations if found.keyword != "unevaluatedProperties"), None
    )
    if violation is None:
        return misfit
    message = violation.message
    if violation.keyword == "not":
        message = "cannot be combined with the other parameters"
    elif violation.needed_keys:
        message = f"{' or '.join(violation.needed_keys)} is missing"
    what = f"check {check.id}{format_json_pointer(violation.pointer)}"
    return SchemaError(
        f"{make_excerpt(what)}: {make_excerpt(message)}", hint="see where: evalstore validate"
    )


def _read_rubric(rubric: Rubric | Artifact | Mapping[str, Any]) -> Rubric:
    if isinstance(rubric, Rubric):
        return rubric
    try:
        return read_rubric(rubric.value if isinstance(rubric, Artifact) else rubric)
    except MALFORMED_ERRORS as misfit:
        raise SchemaError(
            f"this is not a valid rubric: {describe_misfit(misfit)}",
            hint=(
                "a rubric has `checks` and `scoring`; `evalstore validate` shows what is wrong "
                "in a file"
            ),
        ) from None


def _read_output(output: str | Output | Mapping[str, Any]) -> Output:
    if isinstance(output, str):
        return Output(output)
    if isinstance(output, Output):
        return output
    text, calls = (
        (output.get("output"), output.get("tool_calls"))
        if isinstance(output, Mapping)
        else (None, None)
    )
    if not isinstance(text, str):
        raise SchemaError(
            "an output must be a string, or a mapping {output, tool_calls?} whose output is "
            "a string"
        )
    measures = read_measures(output)
    if calls is None:
        return Output(text, measures=measures)
    if not isinstance(calls, list | tuple) or not all(
        isinstance(call, Mapping) and read_call_name(call) for call in calls
    ):
        raise SchemaError(
            "`tool_calls` is not a list of calls", hint='a call is {"name": "…", "args": {…}}'
        )
    return Output(text, tuple(calls), measures=measures)


def _read_question(question: Question | Mapping[str, Any] | None) -> Question | None:
    if question is None or isinstance(question, Question):
        return question
    return Question(str(question.get("id", "")), str(question.get("input", "")), question)
