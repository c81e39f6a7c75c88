"""How well a judge agrees with people: labelled rows judged, counted exactly, written into the judge's file."""

from evalstore.agreement.confusion import Agreement, LabelledCase, Confusion, Rate
from evalstore.agreement.measurement import Measurement, MeasurementRequest, open_measurement
from evalstore.agreement.validation_block import ValidationDraft, check_writable, draft_validation

__all__ = [
    "Agreement",
    "LabelledCase",
    "Confusion",
    "ValidationDraft",
    "Measurement",
    "Rate",
    "MeasurementRequest",
    "open_measurement",
    "check_writable",
    "draft_validation",
]
