"""Renders problems as JUnit XML: an error is a failed test, a warning or a note a skipped one."""

from __future__ import annotations

from collections import Counter
from xml.sax.saxutils import escape, quoteattr

from evalstore.model import Severity
from evalstore.report.problems import SETTINGS, Problem, ProblemReport
from evalstore.text import make_excerpt, make_printable

_NAME = 80
_TAGS = {Severity.ERROR: "failure", Severity.WARNING: "skipped", Severity.INFO: "skipped"}


def render(report: ProblemReport) -> str:
    """Return one suite with a case per problem, or a single passed case."""
    cases = [_format_failed_case(problem) for problem in report.problems] or [
        _format_passed_case(report)
    ]
    tags = Counter(_TAGS[problem.severity] for problem in report.problems)
    counts = (
        f'tests="{len(cases)}" failures="{tags["failure"]}" errors="0" skipped="{tags["skipped"]}"'
    )
    name = _xml_attribute(f"evalstore {report.command}")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites name={name} {counts}>",
            f"  <testsuite name={name} {counts}>",
            *cases,
            "  </testsuite>",
            "</testsuites>",
        ]
    )


def _format_failed_case(problem: Problem) -> str:
    place, tag = problem.place, _TAGS[problem.severity]
    file, line = (place.file, place.line or 1) if place else (SETTINGS, 1)
    # A repeated name is shown once.
    name = f"{problem.rule}, line {line}: {make_excerpt(problem.message, _NAME)}"
    body = "\n".join([f"{file}:{line}", *problem.note_lines])
    kind = f" type={_xml_attribute(problem.level)}" if tag == "failure" else ""
    return (
        f"    <testcase classname={_xml_attribute(file)} name={_xml_attribute(name)}"
        f' file={_xml_attribute(file)} line="{line}">'
        f"<{tag}{kind} "
        f"message={_xml_attribute(problem.message)}>{_xml_text(body)}</{tag}></testcase>"
    )


def _format_passed_case(report: ProblemReport) -> str:
    return (
        '    <testcase classname="evalstore" '
        f"name={_xml_attribute(f'{report.command}: {report.summary}')}/>"
    )


def _xml_attribute(text: str) -> str:
    return quoteattr(make_printable(text))


def _xml_text(text: str) -> str:
    return escape("\n".join(map(make_printable, text.split("\n"))))
