"""Results into text: one table from a result's type and a format to the function that renders it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from evalstore.report.screen import PAPER, Screen

# The result's class name -> the module of this room that renders it: `text(result)` and `document(result)` at least.
ROOMS = {
    "Agreement": "judge",
    "Created": "init",
    "Audit": "audit",
    "Catalogue": "rules",
    "Diff": "diff",
    "Explanation": "explain",
    "Exported": "export",
    "Findings": "findings",
    "History": "log",
    "Listing": "list",
    "Locked": "lock",
    "MigrationReport": "migrate",
    "Plan": "plan",
    "Released": "bump",
    "Resolution": "resolve",
    "Run": "score",
    "Shown": "show",
    "Status": "status",
    "Taken": "accept",
    "Told": "demo",
    "Verified": "verify",
}
# Whose text is fitted to a screen.
SCREENED = frozenset({"diff"})


def render(result: Any, format: str, screen: Screen = PAPER) -> str:  # noqa: A002  # the word of the command line
    """Return `result` in `format`; `json` is its document, every other format a function of its module."""
    room = import_module(f"evalstore.report.{ROOMS[type(result).__name__]}")
    if format == "json":
        return dump(room.document(result))
    if format == "text" and ROOMS[type(result).__name__] in SCREENED:
        fitted: str = room.text(result, screen)
        return fitted
    renderer: Callable[[Any], str] = getattr(room, format)
    return renderer(result)


def dump(document: Any) -> str:
    """Return one JSON document, ASCII only, so that no terminal acts on it."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
