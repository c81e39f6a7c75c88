"""Edits that only an output shows which several checks of other kinds have to grade in a certain way."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.diff import Witness, compare

BILL = {
    "id": "bill",
    "kind": "json_schema",
    "extract": "whole",
    "schema": {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}},
}
LAYOUT = {"id": "layout", "kind": "markdown_structure", "required_sections": ["Method"], "min_paragraphs": 2}
EURO = {"id": "euro", "kind": "must_contain_any", "values": ["euro"]}
FACTS = {"id": "facts", "kind": "fact_match", "facts": ["12 rows", "no errors", "table users"], "threshold": 0.5}
SHORT = {"id": "short", "kind": "format", "format": "text", "max_chars": 90}
# Checks, the edit of the last one (or of the scoring), and the mode.
CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "a phrase within JSON": ([BILL, EURO], {"values": ["euro", "cent"]}, {"combine": "all_pass"}),
    "JSON beside a phrase": ([EURO, BILL], {"schema": True}, {"combine": "min"}),
    "a fact that no other check may pass beside": (
        [LAYOUT, BILL, FACTS],
        {"case_sensitive": True},
        {"combine": "any_pass"},
    ),
    "a structure of some length": ([SHORT, EURO, LAYOUT], {"min_paragraphs": 3}, {"combine": "all_pass"}),
    "a length that a structure has to have": ([LAYOUT, EURO, SHORT], {"max_chars": 80}, {"combine": "all_pass"}),
    "JSON beyond the limits": ([EURO, BILL], {}, {"combine": "weighted_avg", "errors": "fail"}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_output_is_put_together_that_shows_the_edit(name: str) -> None:
    checks, edit, scoring = CASES[name]
    old = {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": scoring["combine"]}}
    new = {**old, "checks": [*checks[:-1], {**checks[-1], **edit}], "scoring": scoring}
    diff = compare(old, new)
    for shown in (diff.findings[0].witness, diff.total.witness):
        assert isinstance(shown, Witness)
        graded = [evaluate(side, shown.output).score for side in (old, new)]
        assert graded == [shown.old_score, shown.new_score]
        assert graded[0] != graded[1]
