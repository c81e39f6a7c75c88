"""Renders the plan of judge calls, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from evalstore.report.text_layout import format_columns
from evalstore.scoring.judging import CallPlan


def text(plan: CallPlan) -> str:
    """Return the number of calls, and a row for each judge and model."""
    return "\n".join(_plan_lines(plan))


def document(plan: CallPlan) -> dict[str, Any]:
    """Return the document that schema/output/plan.schema.json describes."""
    return {"calls": plan.calls, "kept": plan.reuse_count, "judges": [asdict(group) for group in plan.groups]}


def _plan_lines(plan: CallPlan) -> Iterator[str]:
    reuse = f"; answers that are kept: {plan.reuse_count:,}" if plan.reuse_count else ""
    yield f"judge calls to make: {plan.calls:,}{reuse}"
    if plan.groups:
        rows = [(group.judge, group.model, f"{group.calls:,}", f"{group.characters:,}") for group in plan.groups]
        table = format_columns([("JUDGE", "MODEL", "CALLS", "PROMPT CHARACTERS"), *rows], right={2, 3})
        yield from (f"  {line}" for line in table.splitlines())
