"""Judges that really run: what is asked of whom, at once and never twice."""

from evalstore.judging.endpoint import Endpoint
from evalstore.judging.panel import Judges, Panel, seated
from evalstore.judging.plan import Plan

__all__ = ["Endpoint", "Judges", "Panel", "Plan", "seated"]
