"""Results into problems: one table from a result's type to the function that says what a CI system shows of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalstore.errors import Place
from evalstore.model import Findings, Severity, parse_ref
from evalstore.report import findings as validated
from evalstore.report import status as standings
from evalstore.report import verify as verified
from evalstore.report.diff import exchanged, heaviest, noted, summary, told
from evalstore.report.measured import measured_sentence
from evalstore.report.problems import Problem, Report, fingerprint, located, problem, report
from evalstore.report.words import listed
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import Diff, DiffFinding
    from evalstore.integrity import Verification
    from evalstore.status import ArtifactStatus, Status
    from evalstore.status.values import MovedReference

_SEVERITIES = {Bump.MAJOR: Severity.WARNING}  # every other change is a note
_WORKING = "@worktree"
_WIDTH = 90
_SHOWN = 8
_TAG = re.compile(r"refs/tags/.*?((?:rubric|judge|dataset)/[a-z][a-z0-9_]*)@")


def problems(result: Any, locate: Callable[[str], str]) -> Report:
    """Return a result as problems whose files `locate` names; `REPORTED` has the results that can be."""
    return located(REPORTED[type(result).__name__](result), locate)


def _of_diff(diff: Diff) -> Report:
    here = (diff.new.ref or "").endswith(_WORKING)
    found = (_change(finding, here=here) for finding in heaviest(diff.findings))
    about = (diff.old.ref or "old", diff.new.ref or "new")
    remarks = (*noted(diff), *map(measured_sentence, diff.measured))
    return replace(report("diff", summary(diff), found), about=about, remarks=remarks)


def _change(finding: DiffFinding, *, here: bool) -> Problem:
    changed = exchanged(finding, _WIDTH)
    brought = ((str(child.level), child.message) for child in heaviest(finding.children)[:_SHOWN])
    return Problem(
        finding.rule,
        _SEVERITIES.get(finding.level, Severity.INFO),
        str(finding.level),
        finding.new or finding.old,
        finding.message,
        finding.fingerprint,
        (*_gone(finding), *told(finding, here=here), *brought, ("fingerprint", finding.fingerprint)),
        changed if isinstance(changed, str) else tuple(changed),
        finding.accepted.reason if finding.accepted else "",
    )


def _gone(finding: DiffFinding) -> Iterator[tuple[str, str]]:
    # What is gone stands in the old file alone, and an annotation can show no line of that.
    if finding.old and finding.old.line and not finding.new:
        yield "was at", f"line {finding.old.line}, before it was removed"


def _of_status(status: Status) -> Report:
    found = [*_standings(status), *map(problem, status.findings)]
    return report("status", standings.summary(status), found)


def _standings(status: Status) -> Iterator[Problem]:
    for standing in status.artifacts:
        yield _standing(standing)
        yield from (_change(finding, here=True) for finding in standing.findings if _is_shown(finding))
        yield from (_followed(standing, moved) for moved in standing.moved)


def _is_shown(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR or finding.accepted is not None


def _standing(standing: ArtifactStatus) -> Problem:
    users = listed(standing.dependents, _SHOWN)
    wanted = (("hint", f"evalstore bump {standing.ref}"),) if standing.working and not standing.ok else ()
    return Problem(
        str(standing.rule or f"artifact-{standing.state}"),
        Severity.INFO if standing.ok else Severity.ERROR,
        "ok" if standing.ok else "error",
        standing.place or Place(parse_ref(standing.ref).path),
        f"{standing.ref}: {standing.message}",
        fingerprint("status", standing.ref),
        (*wanted, *([("referred to by", users)] if users else [])),
    )


def _followed(standing: ArtifactStatus, moved: MovedReference) -> Problem:
    return Problem(
        "reference-floating",
        _SEVERITIES.get(moved.level, Severity.INFO),
        str(moved.level),
        moved.place,
        f"{standing.ref}: {moved.ref} meant {moved.was} when it was released, and means {moved.now} now",
        fingerprint("moved", standing.ref, moved.ref, str(moved.was), str(moved.now)),
        (("hint", "pin it, or hold it with evalstore lock"),),
    )


def _of_findings(result: Findings) -> Report:
    return report("validate", validated.summary(result), map(problem, result.findings))


def _of_verified(result: Verification) -> Report:
    return report(result.command, verified.summary(result), map(_on_disk, map(problem, result.findings)))


def _on_disk(found: Problem) -> Problem:
    """Name the artifact's file where a problem stands in a tag, which no working tree has."""
    if not found.place or not found.place.file.startswith("refs/tags/"):
        return found
    tag = _TAG.match(found.place.file)
    return replace(found, place=Place(parse_ref(tag[1]).path) if tag else None)


REPORTED: dict[str, Callable[[Any], Report]] = {
    "Diff": _of_diff,
    "Findings": _of_findings,
    "Status": _of_status,
    "Verification": _of_verified,
}
