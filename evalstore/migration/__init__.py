"""Legacy grader files into rubrics and datasets, and back; what is lost on the way is nothing, or said."""

from evalstore.migration.export import export
from evalstore.migration.migration import migrate
from evalstore.migration.outcome import (
    ExportedFile,
    ExportResult,
    FileState,
    FormatGuess,
    MigrationEntry,
    MigrationOutcome,
    MigrationReport,
    MigrationSource,
    PlannedFile,
)
from evalstore.migration.table import formats

__all__ = [
    "MigrationEntry",
    "ExportResult",
    "ExportedFile",
    "FormatGuess",
    "MigrationReport",
    "MigrationOutcome",
    "PlannedFile",
    "MigrationSource",
    "FileState",
    "export",
    "formats",
    "migrate",
]
