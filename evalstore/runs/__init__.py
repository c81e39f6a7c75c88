"""Reads and writes runs as Every Eval Ever data; a run is never overwritten and is read back exactly."""

from evalstore.runs.eee_format import LABELS
from evalstore.runs.imports.entry import MissingOutput
from evalstore.runs.outputs import find_label_doubts, find_samples, read_outputs
from evalstore.runs.read import read_bare_rows, read_rows, read_run
from evalstore.runs.run_files import compute_file_sha256
from evalstore.runs.series_filter import SeriesFilter
from evalstore.runs.values import LATEST, CheckSummary, GradedRow, Run, StoredOutput, UsedArtifact
from evalstore.runs.write import RunWriter, make_run_name, write_run

# The versions of Every Eval Ever that a run can be written in.
EEE_VERSIONS = tuple(LABELS)

__all__ = [
    "EEE_VERSIONS",
    "LATEST",
    "CheckSummary",
    "GradedRow",
    "MissingOutput",
    "Run",
    "RunWriter",
    "SeriesFilter",
    "StoredOutput",
    "UsedArtifact",
    "compute_file_sha256",
    "find_label_doubts",
    "find_samples",
    "make_run_name",
    "read_bare_rows",
    "read_outputs",
    "read_rows",
    "read_run",
    "write_run",
]
