"""One size limit stands before every check: beyond it no policy makes a score of an output."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, count_items

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


@pytest.mark.parametrize(
    ("pattern", "flags", "items"),
    [
        ("abc", "", 3),
        ("(ab)+", "", 4),
        ("(ab){3}", "", 8),
        ("(ab){1}", "", 2),
        ("(ab)*", "", 3),
        ("((a)+)+", "", 4),
        ("(((a)+)+)+", "", 8),
        ("(ab)#c\n+", "x", 7),
    ],
)
def test_repeats_are_counted_as_the_engine_writes_them_out(pattern: str, flags: str, items: int) -> None:
    assert count_items(pattern, flags) == items
