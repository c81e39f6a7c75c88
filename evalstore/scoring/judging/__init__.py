"""Judges that really run: what is asked of whom, at once and never twice."""

from evalstore.scoring.judging.client import Endpoint
from evalstore.scoring.judging.dispatch import Failures, ask_all
from evalstore.scoring.judging.reply_cache import ReplyCache
from evalstore.scoring.judging.response import REFUSAL_FINISH
from evalstore.scoring.judging.session import (
    NO_REPLY,
    CallGroup,
    CallPlan,
    CallQueue,
    Judges,
    JudgeSession,
    open_session,
)

__all__ = [
    "NO_REPLY",
    "REFUSAL_FINISH",
    "CallGroup",
    "CallPlan",
    "CallQueue",
    "Endpoint",
    "Failures",
    "JudgeSession",
    "Judges",
    "ReplyCache",
    "ask_all",
    "open_session",
]
