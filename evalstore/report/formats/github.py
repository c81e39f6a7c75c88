"""Workflow commands of GitHub Actions: an annotation a problem, the gravest first; then the summary as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.model import Severity
from evalstore.report.formats.failure import format_workflow_command
from evalstore.report.problems import Problem, ProblemReport, sort_by_severity
from evalstore.text import escape_ci_commands, make_printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: ProblemReport) -> str:
    """Return a line a problem, and one a sentence."""
    lines = [f"evalstore {report.command}: {report.summary}", *report.remarks]
    return "\n".join(
        [
            *map(_annotate, sort_by_severity(report.problems)),
            *(escape_ci_commands(make_printable(line)) for line in lines),
        ]
    )


def _annotate(problem: Problem) -> str:
    lines = [problem.message, *problem.note_lines]
    return format_workflow_command(_COMMANDS[problem.severity], dict(_annotation_properties(problem)), lines)


def _annotation_properties(problem: Problem) -> Iterator[tuple[str, str]]:
    if place := problem.place:
        yield "file", place.file
        if place.line:
            yield "line", str(place.line)
        if place.column:
            yield "col", str(place.column)
    yield "title", f"{problem.level}: {problem.rule}"
