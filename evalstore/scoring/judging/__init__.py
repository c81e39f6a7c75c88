"""Asks the models of judges: all missing calls at the same time, and none twice."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.scoring.judging.call_queue import CallGroup, CallPlan, CallQueue
    from evalstore.scoring.judging.dispatch import Failures, ask_all
    from evalstore.scoring.judging.endpoint import Endpoint
    from evalstore.scoring.judging.reply_cache import ReplyCache
    from evalstore.scoring.judging.response import REFUSAL_FINISH
    from evalstore.scoring.judging.session import (
        Judges,
        JudgeSession,
        JudgeUsage,
        open_session,
    )

__all__ = [
    "REFUSAL_FINISH",
    "CallGroup",
    "CallPlan",
    "CallQueue",
    "Endpoint",
    "Failures",
    "JudgeSession",
    "JudgeUsage",
    "Judges",
    "ReplyCache",
    "ask_all",
    "open_session",
]

# Many commands only pass judge settings on, and never ask a judge.
__getattr__ = import_lazily(
    __name__,
    {
        ".call_queue": ("CallGroup", "CallPlan", "CallQueue"),
        ".dispatch": ("Failures", "ask_all"),
        ".endpoint": ("Endpoint",),
        ".reply_cache": ("ReplyCache",),
        ".response": ("REFUSAL_FINISH",),
        ".session": ("JudgeSession", "JudgeUsage", "Judges", "open_session"),
    },
)
