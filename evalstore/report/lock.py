"""What a lock holds, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import count_noun, format_columns
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.integrity import LockedRef, LockResult


def text(locked: LockResult, screen: Screen = PAPER) -> str:
    """Return what is new in the lock, a line a reference, and how much it holds."""
    rows = [*(_reference_row(one) for one in locked.refs if one.changed), *(("-", ref, "") for ref in locked.removed)]
    holds = (
        f"{locked.path} holds {count_noun(len(locked.refs), 'reference')} and {count_noun(locked.ledgers, 'ledger')}"
    )
    summary_line = make_printable(f"{holds}; {'written' if locked.written else 'it was so already'}")
    return "\n".join([*screen.shorten_list(format_columns(rows).splitlines()), summary_line]) if rows else summary_line


def document(locked: LockResult) -> Any:
    """Return the JSON document."""
    return {
        "path": locked.path,
        "written": locked.written,
        "refs": [
            {"ref": one.ref, "version": one.version or None, "previous": one.previous, "changed": one.changed}
            for one in locked.refs
        ],
        "removed": list(locked.removed),
        "ledgers": locked.ledgers,
    }


def _reference_row(one: LockedRef) -> tuple[str, str, str]:
    if one.previous is None:
        return "+", one.ref, one.version
    return "~", one.ref, one.version if one.previous == one.version else f"{one.previous} -> {one.version}"
