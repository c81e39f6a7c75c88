"""How well a judge agrees with people: labelled rows judged, counted exactly, written into the judge's file."""

from evalstore.agreement.measure import Job, Request, begun
from evalstore.agreement.record import Draft, check_writable, drafted
from evalstore.agreement.statistics import Confusion, Rate
from evalstore.agreement.values import Agreement, Case

__all__ = [
    "Agreement",
    "Case",
    "Confusion",
    "Draft",
    "Job",
    "Rate",
    "Request",
    "begun",
    "check_writable",
    "drafted",
]
