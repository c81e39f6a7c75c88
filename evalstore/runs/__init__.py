"""Runs in Every Eval Ever form: written once, never over another, read back exactly."""

from evalstore.runs.values import CheckSummary, Pinned, Recorded, Row, Run

__all__ = ["CheckSummary", "Pinned", "Recorded", "Row", "Run"]
