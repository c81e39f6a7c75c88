"""Traces the edits between two rubrics to their sources: the diff finding that names each, and its release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.audits.edits.rubric_edits import (
    SETS,
    CheckNames,
    RubricEdits,
    RubricPart,
    find_edits,
    split_versions,
)
from evalstore.audits.edits.version_path import ArtifactVersion, VersionFinder
from evalstore.audits.values import EditSource, Origin
from evalstore.diff import Detail, DiffFinding
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Certainty, Direction
from evalstore.documents.edit import replace_value
from evalstore.errors import EvalstoreError
from evalstore.model import (
    Artifact,
    Check,
    Kind,
    Rubric,
    find_check_pins,
    list_check_ids,
    read_rubric,
)
from evalstore.release.artifact_parts import WHOLE, ArtifactPart, PartTable, read_parts
from evalstore.release.comparison import compare_by_rules
from evalstore.text import make_excerpt


def _keep_name(name: str) -> str:
    return name


def remove_rubric_pins(rubric: Rubric, find_name: Callable[[str], str] = _keep_name) -> Rubric:
    """Return the rubric with the names of what its checks refer to, without pins.

    `find_name` gives the one name of what was renamed.
    """
    return replace(
        rubric, checks=tuple(remove_check_pins(check, find_name) for check in rubric.checks)
    )


def remove_check_pins(check: Check, find_name: Callable[[str], str] = _keep_name) -> Check:
    """Return a check without pins; the second reference to one judge is `judge/<id>#2`, and so on."""
    slots = iter(list_slots(check, find_name))
    return replace_pins(check, lambda _: next(slots)[0])


def list_slots(
    check: Check, find_name: Callable[[str], str] = _keep_name
) -> Iterator[tuple[str, str]]:
    """Yield for each reference of a check its name without the pin (numbered where it repeats) and its text."""
    seen: Counter[str] = Counter()
    for _, ref in find_check_pins((), check.params):
        name = find_name(ref.partition("@")[0])
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), ref


def insert_check_pins(check: Check, tokens: Mapping[str, str]) -> Check:
    """Return a check without pins as one with `tokens`, by the names of its references."""
    return replace_pins(check, lambda name: tokens.get(name, name))


def replace_pins(check: Check, change: Callable[[str], str]) -> Check:
    """Return the check with `change` applied to each of its references, in their order."""
    params: Any = check.params
    for pointer, ref in find_check_pins((), check.params):
        params = replace_value(params, pointer, change(ref))
    return check if params is check.params else replace(check, params=params)


_FALLBACK_RULES = {
    "weight": "check-weight-changed",
    "required": "scoring-required-changed",
    "combine": "scoring-combine-changed",
    "missing": "scoring-missing-policy-changed",
    "errors": "scoring-errors-policy-changed",
    "threshold": "scoring-threshold-changed",
}
_UNKNOWN_RULE = "unclassified-change"
_SCORING_AREAS = {"weights": "weight", "required": "required"}
_PART_LABELS = {
    "check": "check {0.name}",
    "param": "{0.name}: {0.key}",
    "item": "{0.name}: {0.item!r}",
    "weight": "weight of {0.name}",
    "required": "gate {0.name}",
    "scoring": "scoring.{0.name}",
}
_PIN_KEYS = frozenset({"judge_prompt_ref", "rubric_ref", "jury"})
_LONG_KEYS = frozenset(
    {"template", "reply_pattern"}
)  # of a judge: texts of which no line shows what changed
_VALUE = 40
_REPIN_RULE = "question-rubric-ref-changed"


@dataclass(frozen=True, slots=True)
class RubricSide:
    """One version of a rubric: its checks as written, their ids, and the names of these ids along the path."""

    checks: Sequence[Mapping[str, Any]]
    ids: Sequence[str]
    names: CheckNames


@dataclass(frozen=True, slots=True)
class VersionStep:
    """The step from one version to the next: its origin, the findings of the diff, and both versions."""

    origin: Origin
    findings: Sequence[DiffFinding]
    old: RubricSide
    new: RubricSide


def name_edits(
    step: VersionStep, edits: Mapping[RubricPart, tuple[Any, Any]]
) -> tuple[dict[RubricPart, EditSource], tuple[EditSource, ...]]:
    """Return the source of each part edited in a step (given before and after), and the findings that move nothing."""
    # Three passes, the surest first: findings that point at the part, at its whole check, or at its
    # new wording.
    meanings = [(finding, _find_meant_parts(step, finding, edits)) for finding in step.findings]
    sources: dict[RubricPart, EditSource] = {}
    used_findings: set[str] = set()
    for part, values in edits.items():
        matches = [finding for finding, parts in meanings if part in parts]
        matches = matches or [
            finding for finding, parts in meanings if _is_near(step, finding, part) and not parts
        ]
        matches = matches or [
            finding for finding, parts in meanings if _is_rewording_of(finding, part, parts)
        ]
        sources[part] = _build_source(step.origin, part, matches, values)
        # An edit without a finding is steps by a rule; a finding of that rule is then no second
        # edit.
        used_findings |= {finding.fingerprint for finding in matches} or set(sources[part].rules)
    silent = (
        found for found in step.findings if not {found.fingerprint, found.rule} & used_findings
    )
    return sources, tuple(
        EditSource(found.rule, step.origin, found.pointer, (found.rule,), found.message)
        for found in silent
    )


def _build_source(
    origin: Origin, part: RubricPart, findings: Sequence[DiffFinding], values: tuple[Any, Any]
) -> EditSource:
    label = _PART_LABELS[part.area].format(part)
    if not findings:
        rule = _choose_fallback_rule(part, *values)
        return EditSource(rule, origin, label, (rule,))
    # The strongest finding names the edit, the others stand beside it.
    ranked = sorted(findings, key=lambda finding: finding.level, reverse=True)
    rules = tuple(dict.fromkeys(finding.rule for finding in ranked))
    message = "; ".join(finding.message for finding in ranked)
    return EditSource(rules[0], origin, label, rules, message, tuple(ranked))


def _choose_fallback_rule(part: RubricPart, before: Any, after: Any) -> str:
    if part.area == "check":
        return (
            "check-added" if before is None else "check-removed" if after is None else _UNKNOWN_RULE
        )
    return _FALLBACK_RULES.get(part.name if part.area == "scoring" else part.area, _UNKNOWN_RULE)


def _find_meant_parts(
    step: VersionStep, finding: DiffFinding, edits: Mapping[RubricPart, Any]
) -> set[RubricPart]:
    """Return the edited parts that a finding's pointer means: the most specific ones."""
    groups = (edits.keys() & group for group in _list_part_groups(step, finding))
    return next((group for group in groups if group), set())


def _list_part_groups(step: VersionStep, finding: DiffFinding) -> Iterator[set[RubricPart]]:
    """Yield the parts that a finding's pointer can mean, the most specific first."""
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
        if key in SETS and at[0].isdigit():
            yield {
                RubricPart(
                    "item",
                    name,
                    key,
                    str(_choose_side(step, finding).checks[int(rest[0])][key][int(at[0])]),
                )
            }
        yield {RubricPart("param", name, key)}
        yield {RubricPart("check", name)}


def _is_near(step: VersionStep, finding: DiffFinding, part: RubricPart) -> bool:
    """Whether a finding points at the whole check of a part: its key is then written on neither side."""
    return (
        part.area in {"param", "item"}
        and len(_split_pointer(finding)) == 2  # noqa: PLR2004  # /checks/<n>
        and _find_check_name(step, finding) == part.name
    )


def _is_rewording_of(finding: DiffFinding, part: RubricPart, parts: set[RubricPart]) -> bool:
    """Whether a finding about a reworded item, which points at the new one, also means this old one."""
    return finding.rule == "phrase-reworded" and any(part[:3] == other[:3] for other in parts)


def _find_check_name(step: VersionStep, finding: DiffFinding) -> str | None:
    area, *rest = _split_pointer(finding)
    side = _choose_side(step, finding)
    if area != "checks" or not rest or not rest[0].isdigit() or int(rest[0]) >= len(side.ids):
        return None
    return side.names[side.ids[int(rest[0])]]


def _choose_side(step: VersionStep, finding: DiffFinding) -> RubricSide:
    # A finding without a new value is about something removed, so its pointer is into the old
    # version.
    return step.old if finding.new is None else step.new


def _split_pointer(finding: DiffFinding) -> list[str]:
    return finding.pointer.split("/")[1:] or [""]


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The edits between two rubrics, the source of each, and the findings that move nothing."""

    edits: RubricEdits
    sources: Mapping[RubricPart, EditSource]
    silent: tuple[EditSource, ...] = ()


def trace_edits(finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion) -> EditHistory:
    """Return the edits between two versions of one rubric, each with its finding and its release."""
    # Equal content has no edits, whatever its references are.
    if old.resolved.digest == new.resolved.digest:
        return EditHistory(find_edits([_read_unpinned(finder, old)]), {})
    history = _name_history(finder, old, new, finder.find_origins(old, new, [WHOLE])[WHOLE])
    origins = _find_origins(finder, old, new, history.edits)
    return replace(
        history,
        sources={part: replace(one, origin=origins[part]) for part, one in history.sources.items()},
    )


def _name_history(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, origin: Origin
) -> EditHistory:
    """Return the edits between two rubrics, each named by the findings of their diff; all of them have one origin."""
    versions = [_read_unpinned(finder, old), _read_unpinned(finder, new)]
    edits = find_edits(versions)
    before, after = split_versions(versions, edits.names, edits.apart)
    moved = {edit.part: (before.get(edit.part), after.get(edit.part)) for edit in edits.edits}
    step = VersionStep(
        origin=origin,
        findings=_compare_versions(finder, old.resolved.artifact, new.resolved.artifact),
        old=_build_side(old.resolved.artifact, edits.names[0]),
        new=_build_side(new.resolved.artifact, edits.names[-1]),
    )
    return EditHistory(edits, *name_edits(step, dict(sorted(moved.items()))))


def _find_origins(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, edits: RubricEdits
) -> dict[RubricPart, Origin]:
    """Return where each edit comes from: of a check that is one part, the newest of what changed in it."""
    ids = {name: id_ for id_, name in edits.names[-1].items()}
    tables = [
        read_parts(side.resolved.kind, side.resolved.artifact.value) or PartTable()
        for side in (old, new)
    ]
    wanted = {edit.part: _list_artifact_parts(edit.part, ids, *tables) for edit in edits.edits}
    found = finder.find_origins(old, new, {part for parts in wanted.values() for part in parts})
    return {
        part: max((found[one] for one in parts), key=lambda one: one.date or "")
        for part, parts in wanted.items()
    }


def _list_artifact_parts(
    part: RubricPart, ids: Mapping[str, str], old: PartTable, new: PartTable
) -> list[ArtifactPart]:
    """Return the parts whose history is that of an edited part; what a check pins is edited in another file."""
    now = ArtifactPart(*part)._replace(name=ids.get(part.name, part.name))
    if part.area != "check" or now not in new.meanings:
        return [now]
    changed = [
        one
        for one in {**old.meanings, **new.meanings}
        if one.area in {"param", "item"}
        and one.name == now.name
        and one.key not in _PIN_KEYS
        and old.meanings.get(one._replace(name=part.name)) != new.meanings.get(one)
    ]
    return changed if ArtifactPart("check", part.name) in old.meanings and changed else [now]


def trace_repin(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, release: Origin | None
) -> EditHistory:
    """Return the edits of a question that another rubric grades now: what differs between the two rubrics.

    All of them were made by the step of the dataset that exchanged the rubrics, `release`.
    """
    origin = Origin(ref=new.resolved.name, old=old.resolved.ref, new=new.resolved.ref)
    if release:
        origin = replace(release, old=origin.old, new=origin.new)
    history = _name_history(finder, old, new, origin)
    if history.edits.edits:
        sources = {
            part: replace(one, rules=(*one.rules, _REPIN_RULE))
            for part, one in history.sources.items()
        }
        return replace(history, sources=sources)
    message = (
        f"graded by {new.resolved.name} instead of {old.resolved.name}, which differ in nothing "
        "that grades"
    )
    return replace(
        history, silent=(EditSource(_REPIN_RULE, origin, rules=(_REPIN_RULE,), message=message),)
    )


_JUDGE_RULE = "judge-released"
_SHORT_COMMIT = 7


def trace_judge(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, origin: Origin
) -> EditSource:
    """Return what a release of a judge changed, edit by edit; where several people did it, each with their commit.

    All of it has one share, for nobody is asked as a judge that never existed; `origin` is that of
    the whole step.
    """
    tables = [
        read_parts(Kind.JUDGE, side.resolved.artifact.value) or PartTable() for side in (old, new)
    ]
    before, after = (table.meanings for table in tables)
    changed = [
        part
        for part in {**before, **after}
        if part.area == "key" and before.get(part) != after.get(part)
    ]
    origins = finder.find_origins(old, new, changed) if changed else {}
    makers = dict.fromkeys((found.commit, found.author) for found in origins.values())
    if len(makers) == 1:
        origin = next(iter(origins.values()))
    edits = [
        _describe_judge_edit(part, before.get(part), after.get(part))
        + (_sign_edit(origins[part]) if len(makers) > 1 and part in origins else "")
        for part in changed
    ]
    what = "; ".join(edits) or f"{origin.old} → {origin.new}, which ask alike"
    findings: tuple[DiffFinding, ...] = ()
    if not finder.find_line(old, new):
        what = f"{old.resolved.name} → {new.resolved.name}; {what}"
    elif edits:
        findings = _compare_versions(finder, old.resolved.artifact, new.resolved.artifact)
    return EditSource(
        _JUDGE_RULE, origin, str(origin.ref), (_JUDGE_RULE,), f"judge: {what}", findings
    )


def _describe_judge_edit(part: ArtifactPart, before: str | None, after: str | None) -> str:
    """Return one edit of a judge: `model a → b`, `scale.max 5 → 10`, or of what is too long its name alone."""
    label = (
        part.name
        if (part.name, part.key) == ("model", "id")
        else ".".join(filter(None, [part.name, part.key]))
    )
    if part.name in _LONG_KEYS:
        return (
            f"{label} edited" if before and after else f"{label} {'added' if after else 'removed'}"
        )
    # A judge that names no model is asked by that of the run.
    absent = "the run's" if label == "model" else "none"
    ends = (
        absent if text is None else make_excerpt(text.strip('"'), _VALUE)
        for text in (before, after)
    )
    return f"{label} {' → '.join(ends)}"


def _sign_edit(origin: Origin) -> str:
    who = " ".join(filter(None, [origin.author, (origin.commit or "")[:_SHORT_COMMIT]]))
    return f" ({make_excerpt(who, _VALUE)})" if who else ""


def _read_unpinned(finder: VersionFinder, version: ArtifactVersion) -> Rubric:
    return remove_rubric_pins(read_rubric(version.resolved.artifact.value), finder.find_first_name)


def _build_side(rubric: Artifact, names: CheckNames) -> RubricSide:
    checks = rubric.value["checks"]
    return RubricSide(checks, list_check_ids(checks), names)


def _compare_versions(
    finder: VersionFinder, old: Artifact, new: Artifact
) -> tuple[DiffFinding, ...]:
    try:
        return compare_by_rules(finder.store, old, new, detail=Detail.RULES).findings
    except EvalstoreError as error:
        finder.notes.append(
            f"{new.name} {old.version} and {new.version} cannot be compared: {error.message}"
        )
        return ()


def prove_direction(finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion) -> Direction:
    """Return where the edits between two rubrics, and any of them together, can move a score."""
    if not finder.find_line(old, new):
        return Direction.EITHER
    try:
        findings = compare_by_rules(
            finder.store, old.resolved, new.resolved, detail=Detail.FINDINGS
        ).findings
    except EvalstoreError as error:
        finder.notes.append(
            f"{old.resolved.ref} and {new.resolved.ref} cannot be compared: {error.message}"
        )
        return Direction.EITHER
    return join_directions(
        *(
            Direction.EITHER if one.certainty is Certainty.ASSUMED else one.direction
            for one in findings
        )
    )
