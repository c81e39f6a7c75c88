"""Turns results into problems for CI formats: a table from a result's class name to a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalstore.errors import Place
from evalstore.model import Findings, Severity, parse_ref
from evalstore.release.changes.version_rules import MOVED_HINT, VersionRule
from evalstore.report import findings as validated
from evalstore.report import gate as gates
from evalstore.report import status as standings
from evalstore.report.diff import list_uncompared, summarize_store
from evalstore.report.diff_words import (
    can_accept_changes,
    describe_asked,
    describe_finding,
    describe_moved_reference,
    describe_total,
    format_exchange,
    sort_by_level,
    summarize_measurement,
    summary,
)
from evalstore.report.problems import (
    SETTINGS,
    Problem,
    ProblemReport,
    locate_problems,
    make_fingerprint,
    make_problem,
    make_report,
)
from evalstore.report.text_layout import join_names
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import Diff, DiffFinding
    from evalstore.release.changes.store_diff import BrokenComparison, StoreDiff
    from evalstore.release.changes.values import ArtifactStatus, MovedReference, Status
    from evalstore.release.integrity.gate import GateResult
    from evalstore.release.integrity.verify import Verification

_SEVERITIES = {Bump.MAJOR: Severity.WARNING}  # every other change is a note
_WIDTH = 90
_LIST_LIMIT = 8
_TAG = re.compile(r"refs/tags/.*?((?:rubric|judge|dataset)/[a-z][a-z0-9_]*)@")


def report_problems(result: Any, locate: Callable[[str], str]) -> ProblemReport:
    """Return a result as problems whose files `locate` names.

    The result's class is one of those in `PROBLEM_REPORTS`.
    """
    return locate_problems(PROBLEM_REPORTS[type(result).__name__](result), locate)


def _report_diff(diff: Diff) -> ProblemReport:
    accept, ask = can_accept_changes(diff), diff.ask_command
    ordered = sort_by_level(diff.findings)
    problems = [_change_problem(finding, can_accept=accept, ask=ask) for finding in ordered]
    about = (diff.old.ref or "old", diff.new.ref or "new")
    total = [sentence] if (sentence := describe_total(diff)) else []
    measured = [f"Measured: {summarize_measurement(measurement)}" for measurement in diff.measured]
    remarks = (*total, *measured, *([describe_asked(diff.asked)] if diff.asked else []))
    report = make_report("diff", summary(diff), [*problems, *_problems_of_other_causes(diff)])
    return replace(report, about=about, remarks=remarks)


def _problems_of_other_causes(diff: Diff) -> Iterator[Problem]:
    """Yield what else moves scores: settings, and references that have a new meaning."""
    for change in diff.settings:
        facts = (change.setting, change.old, change.new)
        yield Problem(
            "setting-changed",
            _SEVERITIES.get(change.level, Severity.INFO),
            str(change.level),
            Place(SETTINGS),
            change.sentence,
            make_fingerprint("setting", *facts),
        )
    file = Place(parse_ref(diff.new.ref).path) if diff.notes and diff.new.ref else None
    for note in diff.notes:
        message = describe_moved_reference(note)
        yield Problem(
            "reference-moved",
            Severity.WARNING,
            "warning",
            file,
            message,
            make_fingerprint("note", note),
        )


def _change_problem(finding: DiffFinding, *, can_accept: bool, ask: str = "") -> Problem:
    exchange = format_exchange(finding, _WIDTH)
    children = (
        (str(child.level), child.message) for child in sort_by_level(finding.children)[:_LIST_LIMIT]
    )
    return Problem(
        finding.rule,
        _SEVERITIES.get(finding.level, Severity.INFO),
        str(finding.level),
        finding.new or finding.old,
        finding.message,
        finding.fingerprint,
        (
            *_note_removed_line(finding),
            *describe_finding(finding, can_accept=can_accept, ask=ask),
            *children,
            ("fingerprint", finding.fingerprint),
        ),
        exchange if isinstance(exchange, str) else tuple(exchange),
        finding.accepted.reason if finding.accepted else "",
    )


def _note_removed_line(finding: DiffFinding) -> Iterator[tuple[str, str]]:
    # The line of a removed part is in the old file only, which an annotation cannot show.
    if finding.old and finding.old.line and not finding.new:
        yield "was at", f"line {finding.old.line}, before it was removed"


def _report_status(status: Status) -> ProblemReport:
    problems = [*_status_problems(status), *map(make_problem, status.findings)]
    return make_report("status", standings.summary(status), problems)


def _status_problems(status: Status) -> Iterator[Problem]:
    for artifact in status.artifacts:
        yield _artifact_problem(artifact)
        told = (one for one in artifact.findings if one.level is Bump.MAJOR or one.adjusted)
        yield from (_change_problem(finding, can_accept=True) for finding in told)
        yield from (
            _problem_of_moved_reference(artifact, reference) for reference in artifact.moved
        )


def _artifact_problem(artifact: ArtifactStatus) -> Problem:
    users = join_names(artifact.dependents, _LIST_LIMIT)
    hint = (
        MOVED_HINT
        if artifact.rule is VersionRule.REFERENCE_MOVED
        else f"evalstore bump {artifact.ref}"
    )
    hints = (("hint", hint),) if artifact.working and not artifact.ok else ()
    return Problem(
        str(artifact.rule or f"artifact-{artifact.state}"),
        Severity.INFO if artifact.ok else Severity.ERROR,
        "ok" if artifact.ok else "error",
        artifact.place or Place(parse_ref(artifact.ref).path),
        f"{artifact.ref}: {artifact.message}",
        make_fingerprint("status", artifact.ref),
        (
            *hints,
            *([("referred to by", users)] if users else []),
            *([("judges asked", artifact.asked)] if artifact.asked else []),
        ),
    )


def _problem_of_moved_reference(artifact: ArtifactStatus, reference: MovedReference) -> Problem:
    return Problem(
        "reference-floating",
        _SEVERITIES.get(reference.level, Severity.INFO),
        str(reference.level),
        reference.place,
        (
            f"{artifact.ref}: {reference.ref} meant {reference.was} when it was released, and "
            f"means {reference.now} now"
        ),
        make_fingerprint(
            "moved", artifact.ref, reference.ref, str(reference.was), str(reference.now)
        ),
        (("hint", _hint_at_moved_reference(artifact, reference)),),
    )


def _hint_at_moved_reference(artifact: ArtifactStatus, reference: MovedReference) -> str:
    if artifact.rule is VersionRule.REFERENCE_MOVED and reference.level is Bump.MAJOR:
        return MOVED_HINT
    return "pin it, or lock it: evalstore lock"


def _report_findings(result: Findings) -> ProblemReport:
    return make_report("validate", validated.summary(result), map(make_problem, result.findings))


def _report_verification(result: Verification) -> ProblemReport:
    return make_report(
        result.command,
        validated.summarize_verification(result),
        map(_place_on_disk, map(make_problem, result.findings)),
    )


def _place_on_disk(problem: Problem) -> Problem:
    """Return the problem at the artifact's file if its place is in a tag.

    A working tree has no tags.
    """
    if not problem.place or not problem.place.file.startswith("refs/tags/"):
        return problem
    tag = _TAG.match(problem.place.file)
    return replace(problem, place=Place(parse_ref(tag[1]).path) if tag else None)


def _report_gate(result: GateResult) -> ProblemReport:
    found = [make_problem(finding) for finding in result.all_findings]
    report = make_report(
        "gate",
        gates.summary(result),
        [*map(_place_on_disk, found), *_status_problems(result.status)],
    )
    parts = (
        f"validate: {validated.summary(result.validation)}",
        f"verify: {validated.summarize_verification(result.verification)}",
        f"status: {standings.summary(result.status)}",
    )
    return replace(report, remarks=parts)


def _report_uncompared(one: BrokenComparison) -> Problem:
    fingerprint, message = make_fingerprint(one.ref), f"{one.ref}: {one.message}"
    return Problem("not-compared", Severity.ERROR, "error", one.place, message, fingerprint)


def _report_store_diff(result: StoreDiff) -> ProblemReport:
    reports = [_report_diff(diff) for diff in result.diffs]
    broken = map(_report_uncompared, result.broken)
    # One changed setting moves many artifacts.
    problems = dict.fromkeys(problem for report in reports for problem in report.problems)
    found = make_report("diff", summarize_store(result), [*broken, *problems])
    totals = (f"{one.about[1]}: {remark}" for one in reports for remark in one.remarks)
    return replace(found, remarks=(*totals, *list_uncompared(result)))


PROBLEM_REPORTS: dict[str, Callable[[Any], ProblemReport]] = {
    "Diff": _report_diff,
    "Findings": _report_findings,
    "GateResult": _report_gate,
    "Status": _report_status,
    "StoreDiff": _report_store_diff,
    "Verification": _report_verification,
}
