"""Migrates files of legacy graders into rubrics and datasets, and back; every loss is reported."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.migration.detect import detect_file
    from evalstore.migration.export import export
    from evalstore.migration.exporting.export_result import (
        ExportedFile,
        ExportResult,
        UnexportedFile,
    )
    from evalstore.migration.migration import migrate, migrate_paths
    from evalstore.migration.options import MigrationOptions
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
    "MigrationOptions",
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
    "migrate_paths",
]

# The merge driver, which git starts for every file that both sides changed, needs none of these.
__getattr__ = import_lazily(
    __name__,
    {
        ".detect": ("detect_file",),
        ".export": ("export",),
        ".exporting.export_result": ("ExportedFile", "ExportResult", "UnexportedFile"),
        ".migration": ("migrate", "migrate_paths"),
        ".options": ("MigrationOptions",),
        ".outcome": (
            "FileState",
            "FormatGuess",
            "LossKind",
            "MigrationEntry",
            "MigrationOutcome",
            "MigrationReport",
            "MigrationSource",
            "PinBehind",
            "PlannedFile",
        ),
        ".table": ("list_formats",),
    },
)
