"""Renders an acceptance that was written, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def document(result: WrittenAcceptance) -> Any:
    """Return the JSON document: the entry, and the bump that its artifact needs now."""
    acceptance = result.acceptance
    return {
        "file": result.file,
        "artifact": acceptance.artifact,
        "since": str(acceptance.since),
        "fingerprint": acceptance.fingerprint,
        "rule": acceptance.rule,
        "change": acceptance.change,
        "was": str(acceptance.accepted.was),
        "level": str(acceptance.accepted.level),
        "reason": acceptance.accepted.reason,
        "until": str(acceptance.accepted.until) if acceptance.accepted.until else None,
        "by": acceptance.accepted.by,
        "day": str(acceptance.accepted.day),
        "required_bump": str(result.status.required_bump),
        "next_version": result.status.next_version,
    }
