"""What changed since the last releases, as text and JSON."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from evalstore.report.columns import columns
from evalstore.text import printable

if TYPE_CHECKING:
    from evalstore.release import Standing, Status

_WIDTH = 100
_HEAD = ("", "ARTIFACT", "RELEASED", "FILE", "NEEDS", "")


def text(status: Status) -> str:
    """Return a line an artifact with what refers to it below, and a summary with the next command."""
    if not status.artifacts:
        return f"{_count(status.total)}, all as released"
    head, *lines = columns([_HEAD, *map(_row, status.artifacts)]).split("\n")
    rows = [line + _users(standing) for line, standing in zip(lines, status.artifacts, strict=True)]
    return "\n".join([head, *rows, "", _summary(status)])


def document(status: Status) -> Any:
    """Return the JSON document."""
    return {
        "ok": status.ok,
        "total": status.total,
        "artifacts": [
            {
                "ref": standing.ref,
                "state": str(standing.state),
                "released": standing.released,
                "working": standing.working,
                "required_bump": str(standing.required_bump),
                "next_version": standing.next_version,
                "ok": standing.ok,
                "rule": str(standing.rule) if standing.rule else None,
                "message": standing.message,
                "dependents": list(standing.dependents),
            }
            for standing in status.artifacts
        ],
    }


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        "ok" if standing.ok else "NO",
        standing.ref,
        standing.released or "-",
        standing.working or "-",
        str(standing.required_bump) if standing.required_bump else "-",
        standing.message,
    )


def _users(standing: Standing) -> str:
    if not standing.dependents:
        return ""
    line = f"referred to by {printable(', '.join(standing.dependents))}"
    return "\n" + textwrap.fill(line, _WIDTH, initial_indent="    ", subsequent_indent="      ")


def _summary(status: Status) -> str:
    wrong = sum(not standing.ok for standing in status.artifacts)
    fault = f", {wrong} without the version it needs" if wrong else ""
    # A file that is gone cannot be bumped.
    command = ": evalstore bump --all" if any(standing.working for standing in status.artifacts) else ""
    return f"{len(status.artifacts)} of {_count(status.total)} differ from the last release{fault}{command}"


def _count(number: int) -> str:
    return f"{number} artifact{'' if number == 1 else 's'}"
