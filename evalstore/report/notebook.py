"""Shows a result in a notebook.

Its page is in a frame, so that no style or script reaches the notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.audits import Audit
    from evalstore.diff import Diff
    from evalstore.runs import Run

_ROWS = 100  # of a run
_STYLE = "width: 100%; height: 36em; border: 0"


def write_frame(value: Any) -> str:
    """Return the page of a `Diff`, an `Audit` or a `Run` in a frame that runs no script."""
    page = _PAGES[type(value).__name__](value)
    return f'<iframe sandbox srcdoc="{escape(page)}" style="{_STYLE}"></iframe>'


def _write_diff(diff: Diff) -> str:
    from evalstore.report.diff import html

    return html(diff)


def write_audit(audit: Audit, links: Mapping[str, str] | None = None, trail: str = "") -> str:
    """Return the page of an audit.

    `links` lead to the pages of the releases' steps, `trail` to its site.
    """
    from evalstore.audits.conditions import AuditReport
    from evalstore.report.audit_report import html

    return html(AuditReport(audit), links, trail)


def _write_run(run: Run) -> str:
    """Return the page of a run, with the worst outputs."""
    from evalstore.report.run_view import html
    from evalstore.runs.run_view import RowChoice, view_run

    return html(view_run(run.path, RowChoice(), limit=_ROWS))


_PAGES: Mapping[str, Callable[[Any], str]] = {
    "Audit": write_audit,
    "Diff": _write_diff,
    "Run": _write_run,
}
