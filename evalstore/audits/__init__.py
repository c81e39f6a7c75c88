"""Why two runs differ: factors, edits and questions, in points that add up."""

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
