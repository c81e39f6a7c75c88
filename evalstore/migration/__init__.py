"""Migrates files of legacy graders into rubrics and datasets, and exports them back; every loss is reported."""

from evalstore.migration.detect import detect_file
from evalstore.migration.export import export
from evalstore.migration.exporting.export_result import ExportedFile, ExportResult, UnexportedFile
from evalstore.migration.migration import migrate
from evalstore.migration.outcome import (
    FileState,
    FormatGuess,
    LossKind,
    MigrationEntry,
    MigrationOutcome,
    MigrationReport,
    MigrationSource,
    PinBehind,
    PlannedFile,
)
from evalstore.migration.table import list_formats

__all__ = [
    "ExportResult",
    "ExportedFile",
    "FileState",
    "FormatGuess",
    "LossKind",
    "MigrationEntry",
    "MigrationOutcome",
    "MigrationReport",
    "MigrationSource",
    "PinBehind",
    "PlannedFile",
    "UnexportedFile",
    "detect_file",
    "export",
    "list_formats",
    "migrate",
]
