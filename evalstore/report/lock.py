"""Renders a lock that was written, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import count_noun, format_columns
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.release.lock import LockedRef, LockResult


def text(result: LockResult, screen: Screen = PAPER) -> str:
    """Return a line for each reference that is new, moved or removed, and how many the lock holds."""
    rows = [
        *(_reference_row(reference) for reference in result.refs if reference.changed),
        *(("-", ref, "") for ref in result.removed),
    ]
    holds = (
        f"{result.path} holds {count_noun(len(result.refs), 'reference')} and {count_noun(result.ledgers, 'ledger')}"
    )
    summary_line = make_printable(f"{holds}; {'written' if result.written else 'it was so already'}")
    return "\n".join([*screen.shorten_list(format_columns(rows).splitlines()), summary_line]) if rows else summary_line


def _reference_row(reference: LockedRef) -> tuple[str, str, str]:
    if reference.previous is None:
        return "+", reference.ref, reference.version
    return (
        "~",
        reference.ref,
        reference.version
        if reference.previous == reference.version
        else f"{reference.previous} -> {reference.version}",
    )
