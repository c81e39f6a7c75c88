"""Turns a rubric's result into a score of Inspect, and defines the pass rate as a metric."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, metric

from evalstore.integrations.explanation import explain_result
from evalstore.model import CheckResult, Output, RubricResult, Verdict, has_failed_check
from evalstore.runs import UsedArtifact


def make_score(
    result: RubricResult, output: Output, *, rubric: UsedArtifact, judges: Sequence[UsedArtifact], asked: bool
) -> Score:
    """Return the nearest float of a score, with everything exact as text in the metadata; never 0 for unscored.

    `judges` are those that the rubric refers to; `asked` says whether one had to be asked about this output.
    """
    details = {
        "rubric": rubric.ref,
        "rubric_digest": rubric.digest,
        "scoring_digest": rubric.scoring_digest,
        "judges": {judge.ref: judge.digest for judge in judges},
        "score": _exact_text(result.score),
        "verdict": str(result.verdict),
        "reason": result.reason,
        "checks": [_check_details(check) for check in result.checks],
    }
    explanation = explain_result(result)
    if result.score is None:
        return make_unscored(
            _name_unscored_reason(result, asked=asked), explanation, answer=output.text, metadata=details
        )
    return Score(value=float(result.score), answer=output.text, explanation=explanation, metadata=details)


def make_unscored(
    reason: str, explanation: str, *, answer: str | None = None, metadata: dict[str, Any] | None = None
) -> Score:
    """Return what Inspect keeps but counts in no metric."""
    details = metadata or {"verdict": str(Verdict.UNSCORED)}
    return Score.unscored(reason=reason, answer=answer, explanation=explanation, metadata=details)


@metric(scores="unreduced")
def pass_rate() -> Metric:
    """Share of the scored outputs that pass, each epoch's output counted apart: a mean of epochs has no verdict."""

    def share(scores: list[SampleScore]) -> float:
        passed = [(item.score.metadata or {}).get("verdict") == Verdict.PASS for item in scores]
        return sum(passed) / len(passed) if passed else float("nan")

    return share


def _check_details(check: CheckResult) -> dict[str, Any]:
    return {
        **{key: _write_plain(value) for key, value in check._asdict().items()},
        "score": _exact_text(check.score),
    }


def _write_plain(value: object) -> str | list[str] | None:
    """Return a field of a check's result as JSON has it: digests as a list, all else as its text."""
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return None if value is None else str(value)


def _exact_text(score: Fraction | None) -> str:
    return "" if score is None else str(score)


def _name_unscored_reason(result: RubricResult, *, asked: bool) -> str:
    """Return Inspect's word for why there is no score; it has none for an output that holds nothing to grade."""
    if not has_failed_check(result.checks):
        return "missing"
    return "grader_failed" if asked else "scoring_failed"
