"""An acceptance that was written, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.words import wrapped

if TYPE_CHECKING:
    from evalstore.release.accept import WrittenAcceptance


def text(taken: WrittenAcceptance) -> str:
    """Return what was accepted, where that is written, and what its artifact needs with it."""
    one, status = taken.acceptance, taken.status
    until = f" until {one.accepted.until}" if one.accepted.until else ""
    said = [
        f"accepted as {one.accepted.level} (was {one.accepted.was}){until}: {one.change}",
        f"{status.ref} now needs a {status.required_bump} bump: {status.next_version}",
        f"review and commit {taken.file}",
    ]
    return "\n".join(wrapped(*said, inner="  "))


def document(taken: WrittenAcceptance) -> Any:
    """Return the JSON document: the entry, and where its artifact stands with it."""
    one = taken.acceptance
    return {
        "file": taken.file,
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
        "required_bump": str(taken.status.required_bump),
        "next_version": taken.status.next_version,
    }
