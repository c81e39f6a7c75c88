"""Renders an acceptance that was written, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import wrap_lines

if TYPE_CHECKING:
    from evalstore.release.accept import WrittenAcceptance


def text(result: WrittenAcceptance) -> str:
    """Return the accepted change, the bump that its artifact needs now, and the file to review."""
    acceptance, status = result.acceptance, result.status
    until = f" until {acceptance.accepted.until}" if acceptance.accepted.until else ""
    lines = [
        f"accepted as {acceptance.accepted.level} (was {acceptance.accepted.was}){until}: {acceptance.change}",
        f"{status.ref} now needs a {status.required_bump} bump: {status.next_version}",
        f"review and commit {result.file}",
    ]
    return "\n".join(wrap_lines(*lines, inner="  "))
