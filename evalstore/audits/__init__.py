"""Why two runs differ: players, edits and questions, in points that add up."""

from evalstore.audits.explain import audit
from evalstore.audits.side_replay import ChangeSide, measure_change
from evalstore.audits.values import (
    Audit,
    Cause,
    Drift,
    EditSource,
    Factor,
    FailedCheck,
    Flips,
    LineEffect,
    LineName,
    Lines,
    Mix,
    Origin,
    OwnShare,
    PlayerName,
    Price,
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
    "FailedCheck",
    "Flips",
    "LineEffect",
    "LineName",
    "Lines",
    "Mix",
    "Origin",
    "OwnShare",
    "PlayerName",
    "Price",
    "QuestionShare",
    "RunSide",
    "audit",
    "measure_change",
]
