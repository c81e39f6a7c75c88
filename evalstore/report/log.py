"""The releases of an artifact, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.columns import columns

if TYPE_CHECKING:
    from evalstore.store.history import History, Logged

_DAY = 10  # characters of an ISO date


def text(history: History) -> str:
    """Return one line a release, newest first."""
    return f"{history.name}\n" + columns([_row(one) for one in history.releases])


def document(history: History) -> Any:
    """Return the JSON document."""
    return {
        "ref": history.name,
        "releases": [
            {
                "version": str(one.version),
                "tag": one.tag,
                "commit": one.commit,
                "date": one.date,
                "author": one.author,
                "bump": one.bump,
                "digest": one.digest,
                "previous": one.previous,
                "summary": one.summary,
            }
            for one in history.releases
        ],
    }


def _row(one: Logged) -> tuple[str, ...]:
    return (f"  {one.version}", one.date[:_DAY], _step(one), one.author, one.summary)


def _step(one: Logged) -> str:
    # A lightweight tag says nothing; a tag of evalstore that names no version before it is the first.
    return (one.bump if one.previous else "first") if one.bump else "-"
