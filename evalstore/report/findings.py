"""Findings of validation, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from evalstore.errors import Place
from evalstore.model import Finding, Findings, Severity
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.words import counted, wrapped
from evalstore.text import make_printable

_INDENT = "    "
_MANY = 12  # findings that no screen holds
_TIED = "\N{NO-BREAK SPACE}"  # a number and what it counts stand in one line
_PARTS = {Severity.ERROR: Part.MAJOR, Severity.WARNING: Part.MINOR, Severity.INFO: Part.QUIET}


def text(result: Findings, screen: Screen = PAPER) -> str:
    """Return the findings grouped by file, and a line that counts them."""
    end = [summary(result), *(by_rule(result.findings, screen) if len(result.findings) > _MANY else [])]
    return "\n\n".join([*([groups(result.findings, screen)] if result.findings else []), "\n".join(end)])


def summary(result: Findings) -> str:
    """Return how many files were read, and how many findings there are."""
    files = counted(result.files, "file")
    return f"{files}: {tally(result.findings) if result.findings else 'no findings'}"


def document(result: Findings) -> Any:
    """Return the JSON document."""
    return {"files": result.files, "findings": [entry(finding) for finding in result.findings]}


def groups(findings: Sequence[Finding], screen: Screen = PAPER) -> str:
    """Return findings in blocks, one a file."""
    files = groupby(findings, key=lambda finding: finding.file)
    return "\n\n".join(_group(list(group), screen) for _, group in files)


def tally(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, and how severe they are."""
    counts = Counter(finding.severity for finding in findings)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    parts = [counted(counts[severity], word) for severity, word in words.items() if counts[severity]]
    return f"{counted(len(findings), 'finding')} ({', '.join(parts)})"


def by_rule(findings: Sequence[Finding], screen: Screen) -> list[str]:
    """Return how often each rule found something, the most frequent first."""
    counts = Counter(finding.rule for finding in findings).most_common()
    told = ", ".join(f"{number:,}{_TIED}{rule}" for rule, number in counts)
    return [line.replace(_TIED, " ") for line in wrapped(told, width=screen.width, lead="  ", inner="  ")]


def entry(finding: Finding) -> dict[str, Any]:
    """Return the JSON of one finding."""
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "pointer": finding.pointer,
        "message": finding.message,
        "hint": finding.hint,
    }


def _group(findings: list[Finding], screen: Screen) -> str:
    places = [make_printable(str(Place(one.file, one.line, one.column))) for one in findings]
    width = max(map(len, places))
    return "\n".join(
        "\n".join([f"{place:<{width}}  {_severity(one, screen)}  {one.rule}", *_lines(one, screen.width)])
        for place, one in zip(places, findings, strict=True)
    )


def _severity(finding: Finding, screen: Screen) -> str:
    return screen.paint(_PARTS[finding.severity], f"{finding.severity:<7}")


def _lines(finding: Finding, width: int) -> list[str]:
    said = [finding.message, *([f"hint: {finding.hint}"] if finding.hint else [])]
    return wrapped(*said, width=width, lead=_INDENT, inner=_INDENT * 2)
