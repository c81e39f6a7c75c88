"""One size limit stands before every check: beyond it no policy makes a score of an output."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.languages.patterns.engine import OUTPUT_LIMIT

REASON = f"the output is longer than {OUTPUT_LIMIT:,} characters, the limit for grading"


@pytest.mark.parametrize("policy", ["skip", "zero", "fail"])
@pytest.mark.parametrize("combine", ["all_pass", "any_pass", "weighted_avg", "min"])
def test_an_output_beyond_the_limit_is_unscored_whatever_the_rubric_says(policy: str, combine: str) -> None:
    checks: list[dict[str, Any]] = [
        {"kind": "must_contain_any", "values": ["a"]},
        {"kind": "regex", "pattern": "a", "negate": True},
        {"kind": "format", "format": "text"},
    ]
    scoring = {"combine": combine, "errors": policy, "missing": "zero", "required": ["regex"]}
    rubric = {"id": "r", "version": "1.0.0", "checks": checks, "scoring": scoring}
    assert evaluate(rubric, "a" * OUTPUT_LIMIT).score is not None
    result = evaluate(rubric, "a" * (OUTPUT_LIMIT + 1))
    assert (result.score, result.verdict, result.reason) == (None, "unscored", REASON)
    assert {(check.score, check.unscored, check.reason) for check in result.checks} == {(None, "error", REASON)}
