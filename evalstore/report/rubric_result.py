"""Renders the result of one output as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import document_number

if TYPE_CHECKING:
    from evalstore.model import RubricResult


def document(result: RubricResult) -> dict[str, Any]:
    """Return score, verdict and checks; scores are None where there is none."""
    return {
        **document_number("score", result.score),
        "verdict": str(result.verdict),
        "reason": result.reason,
        "checks": [
            {
                "id": check.id,
                "kind": check.kind,
                **document_number("score", check.score),
                "verdict": str(check.verdict),
                "reason": check.reason,
                "unscored": str(check.unscored) if check.unscored else None,
                "engine": check.engine,
            }
            for check in result.checks
        ],
    }
