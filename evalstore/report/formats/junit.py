"""JUnit's XML, as CI systems read it: an error is a failed test, a warning or a note one that was skipped."""

from __future__ import annotations

from collections import Counter
from xml.sax.saxutils import escape, quoteattr

from evalstore.model import Severity
from evalstore.report.problems import SETTINGS, Problem, Report
from evalstore.text import make_excerpt, make_printable

_NAME = 80
_TAGS = {Severity.ERROR: "failure", Severity.WARNING: "skipped", Severity.INFO: "skipped"}


def render(report: Report) -> str:
    """Return one suite with a case a problem, or one case that passed."""
    cases = [_case(problem) for problem in report.problems] or [_passed(report)]
    tags = Counter(_TAGS[problem.severity] for problem in report.problems)
    counts = f'tests="{len(cases)}" failures="{tags["failure"]}" errors="0" skipped="{tags["skipped"]}"'
    name = _attribute(f"evalstore {report.command}")
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


def _case(problem: Problem) -> str:
    place, tag = problem.place, _TAGS[problem.severity]
    file, line = (place.file, place.line or 1) if place else (SETTINGS, 1)
    name = f"{problem.rule}, line {line}: {make_excerpt(problem.message, _NAME)}"  # a name that comes twice is shown once
    said = "\n".join([f"{file}:{line}", *problem.told])
    kind = f" type={_attribute(problem.level)}" if tag == "failure" else ""
    return (
        f"    <testcase classname={_attribute(file)} name={_attribute(name)}"
        f' file={_attribute(file)} line="{line}">'
        f"<{tag}{kind} message={_attribute(problem.message)}>{_text(said)}</{tag}></testcase>"
    )


def _passed(report: Report) -> str:
    return f'    <testcase classname="evalstore" name={_attribute(f"{report.command}: {report.summary}")}/>'


def _attribute(text: str) -> str:
    return quoteattr(make_printable(text))


def _text(text: str) -> str:
    return escape("\n".join(map(make_printable, text.split("\n"))))
