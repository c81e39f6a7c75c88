"""Which finding of the diff speaks of which edit: by pointer; an edit that no finding names is called by its part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.audit.edits import Names, Part
from evalstore.audit.values import Origin, Source
from evalstore.diff import DiffFinding

_RULES = {
    "weight": "check-weight-changed",
    "required": "scoring-required-changed",
    "combine": "scoring-combine-changed",
    "missing": "scoring-missing-policy-changed",
    "errors": "scoring-errors-policy-changed",
}
_AREAS = {"weights": "weight", "required": "required"}
_WORDS = {"check": "check {}", "weight": "weight of {}", "required": "gate {}", "scoring": "scoring.{}"}


@dataclass(frozen=True, slots=True)
class Step:
    """One version to the next: where it came from, what the diff found, and the checks' names by place, old and new."""

    origin: Origin
    findings: Sequence[DiffFinding]
    ids: tuple[Names, Names]
    places: tuple[Sequence[str], Sequence[str]]


def name_edits(step: Step, edits: Mapping[Part, tuple[Any, Any]]) -> tuple[dict[Part, Source], tuple[Source, ...]]:
    """Return the source of each part edited in a step (given before and after), and the findings that move nothing."""
    meant = [(finding, set(_parts(step, finding))) for finding in step.findings]
    sources = {
        part: _source(step.origin, part, [finding for finding, parts in meant if part in parts], values)
        for part, values in edits.items()
    }
    silent = (finding for finding, parts in meant if not parts & edits.keys())
    return sources, tuple(_silent(step.origin, finding) for finding in silent)


def _source(origin: Origin, part: Part, findings: Sequence[DiffFinding], values: tuple[Any, Any]) -> Source:
    word = _WORDS[part.area].format(part.name)
    if not findings:
        return Source(_fallback(part, *values), origin, word)
    ranked = sorted(findings, key=lambda finding: -finding.level)
    rules = tuple(dict.fromkeys(finding.rule for finding in ranked))
    return Source(rules[0], origin, word, rules, "; ".join(finding.message for finding in ranked))


def _silent(origin: Origin, finding: DiffFinding) -> Source:
    return Source(finding.rule, origin, finding.pointer, (finding.rule,), finding.message)


def _fallback(part: Part, before: Any, after: Any) -> str:
    if part.area == "check":
        return "check-added" if before is None else "check-removed" if after is None else "unclassified-change"
    return _RULES[part.name if part.area == "scoring" else part.area]


def _parts(step: Step, finding: DiffFinding) -> Iterator[Part]:
    """Yield the parts of a rubric that a finding's pointer can mean."""
    area, *rest = finding.pointer.split("/")[1:] or [""]
    if area == "checks" and rest:
        names = step.places[0 if finding.new is None else 1]
        if rest[0].isdigit() and int(rest[0]) < len(names):
            yield Part("check", names[int(rest[0])])
    elif area == "scoring" and rest and rest[0] in _AREAS:
        every = {id_: name for ids in step.ids for id_, name in ids.items()}
        some = every.values() if len(rest) == 1 or rest[1] not in every else [every[rest[1]]]
        yield from (Part(_AREAS[rest[0]], name) for name in some)
    elif area == "scoring" and rest:
        yield Part("scoring", rest[0])
