"""How well a judge agrees with people: labelled rows judged, counted exactly, written into the judge's file."""

from evalstore.agreement.confusion import Agreement, Case, Confusion, Rate
from evalstore.agreement.measurement import Job, Request, begun
from evalstore.agreement.validation_block import Draft, check_writable, drafted

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
