"""Names each edit of a rubric after the findings of the diff that mean its part; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.audits.check_matching import CheckNames
from evalstore.audits.edits.rubric_edits import Edit, RubricPart
from evalstore.audits.values import EditSource, Origin
from evalstore.diff import DiffFinding

_FALLBACK_RULES = {
    "weight": "check-weight-changed",
    "required": "scoring-required-changed",
    "combine": "scoring-combine-changed",
    "missing": "scoring-missing-policy-changed",
    "errors": "scoring-errors-policy-changed",
    "threshold": "scoring-threshold-changed",
    "verdict": "scoring-verdict-changed",
}
_UNKNOWN_RULE = "unclassified-change"
_SCORING_AREAS = {"weights": "weight", "required": "required"}
_PART_LABELS = {
    "check": "check {0.name}",
    "param": "{0.name}: {0.key}",
    "item": "{0.name}: {0.item!r}",
    "weight": "weight of {0.name}",
    "required": "required {0.name}",
    "scoring": "scoring.{0.name}",
}


@dataclass(frozen=True, slots=True)
class RubricSide:
    """One version of a rubric: its checks as written, and their ids.

    `names` are the names of these ids along the path.
    """

    checks: Sequence[Mapping[str, Any]]
    ids: Sequence[str]
    names: CheckNames


@dataclass(frozen=True, slots=True)
class VersionStep:
    """The step from one version to the next: its origin, the diff's findings, and both versions."""

    origin: Origin
    findings: Sequence[DiffFinding]
    old: RubricSide
    new: RubricSide


def name_edits(
    step: VersionStep, edits: Sequence[Edit]
) -> tuple[dict[RubricPart, EditSource], tuple[EditSource, ...]]:
    """Return the source of each part edited in a step, and the findings that move nothing."""
    # Three passes, the strongest first: findings that point at the part, at its whole check, or at
    # its new wording.
    edited = {edit.part for edit in edits}
    meanings = [(finding, _find_meant_parts(step, finding, edited)) for finding in step.findings]
    sources: dict[RubricPart, EditSource] = {}
    used_findings: set[str] = set()
    for edit in edits:
        part = edit.part
        matches = [finding for finding, parts in meanings if part in parts]
        matches = matches or [
            finding for finding, parts in meanings if _is_near(step, finding, part) and not parts
        ]
        matches = matches or [
            finding for finding, parts in meanings if _is_rewording_of(finding, part, parts)
        ]
        sources[part] = _build_source(step.origin, edit, matches)
        # An edit without a finding is a step by a rule; a finding of that rule is then not a second
        # edit.
        used_findings |= {finding.fingerprint for finding in matches} or set(sources[part].rules)
    silent = (one for one in step.findings if used_findings.isdisjoint([one.fingerprint, one.rule]))
    return sources, tuple(_build_silent_source(step.origin, one) for one in silent)


def _build_silent_source(origin: Origin, finding: DiffFinding) -> EditSource:
    return EditSource(finding.rule, origin, finding.pointer, (finding.rule,), finding.message)


def _build_source(origin: Origin, edit: Edit, findings: Sequence[DiffFinding]) -> EditSource:
    label = _PART_LABELS[edit.part.area].format(edit.part)
    if not findings:
        rule = _choose_fallback_rule(edit)
        return EditSource(rule, origin, label, (rule,))
    # The strongest finding names the edit; the others are listed next to it.
    ranked = sorted(findings, key=lambda finding: finding.level, reverse=True)
    rules = tuple(dict.fromkeys(finding.rule for finding in ranked))
    message = "; ".join(finding.message for finding in ranked)
    return EditSource(rules[0], origin, label, rules, message, tuple(ranked))


def _choose_fallback_rule(edit: Edit) -> str:
    part = edit.part
    if part.area == "check" and edit.before is None:
        return "check-added"
    if part.area == "check":
        return "check-removed" if edit.after is None else _UNKNOWN_RULE
    return _FALLBACK_RULES.get(part.name if part.area == "scoring" else part.area, _UNKNOWN_RULE)


def _find_meant_parts(
    step: VersionStep, finding: DiffFinding, edited: set[RubricPart]
) -> set[RubricPart]:
    """Return the edited parts that a finding's pointer means: the most specific ones."""
    groups = (edited & group for group in _list_part_groups(step, finding))
    return next((group for group in groups if group), set())


def _list_part_groups(step: VersionStep, finding: DiffFinding) -> Iterator[set[RubricPart]]:
    """Yield the parts that a finding's pointer can mean, most specific first."""
    area, *rest = _split_pointer(finding)
    # /scoring/weights/<check>, /scoring/required: one check, or all of them.
    if area == "scoring" and rest and rest[0] in _SCORING_AREAS:
        names = {**step.old.names, **step.new.names}
        some = names.values() if len(rest) == 1 or rest[1] not in names else [names[rest[1]]]
        yield {RubricPart(_SCORING_AREAS[rest[0]], name) for name in some}
    elif area == "scoring" and rest:
        yield {RubricPart("scoring", rest[0])}
    elif name := _find_check_name(step, finding):
        key, *at = [*rest[1:], ""]
        # /checks/<n>/values/<m>: the item at that place, then the whole parameter, then the whole
        # check.
        items = _choose_side(step, finding).checks[int(rest[0])].get(key)
        if isinstance(items, list) and at[0].isdigit():
            yield {RubricPart("item", name, key, str(items[int(at[0])]))}
        yield {RubricPart("param", name, key)}
        yield {RubricPart("check", name)}


def _is_near(step: VersionStep, finding: DiffFinding, part: RubricPart) -> bool:
    """Whether a finding points at the whole check of a part.

    The key of the part is then absent from both sides.
    """
    return (
        part.area in {"param", "item"}
        and len(_split_pointer(finding)) == 2  # noqa: PLR2004  # /checks/<n>
        and _find_check_name(step, finding) == part.name
    )


def _is_rewording_of(finding: DiffFinding, part: RubricPart, parts: set[RubricPart]) -> bool:
    """Whether a finding about a reworded item also means this old one.

    The finding points at the new one.
    """
    return finding.rule == "phrase-reworded" and any(part[:3] == other[:3] for other in parts)


def _find_check_name(step: VersionStep, finding: DiffFinding) -> str | None:
    area, *rest = _split_pointer(finding)
    side = _choose_side(step, finding)
    if area != "checks" or not rest or not rest[0].isdigit() or int(rest[0]) >= len(side.ids):
        return None
    return side.names[side.ids[int(rest[0])]]


def _choose_side(step: VersionStep, finding: DiffFinding) -> RubricSide:
    # A finding without a new value is about something removed, so its pointer leads into the old
    # version.
    return step.old if finding.new is None else step.new


def _split_pointer(finding: DiffFinding) -> list[str]:
    return finding.pointer.split("/")[1:] or [""]
