"""Defines `Problem` and `ProblemReport`, which every CI format renders.

Their texts are not escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from evalstore.documents import compute_digest
from evalstore.errors import Place
from evalstore.model import Finding, Severity
from evalstore.report.value_diff import Line
from evalstore.text import make_printable

SETTINGS = "evalstore.yaml"  # the file of a problem that has none: CI formats require one
_FINGERPRINT_LENGTH = 16
# What precedes the path in the name of a file read from git.
_REVISION = re.compile(r"[^:]*@[^:]*:|git:[0-9a-f]+:")
_SEVERITY_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its rule, place and message, with notes, each a label and a sentence.

    `level` is evalstore's own word, `severity` the one for CI systems. `changed` are the compared
    lines of the old and new value, or both on one line; `accepted` is the reason for an acceptance,
    empty if there is none.
    """

    rule: str
    severity: Severity
    level: str
    place: Place | None
    message: str
    fingerprint: str
    notes: tuple[tuple[str, str], ...] = ()
    changed: str | tuple[Line, ...] = ""
    accepted: str = ""

    @property
    def note_lines(self) -> tuple[str, ...]:
        """The notes as lines, each after its label."""
        return tuple(f"{label}: {sentence}" for label, sentence in self.notes)


@dataclass(frozen=True, slots=True)
class ProblemReport:
    """The problems of one command, a one-line summary, and the names of what it is about.

    Fingerprints are distinct. `remarks` are sentences that belong to no line of a file.
    """

    command: str
    summary: str
    problems: tuple[Problem, ...] = ()
    about: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def make_report(command: str, summary: str, problems: Iterable[Problem]) -> ProblemReport:
    """Return a report with distinct fingerprints: a CI system shows only one problem for each."""
    counts: Counter[str] = Counter()
    distinct = []
    for problem in problems:
        repeats = counts[problem.fingerprint]
        counts[problem.fingerprint] += 1
        fingerprint = (
            make_fingerprint(problem.fingerprint, str(repeats)) if repeats else problem.fingerprint
        )
        distinct.append(replace(problem, fingerprint=fingerprint))
    return ProblemReport(command, summary, tuple(distinct))


def locate_problems(report: ProblemReport, locate: Callable[[str], str]) -> ProblemReport:
    """Return a report whose files are named as `locate` names them.

    A file read from git becomes the file on disk, without a line: that line may have other text on
    disk.
    """
    problems = tuple(_locate_problem(problem, locate) for problem in report.problems)
    return replace(report, problems=problems)


def _locate_problem(problem: Problem, locate: Callable[[str], str]) -> Problem:
    return replace(problem, place=problem.place and _locate_place(problem.place, locate))


def strip_revision(file: str) -> str:
    """Return the path of a file in its repository, without the tag or commit it came from."""
    return _REVISION.sub("", file, count=1)


def make_fingerprint(*facts: str) -> str:
    """Return a short digest of facts that stays the same between runs."""
    return compute_digest([make_printable(fact) for fact in facts])[:_FINGERPRINT_LENGTH]


def make_problem(finding: Finding) -> Problem:
    """Return a finding of validation as a problem."""
    return Problem(
        finding.rule,
        finding.severity,
        str(finding.severity),
        Place(finding.file, finding.line, finding.column),
        finding.message,
        make_fingerprint(finding.rule, finding.file, finding.pointer, finding.message),
        (("hint", finding.hint),) if finding.hint else (),
    )


def sort_by_severity(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems from errors to notes, keeping their order within a severity."""
    return sorted(problems, key=lambda problem: _SEVERITY_ORDER[problem.severity])


def _locate_place(place: Place, locate: Callable[[str], str]) -> Place:
    path = strip_revision(place.file)
    return place._replace(file=locate(path)) if path == place.file else Place(locate(path))
