"""Renders problems as a GitLab Code Quality report: JSON issues with distinct fingerprints."""

from __future__ import annotations

from typing import Any

from evalstore.model import Severity
from evalstore.report.problems import SETTINGS, Problem, ProblemReport
from evalstore.report.text_layout import dump_json
from evalstore.text import make_printable

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}

_SHOWN = frozenset({"hint", "override", "accepted"})


def render(report: ProblemReport) -> str:
    """Return the JSON array."""
    return dump_json([_issue(problem) for problem in report.problems])


def _issue(problem: Problem) -> dict[str, Any]:
    place = problem.place
    # There is room for one line only: what to do next, and what made the problem count less than
    # its rule says.
    shown = [(label, sentence) for label, sentence in problem.notes if label in _SHOWN]
    notes = [words if label == "hint" else f"{label}: {words}" for label, words in shown]
    return {
        "description": make_printable(
            f"{problem.message} ({'; '.join(notes)})" if notes else problem.message
        ),
        "check_name": problem.rule,
        "fingerprint": problem.fingerprint,
        "severity": _SEVERITIES[problem.severity],
        "location": {
            "path": place.file if place else SETTINGS,
            "lines": {"begin": place.line or 1 if place else 1},
        },
    }
