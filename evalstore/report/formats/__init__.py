"""Renders a list of problems for CI systems and reviewers, with one module per format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalstore.report.problems import ProblemReport

# Each is a module of this package with `render(report)`, and a choice of --format for commands that
# report problems.
FORMATS = ("sarif", "github", "gitlab", "junit", "markdown")


def render(report: ProblemReport, format: str) -> str:  # noqa: A002  # the word of the command line
    """Return a report in one of `FORMATS`."""
    renderer: Callable[[ProblemReport], str] = import_module(
        f"evalstore.report.formats.{format}"
    ).render
    return renderer(report)
