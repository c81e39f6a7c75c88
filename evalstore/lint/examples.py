"""Grades the examples of a file, and says which get another verdict or score than they expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evalstore.checks import CheckContext
from evalstore.checks.examples import GradedExample, grade_examples
from evalstore.errors import RefError
from evalstore.lint.notes import Note, make_note
from evalstore.lint.references import ReferenceLookup, find_referenced
from evalstore.model import Artifact, Kind, RubricResult, Verdict
from evalstore.model.example import EXAMPLES, describe_outcome
from evalstore.text import EXCERPT, make_excerpt


def grade_file_examples(artifact: Artifact, lookup: ReferenceLookup, grading: CheckContext) -> list[GradedExample]:
    """Return the examples of a rubric or a judge with their results; `grading` says how judges answer."""
    value = artifact.document.value
    if artifact.kind is Kind.DATASET or not isinstance(value, dict) or EXAMPLES not in value:
        return []

    def load(ref: str) -> Artifact:
        found = find_referenced(ref, lookup)
        if found is None:  # a finding of its own
            raise RefError(f"{ref} is not there")
        return found

    return list(grade_examples(artifact.kind, value, replace(grading, load=load)))


def lint_examples(kind: Kind, graded: Iterable[GradedExample]) -> Iterator[Note]:
    """Yield the examples that get something else than they expect."""
    for one in graded:
        example, result = one.example, one.result
        if result is None or not one.is_failed:
            continue
        key = "score" if example.verdict is None else "verdict"
        yield make_note(
            "example-failed",
            (*example.place, key),
            number=int(example.place[1]) + 1,
            expected=example.expected,
            got=describe_outcome(result),
            why=f": {reason}" if (reason := _explain(result)) else "",
            kind=kind,
        )


def _explain(result: RubricResult) -> str:
    """Return what a check says that failed, else one that was not scored, else any."""
    checks = sorted(result.checks, key=lambda check: (check.verdict is not Verdict.FAIL, check.verdict is Verdict.PASS))
    if not checks or not checks[0].reason:
        return result.reason
    return f"{checks[0].id}: {make_excerpt(checks[0].reason, EXCERPT)}"


def describe_ungraded(file: str, graded: Iterable[GradedExample]) -> Iterator[str]:
    """Yield a sentence on the examples of a file that could not be graded."""
    graded = list(graded)
    reasons = [one.why for one in graded if one.result is None]
    if reasons:
        total = f"{len(graded):,} {'example' if len(graded) == 1 else 'examples'}"
        yield f"{file}: {len(reasons):,} of {total} could not be graded: {make_excerpt(reasons[0])}"
