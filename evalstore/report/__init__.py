"""Results into text: one table from a result's type and a format to the function that renders it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from evalstore.report.formats import FORMATS
from evalstore.report.formats import render as formatted
from evalstore.report.json_text import dump
from evalstore.report.screen import PAPER, Screen

# The result's class name -> the module of this room that renders it: `text(result)` and `document(result)` at least.
RENDERERS = {
    "Agreement": "judge",
    "CreatedStore": "init",
    "Audit": "audit",
    "RuleCatalogue": "rules",
    "Diff": "diff",
    "Explanation": "explain",
    "Exported": "export",
    "Findings": "findings",
    "Impact": "impact",
    "StoreListing": "list",
    "LockResult": "lock",
    "MigrationReport": "migrate",
    "CallPlan": "plan",
    "Released": "bump",
    "Resolution": "resolve",
    "Run": "score",
    "ArtifactFile": "show",
    "Status": "status",
    "WrittenAcceptance": "accept",
    "ReplayedStory": "demo",
    "ReleaseLog": "log",
    "Verification": "verify",
}
# Whose text is fitted to a screen.
FITTED_TO_SCREEN = frozenset(
    {"bump", "diff", "export", "findings", "impact", "lock", "log", "migrate", "status", "verify"}
)


def render(
    result: Any,
    format: str,  # noqa: A002  # the word of the command line
    *,
    screen: Screen = PAPER,
    locate: Callable[[str], str] = str,
) -> str:
    """Return `result` in a format: `json` its document, any other one of its module, or of `FORMATS` its problems.

    `locate` gives a file its path from the root of the repository, by which CI systems know it.
    """
    name = RENDERERS[type(result).__name__]
    room = import_module(f"evalstore.report.{name}")
    if format in FORMATS and not hasattr(room, format):
        reports = import_module("evalstore.report.reports")
        return formatted(reports.problems(result, locate), format)
    if format == "json":
        return dump(room.document(result))
    renderer: Callable[..., str] = getattr(room, format)
    return renderer(result, screen) if format == "text" and name in FITTED_TO_SCREEN else renderer(result)
