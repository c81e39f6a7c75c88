"""Adjusts changes and findings as the settings of a comparison say: declarations, overrides and acceptances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.dataset import follow_renames
from evalstore.diff.findings import Certainty, DiffFinding, Direction
from evalstore.diff.settings import SETTINGS_FILE, ComparisonSettings
from evalstore.versions import Bump

_DECLARED_COSMETIC = Proof(
    f"{SETTINGS_FILE} declares it cosmetic: nothing reads it", certainty=Certainty.BY_DEFINITION, declared="cosmetic"
)
_DECLARED_RENAME = Proof(
    f"{SETTINGS_FILE} lists it under renames", Bump.MINOR, certainty=Certainty.BY_DEFINITION, declared="renames"
)


def apply_declarations(change: Change, terms: ComparisonSettings, renames: Mapping[str, str]) -> Change:
    """Return the change with the proof that a declaration gives it, where there is one."""
    if change.rule == "extension-field-changed" and change.name in terms.cosmetic:
        return replace(change, proof=_DECLARED_COSMETIC)
    if change.rule == "question-id-renamed" and change.new in follow_renames(renames, change.old):
        return replace(change, proof=_DECLARED_RENAME)
    return change


def apply_level_settings(finding: DiffFinding, terms: ComparisonSettings) -> DiffFinding:
    """Return the finding at its level: the rule's, then the settings' override, then what people accepted."""
    finding = _override_level(finding, terms.overrides)
    accepted = terms.accepted.get(finding.fingerprint)
    # An acceptance of major as minor covers no level above the one that was looked at.
    if accepted is None or not accepted.level < finding.level <= accepted.was:
        return finding
    return replace(finding, level=accepted.level, accepted=accepted)


def _override_level(finding: DiffFinding, overrides: Mapping[str, Bump]) -> DiffFinding:
    # `<rule>:<direction>` wins over `<rule>`; where the score stays, the direction is that of the verdict.
    moves = finding.verdict_direction if finding.direction is Direction.NONE else finding.direction
    name = next((name for name in (f"{finding.rule}:{moves}", finding.rule) if name in overrides), None)
    if name is None or overrides[name] is finding.level:
        return finding
    return replace(finding, level=overrides[name], overridden=name)
