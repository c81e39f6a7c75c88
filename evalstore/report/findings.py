"""Findings of validation, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

from evalstore.errors import Place
from evalstore.model import Finding, Findings, Severity
from evalstore.text import printable

_WIDTH = 100
_INDENT = "    "


def text(result: Findings) -> str:
    """Return the findings grouped by file, and a line that counts them."""
    return "\n\n".join([*([groups(result.findings)] if result.findings else []), summary(result)])


def summary(result: Findings) -> str:
    """Return how many files were read, and how many findings there are."""
    files = _count(result.files, "file")
    return f"{files}: {tally(result.findings) if result.findings else 'no findings'}"


def document(result: Findings) -> Any:
    """Return the JSON document."""
    return {"files": result.files, "findings": [entry(finding) for finding in result.findings]}


def groups(findings: Sequence[Finding]) -> str:
    """Return findings in blocks, one a file."""
    return "\n\n".join(_group(list(group)) for _, group in groupby(findings, key=lambda finding: finding.file))


def tally(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, and how severe they are."""
    counts = Counter(finding.severity for finding in findings)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    parts = [_count(counts[severity], word) for severity, word in words.items() if counts[severity]]
    return f"{_count(len(findings), 'finding')} ({', '.join(parts)})"


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


def _group(findings: list[Finding]) -> str:
    places = [printable(str(Place(one.file, one.line, one.column))) for one in findings]
    width = max(map(len, places))
    return "\n".join(
        "\n".join([f"{place:<{width}}  {one.severity:<7}  {one.rule}", *_lines(one)])
        for place, one in zip(places, findings, strict=True)
    )


def _lines(finding: Finding) -> list[str]:
    said = [finding.message, *([f"hint: {finding.hint}"] if finding.hint else [])]
    return [
        line
        for sentence in said
        for line in wrap(printable(sentence), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT * 2)
    ]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
