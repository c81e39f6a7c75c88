"""Holds what a run recorded of a question against its replay: what differs is not reproduced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from evalstore.audits.values import Drift
from evalstore.model import CheckResult, Question, RubricResult, Verdict
from evalstore.runs import GradedRow


def find_drift(
    name: str, row: GradedRow, question: Question, recorded: Mapping[str, CheckResult], replayed: RubricResult
) -> Iterator[Drift]:
    """Yield the first recorded result of a row that replay does not reproduce; `name` is that of the run."""
    # An empty digest is one that the run did not record.
    digests = ((row.reference_digest, question.reference_digest), (row.input_digest, question.input_digest))
    if any(written not in {"", now} for written, now in digests):
        yield Drift(name, row.id, "the question is another one than was recorded")
    elif what := _describe_difference(row, recorded, replayed):
        yield Drift(name, row.id, what)


def _describe_difference(row: GradedRow, recorded: Mapping[str, CheckResult], replayed: RubricResult) -> str:
    # Runs of other tools record no checks.
    for check in replayed.checks if row.checks else ():
        before = recorded.get(check.id)
        if before is None or (before.score, before.verdict) != (check.score, check.verdict):
            was = "absent" if before is None else _describe(before.score, before.verdict)
            return f"{check.id} was {was}, is {_describe(check.score, check.verdict)}"
    if row.checks and len(row.checks) != len(replayed.checks):
        return f"{len(row.checks)} checks were recorded, the rubric has {len(replayed.checks)}"
    if (row.score, row.verdict) != (replayed.score, replayed.verdict):
        return f"the score was {_describe(row.score, row.verdict)}, is {_describe(replayed.score, replayed.verdict)}"
    return ""


def _describe(score: Fraction | None, verdict: Verdict) -> str:
    return "unscored" if score is None else f"{score} ({verdict})"
