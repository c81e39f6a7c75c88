"""Why two runs differ: factors, edits and questions, in points that add up."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.audits.explain import AuditOptions, audit_runs
    from evalstore.audits.side_replay import ChangeSide, measure_change
    from evalstore.audits.values import (
        Audit,
        Cause,
        EditSource,
        Factor,
        LineEffect,
        Lines,
        MovedQuestion,
        Origin,
        QuestionCell,
    )

__all__ = [
    "Audit",
    "AuditOptions",
    "Cause",
    "ChangeSide",
    "EditSource",
    "Factor",
    "LineEffect",
    "Lines",
    "MovedQuestion",
    "Origin",
    "QuestionCell",
    "audit_runs",
    "measure_change",
]

# The words of an audit, which pages of one run have, too, need no audit.
__getattr__ = import_lazily(
    __name__,
    {
        ".explain": ("AuditOptions", "audit_runs"),
        ".side_replay": ("ChangeSide", "measure_change"),
        ".values": (
            *("Audit", "Cause", "EditSource", "Factor", "LineEffect", "Lines", "MovedQuestion"),
            *("Origin", "QuestionCell"),
        ),
    },
)
