"""Runs in the form of Every Eval Ever: written once, never over another, read back exactly."""

from evalstore.runs.choice import SeriesFilter
from evalstore.runs.form import LABELS
from evalstore.runs.imports.entry import LeftOut
from evalstore.runs.lines import sha256_of
from evalstore.runs.outputs import doubts_of, read_outputs, samples_of
from evalstore.runs.read import read_rows, read_run
from evalstore.runs.values import LATEST, CheckSummary, UsedArtifact, StoredOutput, GradedRow, Run
from evalstore.runs.write import RunWriter, write_run, run_name

# The versions of Every Eval Ever that a run can be written in.
EEE_VERSIONS = tuple(LABELS)

__all__ = [
    "EEE_VERSIONS",
    "LATEST",
    "CheckSummary",
    "SeriesFilter",
    "RunWriter",
    "LeftOut",
    "UsedArtifact",
    "StoredOutput",
    "GradedRow",
    "Run",
    "doubts_of",
    "write_run",
    "read_outputs",
    "read_rows",
    "read_run",
    "run_name",
    "samples_of",
    "sha256_of",
]
