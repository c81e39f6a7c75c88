"""Judges that really run: what is asked of whom, at once and never twice."""

from evalstore.judging.call_plan import CallGroup, CallPlan, CallQueue
from evalstore.judging.dispatch import Failures, ask_all
from evalstore.judging.endpoint import Endpoint
from evalstore.judging.reply_cache import ReplyCache
from evalstore.judging.response import REFUSAL_FINISH
from evalstore.judging.session import NO_REPLY, Judges, JudgeSession, open_session

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
