"""An acceptance that was written, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import wrap_lines

if TYPE_CHECKING:
    from evalstore.release.accept import WrittenAcceptance


def text(written: WrittenAcceptance) -> str:
    """Return what was accepted, where that is written, and what its artifact needs with it."""
    one, status = written.acceptance, written.status
    until = f" until {one.accepted.until}" if one.accepted.until else ""
    lines = [
        f"accepted as {one.accepted.level} (was {one.accepted.was}){until}: {one.change}",
        f"{status.ref} now needs a {status.required_bump} bump: {status.next_version}",
        f"review and commit {written.file}",
    ]
    return "\n".join(wrap_lines(*lines, inner="  "))


def document(written: WrittenAcceptance) -> Any:
    """Return the JSON document: the entry, and where its artifact stands with it."""
    one = written.acceptance
    return {
        "file": written.file,
        "artifact": one.artifact,
        "since": str(one.since),
        "fingerprint": one.fingerprint,
        "rule": one.rule,
        "change": one.change,
        "was": str(one.accepted.was),
        "level": str(one.accepted.level),
        "reason": one.accepted.reason,
        "until": str(one.accepted.until) if one.accepted.until else None,
        "by": one.accepted.by,
        "day": str(one.accepted.day),
        "required_bump": str(written.status.required_bump),
        "next_version": written.status.next_version,
    }
