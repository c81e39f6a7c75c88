"""Compares two documents: finds the changes, judges each, and adds up the bump they need; knows nothing of git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from evalstore.diff.adjustments import apply_declarations, apply_level_settings
from evalstore.diff.build_findings import Sides, build_finding, group_under_combine, number_duplicates
from evalstore.diff.change import Change, RubricEffect
from evalstore.diff.changes.by_kind import DatasetRows, find_changes, find_spelling_change
from evalstore.diff.classify import classify, restrict_to_rule_set
from evalstore.diff.deciders.judges import list_possible_scores
from evalstore.diff.document import read_document
from evalstore.diff.effects import attach_effects, join_effects
from evalstore.diff.findings import Certainty, Detail, Diff, DiffFinding, Direction, ReplyWitness, TotalEffect, Witness
from evalstore.diff.judge_replies import find_reply
from evalstore.diff.question_references import ReferenceReaders
from evalstore.diff.references import ArtifactLoader, import_reference
from evalstore.diff.settings import ComparisonSettings
from evalstore.diff.witness import Replay
from evalstore.model import Artifact, Output
from evalstore.versions import Bump, bump_version, find_version

# References within references are followed so deep.
_DEPTH_LIMIT = 4


def compare(  # noqa: PLR0913  # two sides, and what is known beside them
    old: Artifact | Mapping[str, Any],
    new: Artifact | Mapping[str, Any],
    *,
    load: ArtifactLoader | None = None,
    rows: DatasetRows | None = None,
    terms: ComparisonSettings | None = None,
    detail: Detail = Detail.WITNESSES,
) -> Diff:
    """Return what changed between two artifacts (or plain mappings), and which bump that needs.

    `load` reads what a reference names, so that a moved pin imports exactly the other artifact's change; without it a
    moved pin is major. `rows` are the rows, old and new, of a dataset that keeps them in a file beside it. `terms` are
    what the store says of changes: a profile, declarations, overrides, and what people accepted. `detail` leaves out
    what nobody is going to look at.
    """
    terms = terms or ComparisonSettings()
    # An override of one direction alone needs the directions.
    detail = Detail.FINDINGS if detail is Detail.BUMP and any(":" in name for name in terms.overrides) else detail
    return _Comparison(load, terms, detail=detail).run(old, new, rows)


@dataclass(slots=True)
class _Comparison:
    """One comparison and those of the references within it, each pair of artifacts once."""

    load: ArtifactLoader | None
    settings: ComparisonSettings
    depth: int = 0
    detail: Detail = Detail.WITNESSES
    diffs: dict[tuple[str, str], Diff] = field(default_factory=dict)

    def run(self, old: Any, new: Any, rows: DatasetRows | None = None) -> Diff:
        sides = (read_document(old), read_document(new))
        # Facts: the edits that lead from one document to the other, as the rule set knows them.
        changes = self._list_changes(sides, rows)
        # What a reference names, and the checks that read a question's reference, say what their change does.
        changes = self._follow_references(changes)
        # Another digest under one version would be a second document of that name, so spelling alone is a change.
        changes = changes or list(find_spelling_change(sides))
        # All that the checks can answer: what each edit does, and all of them together.
        effect = None
        if self._needs_effects(changes):
            changes, effect = attach_effects(changes, self.load)
        # Judgement: every change becomes the finding of its rule.
        findings = [build_finding(change, sides, self.settings) for change in changes]
        # Evidence: outputs that move, graded under both rubrics.
        replay = self._prepare_replay(changes)
        findings = _add_witnesses(changes, findings, replay) if self.detail is Detail.WITNESSES else findings
        total = _find_total(changes, findings, effect, replay)
        findings = number_duplicates(group_under_combine(changes, findings))
        # Levels: the settings' overrides, and what people accepted.
        findings = [apply_level_settings(finding, self.settings) for finding in findings]
        return self._summarise(sides, findings, total)

    def _needs_effects(self, changes: list[Change]) -> bool:
        """Whether to find out what the checks can answer: for a bump, where that may still lower a major change."""
        if self.detail is not Detail.BUMP:
            return self.detail is not Detail.RULES
        levels = (classify(change, self.settings.profile, self.settings.rule_set).level for change in changes)
        return any(level is Bump.MAJOR for level in levels)

    def _list_changes(self, sides: Sides, rows: DatasetRows | None) -> list[Change]:
        rule_set, renames = self.settings.rule_set, self.settings.renames.get(sides[1].name, {})
        changes = find_changes(sides, rows, renames=renames, load=self.load, rule_set=rule_set)
        known = (restrict_to_rule_set(change, rule_set) for change in changes)
        return [apply_declarations(change, self.settings, renames) for change in known]

    def _follow_references(self, changes: list[Change]) -> list[Change]:
        readers = ReferenceReaders(self.load, self._compare_written)
        locked = self.settings.locked
        imported = (import_reference(change, self.load, self._compare_artifacts, locked) for change in changes)
        return [readers.trace_change(change) for change in imported]

    def _compare_artifacts(self, old: Artifact, new: Artifact) -> Diff:
        pair = (old.digest, new.digest)
        if pair not in self.diffs:
            load = self.load if self.depth + 1 < _DEPTH_LIMIT else None
            # What a pin imports is shown with its witnesses, unless only its bump counts.
            detail = Detail.BUMP if self.detail is Detail.BUMP else Detail.WITNESSES
            inner = _Comparison(load, self.settings.without_opinions, self.depth + 1, detail, self.diffs)
            self.diffs[pair] = inner.run(old, new)
        return self.diffs[pair]

    def _compare_written(self, old: Mapping[str, Any], new: Mapping[str, Any], most: Detail) -> Diff:
        detail = Detail.BUMP if self.detail is Detail.BUMP else most
        return _Comparison(None, self.settings.without_opinions, detail=detail).run(old, new)

    def _prepare_replay(self, changes: list[Change]) -> Replay | None:
        states = [state for change in changes if change.before for state in change.states]
        if not states or self.detail is not Detail.WITNESSES:
            return None
        return Replay(states[0], states[-1], self.load, partial(list_possible_scores, load=self.load))

    def _summarise(self, sides: Sides, findings: list[DiffFinding], total: TotalEffect) -> Diff:
        bump = max((finding.level for finding in findings), default=Bump.NONE)
        version = find_version(str(sides[0].value.get("version", "")))
        return Diff(
            old=sides[0].side,
            new=sides[1].side,
            required_bump=bump,
            next_version=str(bump_version(version, bump)) if version and bump else None,
            findings=tuple(findings),
            total=total,
            rule_set=self.settings.rule_set,
            profile=self.settings.profile,
        )


def _add_witnesses(changes: list[Change], findings: list[DiffFinding], replay: Replay | None) -> list[DiffFinding]:
    """Give each finding that can move a score or a verdict an output or a reply that moves, where one is found."""
    return [
        _show_witness(finding, _find_witness(change, finding, replay)) if _may_move_output(finding) else finding
        for change, finding in zip(changes, findings, strict=True)
    ]


def _show_witness(finding: DiffFinding, witness: Witness | ReplyWitness | None) -> DiffFinding:
    # A reply that was read under both sides is no assumption: the edit moves it.
    shown = isinstance(witness, ReplyWitness) and finding.certainty is Certainty.ASSUMED
    return replace(finding, witness=witness, certainty=Certainty.PROVED if shown else finding.certainty)


def _find_witness(change: Change, finding: DiffFinding, replay: Replay | None) -> Witness | ReplyWitness | None:
    """Return a reply for an edit of a judge; for one of a question's reference, what its only edited check shows."""
    if change.judges:
        return find_reply(change)
    if change.before:
        return replay.find(change, finding.direction) if replay else None
    if change.question is None or change.imported_diff is None or len(change.imported_diff.findings) != 1:
        return None
    return change.imported_diff.findings[0].witness


def _find_total(
    changes: list[Change], findings: list[DiffFinding], effect: RubricEffect | None, replay: Replay | None
) -> TotalEffect:
    """Return what all edits do together, with an output that moves where one is found."""
    total = join_effects(changes, findings, effect)
    if replay is None or {total.direction, total.verdict_direction} == {Direction.NONE}:
        return total
    shown = [finding.witness for finding in findings if isinstance(finding.witness, Witness)]
    outputs = [Output(witness.output, witness.tool_calls) for witness in shown]
    return replace(total, witness=replay.find_total(effect, outputs, total.direction))


def _may_move_output(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR and {finding.direction, finding.verdict_direction} != {Direction.NONE}
