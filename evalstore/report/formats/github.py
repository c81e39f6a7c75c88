"""Renders problems as annotations for GitHub Actions, errors first.

Only this module writes workflow commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalstore.errors import EvalstoreError
from evalstore.model import Severity
from evalstore.report.problems import Problem, ProblemReport, sort_by_severity
from evalstore.text import escape_ci_commands, make_printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
# The runner decodes exactly these; a property ends at a colon or comma, which messages may contain.
_MESSAGE_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = {**_MESSAGE_ESCAPES, ":": "%3A", ",": "%2C"}


def render(report: ProblemReport) -> str:
    """Return a workflow command for each problem, then the summary and remarks as plain lines."""
    lines = [f"evalstore {report.command}: {report.summary}", *report.remarks]
    return "\n".join(
        [
            *map(_annotate, sort_by_severity(report.problems)),
            *(escape_ci_commands(make_printable(line)) for line in lines),
        ]
    )


def format_annotation(error: EvalstoreError) -> str:
    """Return an error as an annotation without a place.

    The command found no line to show.
    """
    lines = [str(error), *([f"hint: {error.hint}"] if error.hint else [])]
    return format_workflow_command("error", {"title": "evalstore"}, lines)


def format_workflow_command(name: str, properties: Mapping[str, str], lines: list[str]) -> str:
    """Return a workflow command, escaped so that no text can end it or add a property."""
    printable = {key: make_printable(value) for key, value in properties.items()}
    options = ",".join(f"{key}={_escape(printable[key], _PROPERTY_ESCAPES)}" for key in printable)
    message = "\n".join(map(make_printable, lines))
    return f"::{name} {options}::{_escape(message, _MESSAGE_ESCAPES)}"


def _annotate(problem: Problem) -> str:
    lines = [problem.message, *problem.note_lines]
    return format_workflow_command(
        _COMMANDS[problem.severity], dict(_annotation_properties(problem)), lines
    )


def _annotation_properties(problem: Problem) -> Iterator[tuple[str, str]]:
    if place := problem.place:
        yield "file", place.file
        if place.line:
            yield "line", str(place.line)
        if place.column:
            yield "col", str(place.column)
    yield "title", f"{problem.level}: {problem.rule}"


def _escape(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(char, char) for char in text)
