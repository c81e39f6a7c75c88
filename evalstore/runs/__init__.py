"""Runs in the form of Every Eval Ever: written once, never over another, read back exactly."""

from evalstore.runs.choice import SeriesFilter
from evalstore.runs.eee_format import LABELS
from evalstore.runs.imports.entry import MissingOutput
from evalstore.runs.outputs import find_label_doubts, find_samples, read_outputs
from evalstore.runs.read import read_rows, read_run
from evalstore.runs.run_files import sha256_of_file
from evalstore.runs.values import LATEST, CheckSummary, GradedRow, Run, StoredOutput, UsedArtifact
from evalstore.runs.write import RunWriter, run_name, write_run

# The versions of Every Eval Ever that a run can be written in.
EEE_VERSIONS = tuple(LABELS)

__all__ = [
    "EEE_VERSIONS",
    "LATEST",
    "CheckSummary",
    "SeriesFilter",
    "RunWriter",
    "MissingOutput",
    "UsedArtifact",
    "StoredOutput",
    "GradedRow",
    "Run",
    "find_label_doubts",
    "write_run",
    "read_outputs",
    "read_rows",
    "read_run",
    "run_name",
    "find_samples",
    "sha256_of_file",
]
