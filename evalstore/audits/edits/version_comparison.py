"""Compares two versions by the rules of the diff; versions that cannot be compared get a note."""

from __future__ import annotations

from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.diff import Detail, DiffFinding
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Certainty, Direction
from evalstore.errors import EvalstoreError
from evalstore.model import Artifact
from evalstore.release.changes.comparison import compare_by_rules
from evalstore.store import Resolved


def compare_or_note(
    finder: VersionFinder, old: Artifact | Resolved, new: Artifact | Resolved
) -> tuple[DiffFinding, ...]:
    """Return the findings between two versions, by the rules alone.

    There are none if they cannot be compared.
    """
    try:
        return compare_by_rules(finder.store, old, new, detail=Detail.RULES).findings
    except EvalstoreError as error:
        finder.notes.append(
            f"{new.name} {old.version} and {new.version} cannot be compared: {error.message}"
        )
        return ()


def prove_direction(finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion) -> Direction:
    """Return which way the edits between two rubrics, and any subset of them, can move a score."""
    if not finder.find_line(old, new):
        return Direction.EITHER
    direction = Direction.EITHER
    # What the checks can answer is asked only if the rules leave it open.
    for detail in (Detail.RULES, Detail.FINDINGS):
        if direction is Direction.EITHER:
            direction = _join_findings(finder, old.resolved, new.resolved, detail)
    return direction


def _join_findings(
    finder: VersionFinder, old: Resolved, new: Resolved, detail: Detail
) -> Direction:
    try:
        findings = compare_by_rules(finder.store, old, new, detail=detail).findings
    except EvalstoreError as error:
        finder.notes.append(f"{old.ref} and {new.ref} cannot be compared: {error.message}")
        return Direction.EITHER
    if any(one.certainty is Certainty.ASSUMED for one in findings):
        return Direction.EITHER
    return join_directions(*(one.direction for one in findings))
