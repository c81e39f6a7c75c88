"""Renders a migration: its JSON document here, which is complete, and the texts of the modules beside it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import select_json_keys
from evalstore.report.migrate_markdown import markdown
from evalstore.report.migrate_summary import OUTCOMES
from evalstore.report.migrate_text import everything
from evalstore.report.migrate_text import summary as text

if TYPE_CHECKING:
    from evalstore.migration import MigrationReport

__all__ = ["document", "everything", "markdown", "text"]


def document(report: MigrationReport) -> Any:
    """Return the JSON document."""
    counts = Counter(str(entry.outcome) for entry in report.entries)
    files = [
        {
            **select_json_keys(file, "path state reason"),
            **({"diff": file.diff} if report.dry_run or file.state == "conflict" else {}),
        }
        for file in report.files
    ]
    return {
        **select_json_keys(report, "format dry_run sources"),
        "skipped": [select_json_keys(source, "file reason") for source in report.skipped],
        **select_json_keys(report, "entries"),
        "totals": {outcome: counts[outcome] for outcome in OUTCOMES},
        "files": files,
        **select_json_keys(report, "written recovered"),
    }
