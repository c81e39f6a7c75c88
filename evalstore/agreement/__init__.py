"""Measures how well a judge agrees with people: rows judged, counted exactly, written into the judge's file."""

from evalstore.agreement.confusion import Agreement, Confusion, LabelledCase, Rate
from evalstore.agreement.measurement import Measurement, MeasurementRequest, open_measurement
from evalstore.agreement.validation_block import ValidationDraft, check_writable, draft_validation

__all__ = [
    "Agreement",
    "Confusion",
    "LabelledCase",
    "Measurement",
    "MeasurementRequest",
    "Rate",
    "ValidationDraft",
    "check_writable",
    "draft_validation",
    "open_measurement",
]
