"""Compares two documents: the facts, judged one by one, and the bump that they need together; knows nothing of git."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.by_kind import DatasetRows, find_changes, find_spelling_change
from evalstore.diff.classify import classify
from evalstore.diff.direction import VERDICT_MODES
from evalstore.diff.document import ComparedDocument, read_document
from evalstore.diff.findings import Diff, DiffFinding, Direction, Profile
from evalstore.diff.fingerprint import cover_children, fingerprint_edit, number_duplicates
from evalstore.diff.question_references import ReferenceReaders
from evalstore.diff.references import ArtifactLoader, import_reference
from evalstore.diff.settings import ComparisonSettings, adjust_level, apply_declarations
from evalstore.diff.witness import Replay
from evalstore.documents import json_pointer
from evalstore.model import Artifact
from evalstore.versions import Bump, bump_version, find_version

_DEPTH = 4


def compare(
    old: Artifact | Mapping[str, Any],
    new: Artifact | Mapping[str, Any],
    *,
    load: ArtifactLoader | None = None,
    rows: DatasetRows | None = None,
    terms: ComparisonSettings | None = None,
) -> Diff:
    """Return what changed between two artifacts (or plain mappings), and which bump that needs.

    `load` reads what a reference names, so that a moved pin imports exactly the other artifact's change; without it a
    moved pin is major. `rows` are the rows, old and new, of a dataset that keeps them in a file beside it. `terms` are
    what the store says of changes: a profile, declarations, overrides, and what people accepted.
    """
    return _Comparison(load, terms or ComparisonSettings()).diff(old, new, rows)


@dataclass(slots=True)
class _Comparison:
    """One comparison and those of the references within it, each pair once."""

    load: ArtifactLoader | None
    terms: ComparisonSettings
    depth: int = 0
    shows: bool = True
    known: dict[tuple[str, str], Diff] = field(default_factory=dict)

    def diff(self, old: Any, new: Any, rows: DatasetRows | None = None) -> Diff:
        sides = (read_document(old), read_document(new))
        load = self.load if self.depth < _DEPTH else None
        changes = [
            import_reference(change, load, self._inner, self.terms.locked)
            for change in self._declared(sides, rows, load)
        ]
        readers = ReferenceReaders(load, self._written)
        changes = [readers.trace_change(change) for change in changes]
        changes = changes or list(find_spelling_change(sides))
        findings = [_finding(change, sides, self.terms.profile) for change in changes]
        claimed = number_duplicates(_claimed(changes, _witnessed(changes, findings, load) if self.shows else findings))
        weighed = tuple(adjust_level(finding, self.terms) for finding in claimed)
        bump = max((finding.level for finding in weighed), default=Bump.NONE)
        version = _next(sides[0].value, bump)
        return Diff(sides[0].side, sides[1].side, bump, version, weighed, self.terms.rule_set, self.terms.profile)

    def _declared(
        self, sides: tuple[ComparedDocument, ComparedDocument], rows: DatasetRows | None, load: ArtifactLoader | None
    ) -> Iterator[Change]:
        renames = self.terms.renames.get(sides[1].name, {})
        return (apply_declarations(change, self.terms, renames) for change in find_changes(sides, rows, renames, load))

    def _inner(self, old: Artifact, new: Artifact) -> Diff:
        pair = (old.digest, new.digest)
        if pair not in self.known:
            self.known[pair] = _Comparison(
                self.load, self.terms.without_opinions, self.depth + 1, known=self.known
            ).diff(old, new)
        return self.known[pair]

    def _written(self, old: Mapping[str, Any], new: Mapping[str, Any], shows: bool) -> Diff:  # noqa: FBT001  # by place
        return _Comparison(None, self.terms.without_opinions, shows=shows).diff(old, new)


def _finding(change: Change, sides: tuple[ComparedDocument, ComparedDocument], profile: Profile) -> DiffFinding:
    judged = classify(change, profile)
    places = (sides[0].cut_to_written(change.old_pointer), sides[1].cut_to_written(change.new_pointer))
    pointer = json_pointer(next((place for place in reversed(places) if place is not None), ()))
    finding = DiffFinding(
        rule=judged.rule.id,
        level=judged.level,
        level_before=judged.level,
        direction=judged.directions[0],
        verdict_direction=judged.directions[1],
        certainty=judged.certainty,
        pointer=pointer,
        old=sides[0].find_place(places[0]),
        new=sides[1].find_place(places[1]),
        message=judged.message,
        reason=judged.reason,
        witness=None,
        max_shift=judged.max_shift,
        fingerprint=fingerprint_edit(judged.rule.id, sides[1].name, change, (sides[0].value, sides[1].value)),
        children=change.imported_diff.findings if change.imported_diff else (),
        before=sides[0].get_written_value(change.old_pointer, change.old),
        after=sides[1].get_written_value(change.new_pointer, change.new),
    )
    return cover_children(finding)


def _witnessed(changes: list[Change], findings: list[DiffFinding], load: ArtifactLoader | None) -> list[DiffFinding]:
    """Give each finding that can move a score or a verdict an output that moves, where one is found."""
    states = [state for change in changes if change.before for state in change.states]
    if not states:
        return findings
    replay = Replay(states[0], states[-1], load)
    return [
        replace(finding, witness=replay.find(change)) if change.before and _moves(finding) else finding
        for change, finding in zip(changes, findings, strict=True)
    ]


def _moves(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR and {finding.direction, finding.verdict_direction} != {Direction.NONE}


def _claimed(changes: list[Change], findings: list[DiffFinding]) -> list[DiffFinding]:
    """Give a changed mode the findings on weights and thresholds that one of its two modes does not read."""
    mode = next((index for index, change in enumerate(changes) if change.rule == "scoring-combine-changed"), None)
    if mode is None:
        return findings
    mine = [
        index
        for index, change in enumerate(changes)
        if _is_ineffective(change, changes[mode]) and findings[index].level <= findings[mode].level
    ]
    owner = cover_children(replace(findings[mode], children=tuple(findings[index] for index in mine)))
    return [owner if index == mode else finding for index, finding in enumerate(findings) if index not in mine]


def _is_ineffective(change: Change, mode: Change) -> bool:
    if change.rule == "check-weight-changed":
        return True
    both_read = VERDICT_MODES.issuperset({mode.old, mode.new})
    if not change.rule.startswith("check-threshold-") or change.checks[1].reads_threshold:
        return False
    return not both_read and not change.checks[1].is_gate


def _next(old: dict[str, Any], bump: Bump) -> str | None:
    version = find_version(str(old.get("version", "")))
    return str(bump_version(version, bump)) if version and bump else None
