"""Runs in the form of Every Eval Ever: written once, never over another, read back exactly."""

from evalstore.runs.lines import sha256_of
from evalstore.runs.outputs import read_outputs, samples_of
from evalstore.runs.read import read_rows, read_run
from evalstore.runs.values import CheckSummary, Pinned, Recorded, Row, Run
from evalstore.runs.write import Draft, drafted, run_name

__all__ = [
    "CheckSummary",
    "Draft",
    "Pinned",
    "Recorded",
    "Row",
    "Run",
    "drafted",
    "read_outputs",
    "read_rows",
    "read_run",
    "run_name",
    "samples_of",
    "sha256_of",
]
