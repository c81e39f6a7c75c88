"""Renders one part of a plan that is done, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import count_noun

if TYPE_CHECKING:
    from evalstore.scoring.parts import PartOutcome


def text(outcome: PartOutcome) -> str:
    """Return which part is done, and how many outputs it has."""
    done = "was done before" if outcome.was_done else "is done"
    return f"part {outcome.number:,} of {outcome.parts:,} {done}: {count_noun(outcome.outputs, 'graded output')}"


def document(outcome: PartOutcome) -> dict[str, Any]:
    """Return the document that schema/output/score_part.schema.json describes."""
    return {
        "part": outcome.number,
        "parts": outcome.parts,
        "outputs": outcome.outputs,
        "done_before": outcome.was_done,
    }
