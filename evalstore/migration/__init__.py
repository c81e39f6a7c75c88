"""Migrates files of legacy graders into rubrics and datasets, and exports them back; every loss is reported."""

from evalstore.migration.export import export
from evalstore.migration.migration import migrate
from evalstore.migration.outcome import (
    ExportedFile,
    ExportResult,
    FileState,
    FormatGuess,
    LossKind,
    MigrationEntry,
    MigrationOutcome,
    MigrationReport,
    MigrationSource,
    PinBehind,
    PlannedFile,
    UnexportedFile,
)
from evalstore.migration.own_tables import FormatExplanation, detect_file, explain_format
from evalstore.migration.table import list_formats

__all__ = [
    "ExportResult",
    "ExportedFile",
    "FileState",
    "FormatExplanation",
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
    "explain_format",
    "export",
    "list_formats",
    "migrate",
]
