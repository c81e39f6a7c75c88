"""Why two runs differ: factors, edits and questions, in points that add up."""

from evalstore.audits.explain import audit
from evalstore.audits.side_replay import ChangeSide, measure_change
from evalstore.audits.values import (
    Audit,
    Cause,
    Drift,
    EditSource,
    Factor,
    FactorName,
    Flips,
    LineName,
    Mix,
    Origin,
    PlayerName,
    QuestionShare,
    RunSide,
)

__all__ = [
    "Audit",
    "Cause",
    "ChangeSide",
    "Drift",
    "EditSource",
    "Factor",
    "FactorName",
    "Flips",
    "LineName",
    "Mix",
    "Origin",
    "PlayerName",
    "QuestionShare",
    "RunSide",
    "audit",
    "measure_change",
]
