"""Builds the finding of each change: its level, place, fingerprint and children."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.classify import classify, find_certainty, judge_change
from evalstore.diff.direction import EITHER, VERDICT_MODES
from evalstore.diff.document import Sides
from evalstore.diff.findings import DiffFinding
from evalstore.diff.question_comparison import (
    VALUE_RULE,
    add_questions,
    identify_finding,
    name_questions,
)
from evalstore.diff.settings import ComparisonSettings
from evalstore.documents import Pointer, compute_digest, format_json_pointer, write_canonical
from evalstore.model import list_check_ids
from evalstore.text import LONG_DIGEST, count_noun

_NAME_KEYS = ("id", "name", "judge_prompt_ref")
_QUESTION_KEYS = frozenset({"questions", "rows"})
_COMBINE_CHANGED = "scoring-combine-changed"


def build_finding(change: Change, sides: Sides, settings: ComparisonSettings) -> DiffFinding:
    """Return the finding of a change by its rule, at the rule's level and without a witness."""
    finding = classify(change, settings.profile, settings.rule_set)
    finding = _apply_declaration(finding, change, settings)
    old, new = sides
    before = old.cut_to_written(change.old_pointer)
    after = new.cut_to_written(change.new_pointer)
    finding = replace(
        finding,
        # The finding points into the new document, or into the old one if the part was removed.
        pointer=format_json_pointer(after if after is not None else before or ()),
        old=old.find_place(before),
        new=new.find_place(after),
        fingerprint=_fingerprint_edit(finding.rule, change, sides),
        children=change.imported_diff.findings if change.imported_diff else (),
        before=old.get_written_value(change.old_pointer, change.old),
        after=new.get_written_value(change.new_pointer, change.new),
    )
    return _cover_children(finding)


def build_level_finding(change: Change, settings: ComparisonSettings) -> DiffFinding:
    """Return a finding with just the rule of a change, its level, and how sure that is."""
    rule, proof, level = judge_change(change, settings.profile, settings.rule_set)
    finding = DiffFinding(
        *(EITHER, EITHER, None),
        rule=rule.id,
        level=level,
        level_before=level,
        certainty=find_certainty(change, rule, proof),
        message="",
        reason="",
    )
    return _apply_declaration(finding, change, settings)


def _apply_declaration(
    finding: DiffFinding, change: Change, settings: ComparisonSettings
) -> DiffFinding:
    """Return the finding with the setting that declares its change, if there is one."""
    if change.proof is None or change.proof.declared is None:
        return finding
    # A declaration is not a proof, so the rule's own level is shown, too.
    undeclared = judge_change(replace(change, proof=None), settings.profile, settings.rule_set)
    return replace(finding, level_before=undeclared.level, overridden=change.proof.declared)


def group_under_combine(changes: list[Change], findings: list[DiffFinding]) -> list[DiffFinding]:
    """Make findings of weights and thresholds that a mode ignores children of the mode's change.

    `findings` are those of `changes`, in the same order.
    """
    rules = [change.rule for change in changes]
    if _COMBINE_CHANGED not in rules:
        return findings
    at = rules.index(_COMBINE_CHANGED)
    combine = findings[at]
    kept: list[DiffFinding] = []
    children: list[DiffFinding] = []
    for change, finding in zip(changes, findings, strict=True):
        # A finding with a higher level than the mode's stays: as a child, it would be hidden.
        is_child = _is_ineffective(change, changes[at]) and finding.level <= combine.level
        (children if is_child else kept).append(finding)
    parent = _cover_children(replace(combine, children=tuple(children)))
    return [parent if finding is combine else finding for finding in kept]


def lift_value_findings(
    changes: list[Change], findings: list[DiffFinding]
) -> Iterator[DiffFinding]:
    """Yield, for each changed value of a question, the findings of the rules of the check's kind.

    They replace the finding of the value itself. Equal findings for several questions become one,
    in the first one's place.
    """
    lifted: dict[object, list[DiffFinding]] = {}
    defaults: set[object] = set()
    for number, (change, finding) in enumerate(zip(changes, findings, strict=True)):
        if change.rule != VALUE_RULE or not finding.children:
            lifted[number] = [finding]
            continue
        is_default = (change.new_pointer or change.old_pointer or ())[:1] == ("defaults",)
        for child in finding.children:
            placed = replace(
                child,
                pointer=finding.pointer,
                old=finding.old,
                new=finding.new,
                fingerprint=_digest_facts([finding.fingerprint, child.fingerprint]),
            )
            key = change.name, is_default, identify_finding(child)
            lifted.setdefault(key, []).append(placed)
            defaults |= {key} if is_default else set()
    for one, alike in lifted.items():
        yield alike[0] if isinstance(one, int) else _join_alike(alike, is_default=one in defaults)


def _join_alike(alike: list[DiffFinding], *, is_default: bool) -> DiffFinding:
    """Return findings of several questions as one, whose message begins with the questions."""
    joined = reduce(add_questions, alike)
    names = name_questions(joined)
    if is_default:
        is_one = joined.questions == 1
        names = f"the default of {names if is_one else count_noun(joined.questions, 'question')}"
    prints = [one.fingerprint for one in alike]
    return replace(
        joined,
        message=f"{names}: {joined.message}",
        fingerprint=prints[0] if len(prints) == 1 else _digest_facts(prints),
    )


def number_duplicates(findings: Iterable[DiffFinding]) -> list[DiffFinding]:
    """Return the findings with unique fingerprints, even if the same edit was made twice."""
    seen: Counter[str] = Counter()
    numbered = []
    for finding in findings:
        before = seen[finding.fingerprint]
        seen[finding.fingerprint] += 1
        fingerprint = (
            _digest_facts([finding.fingerprint, str(before)]) if before else finding.fingerprint
        )
        numbered.append(replace(finding, fingerprint=fingerprint))
    return numbered


def _is_ineffective(change: Change, combine: Change) -> bool:
    if change.rule == "check-weight-changed":
        return True
    if not change.rule.startswith("check-threshold-") or change.checks[1].reads_threshold:
        return False
    # Both modes read the verdicts of checks, and so their thresholds.
    both_read = VERDICT_MODES.issuperset({combine.old, combine.new})
    return not both_read and not change.states[1].needs_verdict(change.checks[1])


def _cover_children(finding: DiffFinding) -> DiffFinding:
    """Return the finding with a fingerprint that also covers its children."""
    if not finding.children:
        return finding
    prints = [child.fingerprint for child in finding.children]
    return replace(finding, fingerprint=_digest_facts([finding.fingerprint, *prints]))


def _fingerprint_edit(rule: str, change: Change, sides: Sides) -> str:
    """Return the fingerprint of one edit: its rule, artifact, named places, and values."""
    pointers = (change.old_pointer, change.new_pointer)
    places = [
        _name_steps(side.value, at, change.words) for side, at in zip(sides, pointers, strict=True)
    ]
    values = map(write_canonical, (change.old, change.new, change.discriminator))
    return _digest_facts([rule, sides[1].name, *places, *values])


def _digest_facts(facts: list[Any]) -> str:
    return compute_digest(facts)[:LONG_DIGEST]


def _name_steps(value: Any, pointer: Pointer | None, words: Mapping[str, str]) -> list[str] | None:
    if pointer is None:
        return None
    steps = []
    for at, step in enumerate(pointer):
        owner = words.get("question") if at == 1 and pointer[0] in _QUESTION_KEYS else None
        steps.append(
            owner or (_name_item(value, step, pointer[at - 1]) if isinstance(step, int) else step)
        )
        value = _get_child(value, step)
    return steps


def _get_child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return (
        value[step]
        if isinstance(value, list) and isinstance(step, int) and step < len(value)
        else None
    )


def _name_item(items: Any, index: int, key: str | int) -> str:
    item = _get_child(items, index)
    if isinstance(item, dict):
        if key == "checks":
            return list_check_ids(items)[index]
        return next(
            (write_canonical([name, item[name]]) for name in _NAME_KEYS if name in item), str(index)
        )
    # An item that is not a mapping is named by its value, so that fingerprints stay the same if a
    # list is shifted.
    return str(index) if item is None or isinstance(item, list) else write_canonical(item)
