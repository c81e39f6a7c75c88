"""Reads and writes runs as Every Eval Ever data, with exact numbers; never overwrites a run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily
from evalstore.runs.read import read_bare_rows, read_rows, read_run
from evalstore.runs.remote import locate_file
from evalstore.runs.row_formats import find_row_format, get_row_format
from evalstore.runs.run_files import compute_file_sha256
from evalstore.runs.spans import CutFile, OutputSpan, compute_span_sha256
from evalstore.runs.tables import build_frame, build_table
from evalstore.runs.values import (
    LATEST,
    CheckSummary,
    GradedRow,
    Run,
    StoredOutput,
    UsedArtifact,
    register_readers,
)

if TYPE_CHECKING:
    from evalstore.runs.imports.entry import MissingOutput
    from evalstore.runs.imports.series_filter import SeriesFilter, SeriesNames
    from evalstore.runs.outputs import (
        cut_outputs,
        find_label_doubts,
        find_log_status,
        find_samples,
        read_output_ids,
        read_output_span,
        read_outputs,
    )
    from evalstore.runs.write import RunWriter, make_run_name, write_run

__all__ = [
    "LATEST",
    "CheckSummary",
    "CutFile",
    "GradedRow",
    "MissingOutput",
    "OutputSpan",
    "Run",
    "RunWriter",
    "SeriesFilter",
    "SeriesNames",
    "StoredOutput",
    "UsedArtifact",
    "compute_file_sha256",
    "compute_span_sha256",
    "cut_outputs",
    "find_label_doubts",
    "find_log_status",
    "find_row_format",
    "find_samples",
    "get_row_format",
    "make_run_name",
    "read_bare_rows",
    "read_output_ids",
    "read_output_span",
    "read_outputs",
    "read_rows",
    "read_run",
    "write_run",
]

# Imported on use: code that only reads runs does not need these.
__getattr__ = import_lazily(
    __name__,
    {
        ".imports.entry": ("MissingOutput",),
        ".imports.series_filter": ("SeriesFilter", "SeriesNames"),
        ".outputs": (
            *(
                "cut_outputs",
                "find_label_doubts",
                "find_log_status",
                "find_samples",
                "read_output_span",
            ),
            "read_output_ids",
            "read_outputs",
        ),
        ".write": ("RunWriter", "make_run_name", "write_run"),
    },
)


def _read_record(path: str) -> Run:
    from evalstore.runs.records import read_record

    return read_record(locate_file(path))


def _read_record_rows(run: Run) -> Iterator[GradedRow]:
    from evalstore.runs.records import read_record_rows

    return read_record_rows(run)


register_readers(
    run=_read_record,
    rows=_read_record_rows,
    frame=build_frame,
    table=build_table,
)
