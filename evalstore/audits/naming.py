"""Which finding of the diff speaks of which edit: by pointer; an edit that no finding names is called by its part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.audits.edits import SETS, Part
from evalstore.audits.lineage import Names
from evalstore.audits.values import Origin, Source
from evalstore.diff import DiffFinding

_RULES = {
    "weight": "check-weight-changed",
    "required": "scoring-required-changed",
    "combine": "scoring-combine-changed",
    "missing": "scoring-missing-policy-changed",
    "errors": "scoring-errors-policy-changed",
}
_UNKNOWN = "unclassified-change"
_AREAS = {"weights": "weight", "required": "required"}
_WORDS = {
    "check": "check {0.name}",
    "param": "{0.name}: {0.key}",
    "item": "{0.name}: {0.item!r}",
    "weight": "weight of {0.name}",
    "required": "gate {0.name}",
    "scoring": "scoring.{0.name}",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One version of a rubric: its checks as written, and the names that their ids have along the way."""

    checks: Sequence[Mapping[str, Any]]
    ids: Sequence[str]
    names: Names


@dataclass(frozen=True, slots=True)
class Step:
    """One version to the next: where it came from, what the diff found, and both versions."""

    origin: Origin
    findings: Sequence[DiffFinding]
    old: Side
    new: Side


def name_edits(step: Step, edits: Mapping[Part, tuple[Any, Any]]) -> tuple[dict[Part, Source], tuple[Source, ...]]:
    """Return the source of each part edited in a step (given before and after), and the findings that move nothing."""
    meant = [(finding, _meant(step, finding, edits)) for finding in step.findings]
    sources: dict[Part, Source] = {}
    claimed: set[str] = set()
    for part, values in edits.items():
        fits = [finding for finding, parts in meant if part in parts]
        fits = fits or [finding for finding, parts in meant if _near(step, finding, part) and not parts]
        fits = fits or [finding for finding, parts in meant if _reworded(finding, part, parts)]
        sources[part] = _source(step.origin, part, fits, values)
        # An edit that went without a finding is called by a rule, and that rule's finding is then no second edit.
        claimed |= {finding.fingerprint for finding in fits} or set(sources[part].rules)
    silent = (one for one in step.findings if one.fingerprint not in claimed and one.rule not in claimed)
    return sources, tuple(Source(one.rule, step.origin, one.pointer, (one.rule,), one.message) for one in silent)


def _source(origin: Origin, part: Part, findings: Sequence[DiffFinding], values: tuple[Any, Any]) -> Source:
    word = _WORDS[part.area].format(part)
    if not findings:
        rule = _fallback(part, *values)
        return Source(rule, origin, word, (rule,))
    ranked = sorted(findings, key=lambda finding: finding.level, reverse=True)
    rules = tuple(dict.fromkeys(finding.rule for finding in ranked))
    return Source(rules[0], origin, word, rules, "; ".join(finding.message for finding in ranked))


def _fallback(part: Part, before: Any, after: Any) -> str:
    if part.area == "check":
        return "check-added" if before is None else "check-removed" if after is None else _UNKNOWN
    return _RULES.get(part.name if part.area == "scoring" else part.area, _UNKNOWN)


def _meant(step: Step, finding: DiffFinding, edits: Mapping[Part, Any]) -> set[Part]:
    """Return the edited parts that a finding's pointer means: the closest that there are."""
    groups = (edits.keys() & group for group in _groups(step, finding))
    return next((group for group in groups if group), set())


def _groups(step: Step, finding: DiffFinding) -> Iterator[set[Part]]:
    """Yield what a finding's pointer can mean, the closest part first."""
    area, *rest = _path(finding)
    if area == "scoring" and rest and rest[0] in _AREAS:
        every = {**step.old.names, **step.new.names}
        some = every.values() if len(rest) == 1 or rest[1] not in every else [every[rest[1]]]
        yield {Part(_AREAS[rest[0]], name) for name in some}
    elif area == "scoring" and rest:
        yield {Part("scoring", rest[0])}
    elif name := _check_name(step, finding):
        key, *at = [*rest[1:], ""]
        if key in SETS and at[0].isdigit():
            yield {Part("item", name, key, str(_side(step, finding).checks[int(rest[0])][key][int(at[0])]))}
        yield {Part("param", name, key)}
        yield {Part("check", name)}


def _near(step: Step, finding: DiffFinding, part: Part) -> bool:
    """Whether a finding points at the whole check of a part: what it speaks of is written on neither side."""
    return part.area in {"param", "item"} and len(_path(finding)) == 2 and _check_name(step, finding) == part.name  # noqa: PLR2004  # /checks/<n>


def _reworded(finding: DiffFinding, part: Part, parts: set[Part]) -> bool:
    """Whether a finding of an exchanged item, which points at the new one, also speaks of this old one."""
    return finding.rule == "phrase-reworded" and any(part[:3] == other[:3] for other in parts)


def _check_name(step: Step, finding: DiffFinding) -> str | None:
    area, *rest = _path(finding)
    side = _side(step, finding)
    if area != "checks" or not rest or not rest[0].isdigit() or int(rest[0]) >= len(side.ids):
        return None
    return side.names[side.ids[int(rest[0])]]


def _side(step: Step, finding: DiffFinding) -> Side:
    return step.old if finding.new is None else step.new


def _path(finding: DiffFinding) -> list[str]:
    return finding.pointer.split("/")[1:] or [""]
