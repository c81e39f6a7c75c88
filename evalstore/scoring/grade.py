"""One stored output into one row of a run: a pure function of output, question and ruler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.documents import canonical
from evalstore.errors import SchemaError
from evalstore.model import Output, Question, RubricResult, Sample, Verdict
from evalstore.runs import GradedRow
from evalstore.scoring.used import Ruler

_NO_RUBRIC = RubricResult(None, Verdict.UNSCORED, reason="the question names no rubric")


def grade(output: Output, question: Question, ruler: Ruler | None) -> GradedRow:
    """Grade one output; without a ruler it is unscored, and a ruler that its schema refuses is a `SchemaError`."""
    result = _NO_RUBRIC if ruler is None else _grade_sample(Sample(output, question), ruler)
    group = question.row.get("group")
    return GradedRow(
        id=question.id,
        input=question.input,
        reference=_list_reference_texts(question.row),
        output=output,
        score=result.score,
        verdict=result.verdict,
        rubric=ruler.pinned.ref if ruler else "",
        rubric_digest=ruler.pinned.digest if ruler else "",
        checks=result.checks,
        reason=result.reason,
        input_digest=question.input_digest,
        reference_digest=question.reference_digest,
        group=group if isinstance(group, str) else None,
    )


def _grade_sample(sample: Sample, ruler: Ruler) -> RubricResult:
    try:
        return ruler.grade(sample)
    except SchemaError as error:
        raise SchemaError(f"{ruler.pinned.ref}: {error.message}", hint=error.hint) from None


def _list_reference_texts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the expected answers as texts, or the expected facts where no answer is written."""
    wanted = row.get("expected", row.get("expected_facts"))
    several = wanted if isinstance(wanted, list) else [] if wanted is None else [wanted]
    return tuple(item if isinstance(item, str) else canonical(item) for item in several)
