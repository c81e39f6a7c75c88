"""Renders problems as SARIF 2.1.0 for code scanning: rules with help, results with their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evalstore.about import VERSION
from evalstore.model import Severity
from evalstore.report.formats.markdown import escape_prose
from evalstore.report.problems import SETTINGS, Problem, ProblemReport
from evalstore.report.text_layout import dump_json
from evalstore.text import make_printable

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SUBJECTS = {
    "diff": "change",
    "status": "version",
    "validate": "file",
    "verify": "release",
    "lock": "release",
    "gate": "release",
}
# [text](target) is a link in a message.
_LINK = str.maketrans({"[": "\\[", "]": "\\]", "\\": "\\\\"})


def render(report: ProblemReport) -> str:
    """Return a SARIF log of one run."""
    levels: dict[str, Severity] = {}
    for problem in report.problems:
        levels.setdefault(problem.rule, problem.severity)
    index = {rule: number for number, rule in enumerate(levels)}
    driver = {
        "name": "evalstore",
        "semanticVersion": VERSION,
        "rules": [
            _rule_descriptor(rule, severity, report.command) for rule, severity in levels.items()
        ],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"evalstore/{report.command}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(problem, index) for problem in report.problems],
    }
    if report.remarks:
        run["properties"] = {"remarks": [make_printable(remark) for remark in report.remarks]}
    if any(
        problem.accepted for problem in report.problems
    ):  # SARIF: all results of a run have it, or none
        for result, problem in zip(run["results"], report.problems, strict=True):
            result["suppressions"] = _suppressions(problem)
    return dump_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule_descriptor(rule: str, severity: Severity, command: str) -> dict[str, Any]:
    message, why, hint = _explain_rule(rule, command)
    more = f"evalstore explain {rule}" if message or why else f"evalstore {command} --help"
    return {
        "id": rule,
        "shortDescription": {"text": message or rule},
        "fullDescription": {"text": why or message or rule},
        "help": {
            "text": f"{hint or why}\n\n{more}".strip(),
            "markdown": f"{escape_prose(hint or why)}\n\n`{more}`".strip(),
        },
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"tags": ["evalstore", command]},
    }


def _explain_rule(rule: str, command: str) -> tuple[str, str, str]:
    from evalstore.catalogue.rule_catalogue import find_rules

    explanations = find_rules(rule)
    if not explanations:
        return "", "", ""
    explanation = next(
        (explanation for explanation in explanations if explanation.subject == _SUBJECTS[command]),
        explanations[0],
    )
    return explanation.message, explanation.why, explanation.hint


def _sarif_result(problem: Problem, index: Mapping[str, int]) -> dict[str, Any]:
    lines = [problem.message, *problem.note_lines]
    return {
        "ruleId": problem.rule,
        "ruleIndex": index[problem.rule],
        "level": _LEVELS[problem.severity],
        "message": {"text": "\n".join(map(make_printable, lines)).translate(_LINK)},
        "locations": [{"physicalLocation": _location(problem)}],
        "partialFingerprints": {
            "primaryLocationLineHash": problem.fingerprint,
            "evalstore/v1": problem.fingerprint,
        },
    }


def _suppressions(problem: Problem) -> list[dict[str, str]]:
    if not problem.accepted:
        return []
    return [
        {
            "kind": "external",
            "status": "accepted",
            "justification": make_printable(problem.accepted),
        }
    ]


def _location(problem: Problem) -> dict[str, Any]:
    file, line, column = problem.place or (SETTINGS, None, None)
    region = {"startLine": line or 1, **({"startColumn": column} if line and column else {})}
    return {
        "artifactLocation": {
            "uri": quote(file.encode("utf-8", "surrogatepass")),
            "uriBaseId": "%SRCROOT%",
        },
        "region": region,
    }
