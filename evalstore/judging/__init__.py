"""Judges that really run: what is asked of whom, at once and never twice."""

from evalstore.judging.asking import Failures, ask_all
from evalstore.judging.cache import ReplyCache
from evalstore.judging.endpoint import Endpoint
from evalstore.judging.panel import NOT_KEPT, Judges, JudgeSession, open_session
from evalstore.judging.plan import CallGroup, CallPlan, CallQueue
from evalstore.judging.response import REFUSAL_FINISH

__all__ = [
    "NOT_KEPT",
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
