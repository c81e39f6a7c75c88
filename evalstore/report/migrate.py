"""Renders a migration: its JSON document here, which is complete, and the texts of the modules beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evalstore.report.migrate_markdown import markdown
from evalstore.report.migrate_summary import OUTCOMES
from evalstore.report.migrate_text import everything
from evalstore.report.migrate_text import summary as text

if TYPE_CHECKING:
    from evalstore.migration import MigrationEntry, MigrationReport, MigrationSource

__all__ = ["document", "everything", "markdown", "text"]


def document(report: MigrationReport) -> Any:
    """Return the JSON document."""
    counts = Counter(str(entry.outcome) for entry in report.entries)
    return {
        "format": report.format,
        "dry_run": report.dry_run,
        "sources": [_source_document(source) for source in report.sources],
        "skipped": [{"file": source.file, "reason": source.reason} for source in report.skipped],
        "entries": [_entry_document(entry) for entry in report.entries],
        "totals": {outcome: counts[outcome] for outcome in OUTCOMES},
        "files": [
            {
                "path": file.path,
                "state": str(file.state),
                "reason": file.reason,
                **({"diff": file.diff} if report.dry_run or file.state == "conflict" else {}),
            }
            for file in report.files
        ],
        "written": list(report.written),
        "recovered": report.recovered,
    }


def _source_document(source: MigrationSource) -> Any:
    return {
        "file": source.file,
        "sha256": source.sha256,
        "format": source.format,
        "dialect": source.dialect,
        "confidence": source.confidence,
        "reason": source.reason,
        "target": source.target,
        "also": [asdict(guess) for guess in source.also],
        "entries": source.entries,
    }


def _entry_document(entry: MigrationEntry) -> Any:
    return {
        "file": entry.file,
        "pointer": entry.pointer,
        "line": entry.line,
        "outcome": str(entry.outcome),
        "target": entry.target,
        "rubric": entry.rubric,
        "reason": entry.reason,
        "reasons": list(entry.reasons),
    }
