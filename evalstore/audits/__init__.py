"""Why two runs differ: factors, edits and questions, in points that add up."""

from evalstore.audits.bench import Subject
from evalstore.audits.explain import audit
from evalstore.audits.measure import measure
from evalstore.audits.values import Audit, Cause, Drift, Factor, Flips, Mix, Moved, Name, Origin, Side, Source

__all__ = [
    "Audit",
    "Cause",
    "Drift",
    "Factor",
    "Flips",
    "Mix",
    "Moved",
    "Name",
    "Origin",
    "Side",
    "Source",
    "Subject",
    "audit",
    "measure",
]
