"""Renders a plan of a run in parts, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import count_noun
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.scoring.plan import WrittenPlan


def text(written: WrittenPlan) -> str:
    """Return what is planned, and the commands that do it."""
    plan, path = written.plan, make_printable(str(written.path))
    parts, prompts = len(plan.spans), len(plan.judges.replies) if plan.judges else 0
    return "\n".join(
        [
            f"wrote {path}: {count_noun(parts, 'part')} of {make_printable(plan.outputs)}",
            *([f"prompts of judges in it: {prompts:,}"] if prompts else []),
            f"each part, on any machine, in any order:  evalstore score --part K {path}   (K from 1 to {parts})",
            f"then all of them together:                evalstore score --merge {path}",
        ]
    )


def document(written: WrittenPlan) -> dict[str, Any]:
    """Return the document that schema/output/score_plan.schema.json describes."""
    plan = written.plan
    return {
        "plan": str(written.path),
        "digest": plan.digest,
        "evaluation_id": plan.run.id,
        "outputs": plan.outputs,
        "parts": len(plan.spans),
        "prompts": len(plan.judges.replies) if plan.judges else 0,
        "rulers": [ruler.pin.ref for ruler in plan.rulers],
        "engines": dict(plan.engines),
        "notes": list(written.notes),
    }
