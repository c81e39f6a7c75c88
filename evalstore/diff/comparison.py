"""Compares two documents: finds the changes, judges each, and adds up the bump."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evalstore.diff.built_findings import (
    build_finding,
    build_level_finding,
    group_under_combine,
    lift_value_findings,
    number_duplicates,
)
from evalstore.diff.change import NOTHING_SHOWN, Change, Decision, MovingEdits, Proof, RubricEffect
from evalstore.diff.changes.by_kind import DatasetRows, find_changes
from evalstore.diff.changes.spelling import find_spelling_change
from evalstore.diff.classify import (
    RuledLevel,
    classify,
    find_directions,
    judge_change,
    restrict_to_rule_set,
)
from evalstore.diff.document import Sides, read_document
from evalstore.diff.effects.scoring_edits import is_scoring_edit, list_scoring_edits
from evalstore.diff.evidence import (
    add_witnesses,
    find_moving_edits,
    find_total,
    measure_examples,
    prepare_replay,
    show_moving_edits,
)
from evalstore.diff.findings import Certainty, Detail, Diff, DiffFinding, Direction, TotalEffect
from evalstore.diff.limits import COMPARED
from evalstore.diff.question_comparison import QuestionComparison
from evalstore.diff.references import ArtifactLoader, import_reference
from evalstore.diff.settings import SETTINGS_FILE, ComparisonSettings
from evalstore.model import Artifact
from evalstore.model.question_ids import list_later_ids
from evalstore.versions import Bump, bump_version, find_version

if TYPE_CHECKING:
    from evalstore.checks import CheckContext

_DECLARED_COSMETIC = Proof(
    f"{SETTINGS_FILE} declares it cosmetic: nothing reads it",
    certainty=Certainty.BY_DEFINITION,
    declared="cosmetic",
)
_DECLARED_RENAME = Proof(
    f"{SETTINGS_FILE} lists it under renames",
    Bump.MINOR,
    certainty=Certainty.BY_DEFINITION,
    declared="renames",
)
_CANCELLED = Proof(
    "the other edits take it back: all together move no score and no verdict", Bump.MINOR
)
_NEEDS_OTHERS = Decision(
    Certainty.BY_DEFINITION, "by itself it moves no score, together with the other edits it does"
)
_FOR_BUMPS = frozenset({Detail.LEVELS, Detail.BUMP})
# From the least detail to the most.
_RANKED = (Detail.RULES, Detail.LEVELS, Detail.BUMP, Detail.FINDINGS, Detail.WITNESSES)
_UNKNOWN = TotalEffect(Direction.EITHER, Direction.EITHER, None, None)


def _attach_effects(
    changes: list[Change], load: ArtifactLoader | None, moving: MovingEdits
) -> tuple[list[Change], RubricEffect | None]:
    # Imported late, because most comparisons contain no edit of scoring.
    from evalstore.diff.effects.edits import attach_effects

    return attach_effects(changes, load, moving)


def apply_declarations(
    change: Change, settings: ComparisonSettings, renames: Mapping[str, str]
) -> Change:
    """Return the change with a proof, if the store's settings declare the change."""
    if change.rule == "extension-field-changed" and change.name in settings.cosmetic:
        return replace(change, proof=_DECLARED_COSMETIC)
    if change.rule == "question-id-renamed" and change.new in list_later_ids(renames, change.old):
        return replace(change, proof=_DECLARED_RENAME)
    return change


def apply_level_settings(finding: DiffFinding, settings: ComparisonSettings) -> DiffFinding:
    """Return the finding at its final level: by the rule, an override and an acceptance."""
    finding = _override_level(finding, settings.overrides)
    accepted = settings.accepted.get(finding.fingerprint)
    # An acceptance does not cover a level above the one that people accepted.
    if accepted is None or not accepted.level < finding.level <= accepted.was:
        return finding
    return replace(finding, level=accepted.level, accepted=accepted)


def _override_level(finding: DiffFinding, overrides: Mapping[str, Bump]) -> DiffFinding:
    # `<rule>:<direction>` wins over `<rule>`. If the score does not move, the direction is that of
    # the verdict.
    moves = finding.verdict_direction if finding.direction is Direction.NONE else finding.direction
    name = next(
        (name for name in (f"{finding.rule}:{moves}", finding.rule) if name in overrides), None
    )
    if name is None or overrides[name] is finding.level:
        return finding
    return replace(finding, level=overrides[name], overridden=name)


def compare(  # noqa: PLR0913  # two sides, and what is known about them
    old: Artifact | Mapping[str, Any],
    new: Artifact | Mapping[str, Any],
    *,
    load: ArtifactLoader | None = None,
    rows: DatasetRows | None = None,
    settings: ComparisonSettings | None = None,
    detail: Detail = Detail.WITNESSES,
    replies: CheckContext | None = None,
) -> Diff:
    """Return what changed between two artifacts (or plain mappings), and which bump that needs.

    `load` reads what a reference names, so that a moved pin imports exactly the other artifact's
    changes; without it, a moved pin is major. `rows` are the old and new rows of a dataset that
    keeps them in a separate file. `settings` say how the store judges changes: a profile,
    declarations, overrides and acceptances. `detail` says how much of the result is needed.
    `replies` says how judges answer about examples (`ask`, `model`).
    """
    settings = settings or ComparisonSettings()
    # An override of one direction alone needs the directions.
    if detail in _FOR_BUMPS and any(":" in name for name in settings.overrides):
        detail = Detail.FINDINGS
    # Acceptances need fingerprints. Overrides need the real rule, and for a question's value that
    # is a rule of the check's kind.
    elif detail is Detail.LEVELS and (settings.accepted or settings.overrides):
        detail = Detail.BUMP
    return _Comparison(load, settings, detail=detail, replies=replies).run(old, new, rows)


@dataclass(slots=True)
class _Comparison:
    """One comparison, and those of the references in it; each pair of artifacts is compared once.

    `invents`: questions may be invented to find a witness.
    """

    load: ArtifactLoader | None
    settings: ComparisonSettings
    depth: int = 0
    detail: Detail = Detail.WITNESSES
    replies: CheckContext | None = None
    invents: bool = True
    diffs: dict[tuple[str, str], Diff] = field(default_factory=dict)

    def run(self, old: Any, new: Any, rows: DatasetRows | None = None) -> Diff:
        sides = (read_document(old), read_document(new))
        # Facts: the edits that lead from one document to the other, as the rule set knows them.
        changes = self._list_changes(sides, rows)
        # The effect of a changed reference comes from the artifact that it names; that of a changed
        # question comes from the checks that read it.
        changes = self._follow_references(changes)
        # Spelling alone is a change, because it changes the digest, and one version must not have
        # two digests.
        changes = changes or list(find_spelling_change(sides))
        # Effects: what each edit does, and all together, given all that the checks can answer.
        effect, moving = None, NOTHING_SHOWN
        edits = list_scoring_edits(changes)
        if edits and self.detail in _FOR_BUMPS:
            moving = self._find_moving_edits(changes, edits, sides)
        if edits and self._needs_effects(changes, moving):
            changes, effect = _attach_effects(changes, self.load, moving)
            changes = self._cancel_edits(changes, effect)
        if (effect is None or effect.moves) and not any(map(self._is_major, changes)):
            changes = self._follow_steps(changes)
        # Findings: every change becomes the finding of its rule.
        if self.detail is Detail.LEVELS:
            findings = [build_level_finding(change, self.settings) for change in changes]
            findings = show_moving_edits(findings, moving)
            findings, total = group_under_combine(changes, findings), _UNKNOWN
        else:
            findings = [build_finding(change, sides, self.settings) for change in changes]
            findings = show_moving_edits(findings, moving)
            # Evidence: outputs whose score moves, graded under both rubrics.
            replay = (
                prepare_replay(changes, sides, self.load, invents=self.invents)
                if self.detail is Detail.WITNESSES
                else None
            )
            findings = (
                add_witnesses(changes, findings, replay)
                if self.detail is Detail.WITNESSES
                else findings
            )
            steps = self._judge_steps(changes, findings)
            total = find_total(steps, findings, effect, replay)
            # Only a rubric has a combine mode, and only a dataset has questions, so at most one of
            # these two has anything to do.
            findings = group_under_combine(changes, list(lift_value_findings(changes, findings)))
            findings = number_duplicates(findings)
        # Levels: the overrides and acceptances of the settings.
        findings = [apply_level_settings(finding, self.settings) for finding in findings]
        diff = self._summarise(sides, findings, total)
        is_shown = self.detail is Detail.WITNESSES and not self.depth
        return (
            replace(diff, examples=measure_examples(sides, self.load, self.replies))
            if is_shown
            else diff
        )

    def _cancel_edits(self, changes: list[Change], effect: RubricEffect | None) -> list[Change]:
        """Return the changes, with a proof for those that move a score alone but not together."""
        if effect is None or effect.moves:
            return changes
        return [replace(one, proof=_CANCELLED) if self._is_major(one) else one for one in changes]

    def _follow_steps(self, changes: list[Change]) -> list[Change]:
        """Return the edits as made one after the other: alone they may move nothing, but not so."""
        steps = [change.step for change in changes]
        if not any(map(self._is_major, steps)):
            return changes
        steps, _ = _attach_effects(steps, self.load, NOTHING_SHOWN)
        return [
            replace(one, decision=one.decision or _NEEDS_OTHERS) if self._is_major(one) else one
            for one in steps
        ]

    def _judge_steps(
        self, changes: list[Change], findings: list[DiffFinding]
    ) -> list[tuple[Change, DiffFinding]]:
        """Return the edits as made one after the other, each with its finding in that position."""
        return [
            (change, finding) if change.made is None else (change.step, self._classify(change.step))
            for change, finding in zip(changes, findings, strict=True)
        ]

    def _is_major(self, change: Change) -> bool:
        """Whether a change is an edit of scoring, and major by its rule."""
        if change.before is None or not is_scoring_edit(*change.states):
            return False
        return self._judge(change).level is Bump.MAJOR

    def _find_moving_edits(
        self, changes: list[Change], edits: list[int], sides: Sides
    ) -> MovingEdits:
        """Return the edits that one of a few outputs proves to be major, which a bump needs."""
        majors: dict[int, Direction] = {}
        for index in edits:
            rule, proof, level = self._judge(changes[index])
            if level is Bump.MAJOR and proof is None:
                majors[index] = find_directions(changes[index], rule)[0]
        replay = prepare_replay(changes, sides, self.load, invents=False)
        return find_moving_edits(changes, edits, majors, replay)

    def _needs_effects(self, changes: list[Change], moving: MovingEdits) -> bool:
        """Whether the effects are needed; for a bump, only if they may lower a major change."""
        if self.detail not in _FOR_BUMPS:
            return self.detail is not Detail.RULES
        shown = moving.alone if moving.together else {}
        open_ = [change for index, change in enumerate(changes) if index not in shown]
        return any(self._judge(change).level is Bump.MAJOR for change in open_)

    def _judge(self, change: Change) -> RuledLevel:
        return judge_change(change, self.settings.profile, self.settings.rule_set)

    def _classify(self, change: Change) -> DiffFinding:
        return classify(change, self.settings.profile, self.settings.rule_set)

    def _list_changes(self, sides: Sides, rows: DatasetRows | None) -> list[Change]:
        rule_set, renames = self.settings.rule_set, self.settings.renames.get(sides[1].name, {})
        changes = find_changes(sides, rows, renames=renames, load=self.load, rule_set=rule_set)
        known = (restrict_to_rule_set(change, rule_set) for change in changes)
        return [apply_declarations(change, self.settings, renames) for change in known]

    def _follow_references(self, changes: list[Change]) -> list[Change]:
        questions = QuestionComparison(self.load, self._compare_filled)
        locked = self.settings.locked
        compare = self._compare_artifacts
        imported = (import_reference(change, self.load, compare, locked) for change in changes)
        return [*map(questions.trace_change, imported)]

    def _compare_artifacts(self, old: Artifact, new: Artifact) -> Diff:
        pair = (old.digest, new.digest)
        if pair not in self.diffs:
            load = self.load if self.depth + 1 < COMPARED.nested_references else None
            # The changes that a pin imports are shown with witnesses, unless only the bump counts.
            detail = Detail.BUMP if self.detail in _FOR_BUMPS else Detail.WITNESSES
            inner = _Comparison(
                load, self.settings.without_opinions, self.depth + 1, detail, diffs=self.diffs
            )
            self.diffs[pair] = inner.run(old, new)
        return self.diffs[pair]

    def _compare_filled(self, old: Mapping[str, Any], new: Mapping[str, Any], most: Detail) -> Diff:
        """Compare two rubrics that are filled for one question; no question is invented."""
        wanted = Detail.BUMP if self.detail is Detail.LEVELS else self.detail
        detail = min(wanted, most, key=_RANKED.index)
        settings = self.settings.without_opinions
        inner = _Comparison(
            self.load, settings, self.depth + 1, detail, invents=False, diffs=self.diffs
        )
        return inner.run(old, new)

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
