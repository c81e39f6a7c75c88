"""Why two runs differ: factors, edits and questions, in points that add up."""

from evalstore.audit.explain import audit
from evalstore.audit.values import Audit, Cause, Drift, Factor, Flips, Mix, Moved, Name, Origin, Side, Source

__all__ = ["Audit", "Cause", "Drift", "Factor", "Flips", "Mix", "Moved", "Name", "Origin", "Side", "Source", "audit"]
