"""Judges that really run: what is asked of whom, at once and never twice."""

from evalstore.judging.answer import REFUSED
from evalstore.judging.asking import Failures, ask_all
from evalstore.judging.cache import Cache
from evalstore.judging.endpoint import Endpoint
from evalstore.judging.panel import NOT_KEPT, Judges, Panel, seated
from evalstore.judging.plan import Plan, Planned, Spool

__all__ = [
    "NOT_KEPT",
    "REFUSED",
    "Cache",
    "Endpoint",
    "Failures",
    "Judges",
    "Panel",
    "Plan",
    "Planned",
    "Spool",
    "ask_all",
    "seated",
]
