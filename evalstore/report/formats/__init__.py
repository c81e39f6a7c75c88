"""Formats for machines and reviewers: one table from a format to its module, which renders a list of problems."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalstore.report.problems import ProblemReport

# format -> the module of this room with `render(report)`; the choices of every command that has problems.
FORMATS = ("sarif", "github", "gitlab", "junit", "markdown")


def render(report: ProblemReport, format: str) -> str:  # noqa: A002  # the word of the command line
    """Return a report in one of `FORMATS`."""
    renderer: Callable[[ProblemReport], str] = import_module(f"evalstore.report.formats.{format}").render
    return renderer(report)
