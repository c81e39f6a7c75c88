"""Compiles terms into a rubric: groups become inner rubrics, one level deep; deeper averages are flattened exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.artifact_names import UniqueLabels, make_slug
from evalstore.migration.case_reading import draft_rubric
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.grading import (
    AVERAGE,
    PASSES,
    Check,
    Grading,
    SuitePart,
    Term,
    join_gradings,
    parse_bar,
    parse_number,
)
from evalstore.migration.remainder import encode_value
from evalstore.text import make_excerpt

ReadMembers = Callable[[SuitePart], Grading]
_LISTS = ("assertions", "assert", "evaluators")
# Default thresholds of the specification's aggregators, where a gate or member below one makes the group 0.
_BAR = {"safety_gate": Fraction(3, 5), "all_or_nothing": PASSES}
_PAPER = (
    "the runner never knew the aggregator {} and skips the composite; here it is graded as the specification says: {}"
)
_SAYS = {
    "minimum": "the lowest score of its members",
    "maximum": "the highest score of its members",
    "safety_gate": "0 if a gate is below {bar}, else the mean of all",
    "all_or_nothing": "0 if a member is below {bar}, else the mean of all",
}
_LENIENT = "the program passes a member between 0.6 and 0.8 in one place and fails it in another; here it fails"


def read_composite(part: SuitePart, read_members: ReadMembers) -> Grading:
    """Read a composite by its aggregator; the runner skips a composite with an unknown aggregator."""
    aggregator = part.enter("aggregator")
    kind = aggregator.get("type")
    if not isinstance(kind, str):
        return part.skip("it has no aggregator")
    if kind.replace("-", "_").startswith(("code_", "llm_")):
        return part.set_aside(f"the aggregator {make_excerpt(kind)} decides by a program or a model of its own")
    if kind not in _AGGREGATORS:
        return part.skip(f"the aggregator {make_excerpt(kind)} is unknown")
    if kind == "threshold" and parse_bar(aggregator.get("threshold")) is None:
        return part.skip("the threshold of its aggregator is not a number from 0 to 1")
    key, *hidden = [key for key in _LISTS if part.get(key) is not None] or [""]
    inner = read_members(part.enter(key)) if key else Grading()
    if not inner.terms:
        return _read_empty_group(part, inner)
    group = Term(part.name, part.pointer, members=inner.terms, steps=0, unmapped=inner.unmapped)
    grading = _AGGREGATORS[kind](group, aggregator)
    if isinstance(grading, str):
        return part.set_aside(grading)
    ignored = [part.enter(name).ignore(f"{key} comes first") for name in hidden]
    key_notes = aggregator.check_keys("aggregator", kind)
    return join_gradings([grading, replace(inner, terms=(), unmapped=()), key_notes, *ignored])


def read_assert_set(part: SuitePart, read_members: ReadMembers) -> Grading:
    """Read an assert-set: the weighted mean of its members, each with its own weight."""
    inner = read_members(part.enter("assert"))
    if not inner.terms:
        return _read_empty_group(part, inner)
    bar = parse_bar(part.get("threshold"))
    passes = PASSES if bar is None else bar
    group = Term(part.name, part.pointer, members=inner.terms, passes=passes, steps=0, unmapped=inner.unmapped)
    return replace(inner, terms=(group,), unmapped=())


def _read_empty_group(part: SuitePart, inner: Grading) -> Grading:
    """Return a group none of whose members can be expressed; the runner skips one whose members it all skips."""
    if not inner.unmapped:
        return Grading(notes=inner.notes) + part.skip("it has no members that count")
    kept = {"reason": "none of its members can be said", "raw": encode_value(part.raw)}
    return Grading(notes=inner.notes, unmapped=(kept,))


def _average_members(group: Term, aggregator: SuitePart) -> Grading:
    at = aggregator.enter("weights")
    weights = at.raw if isinstance(at.raw, dict) else {}
    members = tuple(
        replace(member, weight=replace(at, raw={"weight": weights.get(member.name)}).weight) for member in group.members
    )
    names = {member.name for member in members}
    ignored = [at.enter(name).ignore("no member that counts has this name") for name in weights if name not in names]
    note = at.ignore("it is not a mapping of names to weights") if at.raw and not weights else Grading()
    return join_gradings([Grading((replace(group, members=members),)), note, *ignored])


def _count_passing(group: Term, aggregator: SuitePart) -> Grading | str:
    bar = parse_number(aggregator.get("threshold")) or Fraction(0)
    members = [_make_binary(member) for member in group.members]
    if None in members:
        return "a member passes or fails by a score that no check can turn into one of the two"
    lenient = (_LENIENT,) if aggregator.scope.dialect.name in {"D0", "D1", "D2", "D2s"} else ()
    binary = tuple(member for member in members if member)
    losses = lenient if any(member.check and "jury" in member.check for member in binary) else ()
    return Grading((replace(group, members=binary, passes=bar),), losses)


def _make_binary(member: Term) -> Term | None:
    """Return a member as pass or fail at a score of 0.8; None where no check expresses that."""
    check = member.check
    if check is None or (check["kind"] == "tool_usage" and not 0 < member.steps < 1 / (1 - PASSES)):
        return None
    # A jury of one with a majority turns a continuous judge score into pass or fail at the threshold.
    if check["kind"] == "llm_judge" and member.steps == 0:
        rest = {key: item for key, item in check.items() if key not in {"kind", "judge_prompt_ref"}}
        jury = {"members": [{"judge_prompt_ref": check["judge_prompt_ref"]}], "aggregate": "majority"}
        return replace(member, check={"kind": "llm_judge", "jury": jury, **rest, "threshold": PASSES}, steps=1)
    return replace(member, check={key: item for key, item in check.items() if key != "partial"}, steps=1)


def _apply_specification(group: Term, aggregator: SuitePart) -> Grading | str:
    """Read an aggregator that the specification has and the runner never knew."""
    kind = aggregator.raw["type"]
    threshold = parse_number(aggregator.get("threshold"))
    bar = _BAR.get(kind) if threshold is None else threshold
    loss = _PAPER.format(kind, _SAYS[kind].format(bar=float(bar or 0)))
    if bar is None or kind in {"minimum", "maximum"}:
        return Grading((replace(group, combine=kind[:3]),), (loss,))
    if not 0 <= bar <= 1:
        return "its threshold is not a number from 0 to 1"
    required = aggregator.get("required")
    # Without a list of names, every member of a safety gate is required.
    names = set(map(str, required)) if isinstance(required, list) and kind == "safety_gate" else None
    grading = _average_members(group, aggregator)
    members = grading.terms[0].members
    gated_members = tuple(
        replace(member, gate=bar) if names is None or member.name in names else member for member in members
    )
    if any(member.gate is not None and member.check is None for member in gated_members):
        return "a gate of it is a group itself, and groups go one level deep"
    return replace(grading, terms=(replace(group, members=gated_members, combine=AVERAGE),), lossy=(loss,))


_AGGREGATORS: Mapping[str, Callable[[Term, SuitePart], Grading | str]] = {
    "weighted_average": _average_members,
    "threshold": _count_passing,
    "minimum": _apply_specification,
    "maximum": _apply_specification,
    "safety_gate": _apply_specification,
    "all_or_nothing": _apply_specification,
}


_COUNTED = {"missing": "zero", "errors": "zero"}  # a grader that fails counts as 0 and keeps its weight
_NEVER: Check = {
    "kind": "regex",
    "pattern": "(?!)",
    "description": "all weights are 0, for which the runner gives 0",
}
_UNSCORED: Check = {
    "id": "nothing_scored",
    "kind": "fact_match",
    "description": "no check of the source can be said, so nothing is scored",
}
_ANYTHING: Check = {"id": "any_answer", "kind": "format", "format": "text"}
_DEEP = "a group in a group that is not a plain average cannot be said; groups go one level deep"


@dataclass(frozen=True, slots=True)
class CompiledRubric:
    """A rubric with the inner rubrics that it refers to, and notes on what they cannot express."""

    rubric: ArtifactDraft
    inner: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()


def compile_rubric(
    terms: Sequence[Term], unmapped: Sequence[Mapping[str, Any]], passes: Fraction, pointer: Pointer
) -> CompiledRubric:
    """Return the rubric of the weighted mean of these terms, with the threshold `passes`."""
    set_aside = list(unmapped)
    # Rubrics nest one level: plain averages are folded into their parents, which is exact, before groups are counted.
    top = list(_spread_groups(_unwrap_single_group(terms, set_aside), set_aside))
    too_deep = [term for term in top if term.check is None and _is_deep(term)]
    set_aside += [{"reason": _DEEP, "raw": term.name} for term in too_deep]
    notes = tuple(MigrationNote(term.pointer, MigrationOutcome.UNMAPPED, _DEEP) for term in too_deep)
    inner: list[ArtifactDraft] = []
    leaves = [_refer_to_inner(term, inner) if term.check is None else term for term in top if term not in too_deep]
    if not leaves:
        value: dict[str, Any] = {"checks": [_UNSCORED if set_aside else _ANYTHING], "scoring": {"combine": AVERAGE}}
    else:
        value = _build_value(leaves, AVERAGE, passes)
    value |= {"x_unmapped": set_aside} if set_aside else {}
    return CompiledRubric(_make_draft(value, pointer), tuple(inner), notes)


def _unwrap_single_group(terms: Sequence[Term], set_aside: list[Mapping[str, Any]]) -> Sequence[Term]:
    """Return the terms, or the members of a plain group that is the only term."""
    while len(terms) == 1 and terms[0].weight and _is_plain(terms[0]):
        set_aside += terms[0].unmapped
        terms = terms[0].members
    return terms


def _spread_groups(terms: Iterable[Term], set_aside: list[Mapping[str, Any]]) -> Iterator[Term]:
    """Yield the terms of the top level; a plain group that contains groups is replaced by its members."""
    for term in terms:
        flat = term if term.check is not None else replace(term, members=tuple(_flatten_members(term)))
        if flat.check is None and _is_plain(flat) and _is_deep(flat):
            set_aside += flat.unmapped if any(member.weight for member in flat.members) else _list_unmapped(flat)
            yield from _spread_groups(_scale_members(flat), set_aside)
        else:
            yield flat


def _flatten_members(group: Term) -> Iterator[Term]:
    """Yield the members of a group; plain groups among them are replaced by their members."""
    for member in group.members:
        if member.check is None and group.combine == AVERAGE and _is_plain(member) and not _list_unmapped(member):
            yield from _flatten_members(replace(member, members=tuple(_scale_members(member))))
        else:
            yield member


def _list_unmapped(group: Term) -> list[Mapping[str, Any]]:
    """Return the unmapped parts of a group and of all groups in it."""
    return [*group.unmapped, *(item for member in group.members for item in _list_unmapped(member))]


def _scale_members(group: Term) -> Iterator[Term]:
    # A member of an average has the group's weight in proportion to its own: w * w_i / sum(w).
    total = sum((member.weight for member in group.members), Fraction(0))
    if not total:
        yield Term(group.name, group.pointer, dict(_NEVER), weight=group.weight)
    for member in group.members if total else ():
        yield replace(member, weight=group.weight * member.weight / total)


def _is_plain(term: Term) -> bool:
    report = term.gate is not None or any(member.gate is not None for member in term.members)
    return term.check is None and term.combine == AVERAGE and not report and not term.negate


def _is_deep(term: Term) -> bool:
    return any(member.check is None for member in term.members)


def _refer_to_inner(group: Term, inner: list[ArtifactDraft]) -> Term:
    """Return a group as a `composite` check that refers to its inner rubric."""
    value = _build_value(group.members, group.combine, group.passes)
    value |= {"x_unmapped": list(group.unmapped)} if group.unmapped else {}
    draft = _make_draft(value, group.pointer, group.name)
    inner.append(draft)
    return replace(group, check={"kind": "composite", "rubric_ref": draft.ref}, members=())


def _build_value(leaves: Sequence[Term], combine: str, passes: Fraction) -> dict[str, Any]:
    # Minimum and maximum read no weights.
    weighs = combine == AVERAGE
    if weighs and not any(term.weight for term in leaves):
        return {
            "checks": [{"id": "no_weight", **_NEVER}],
            "scoring": {"combine": combine, "threshold": _to_number(passes)},
        }
    ids = list(_make_ids(leaves))
    weights = dict(zip(ids, _make_exact_weights([term.weight for term in leaves]), strict=True)) if weighs else {}
    equal = len(set(weights.values())) == 1
    unequal = {} if equal else {id_: weight for id_, weight in weights.items() if weight != 1}
    required = [id_ for id_, term in zip(ids, leaves, strict=True) if term.gate is not None]
    scoring = {
        "combine": combine,
        **({"weights": unequal} if unequal else {}),
        **({"required": required} if required else {}),
        "threshold": _to_number(passes),
        **_COUNTED,
    }
    return {"checks": [_build_check(id_, term) for id_, term in zip(ids, leaves, strict=True)], "scoring": scoring}


def _build_check(id_: str, term: Term) -> Check:
    check = dict(term.check or {})
    negate = term.negate
    # The negation of one substring check is a check kind, which reads better.
    if negate and check["kind"] == "must_contain_any" and "min_matches" not in check:
        check, negate = {**check, "kind": "must_not_contain"}, False
    bar = term.gate if term.gate is not None else check.get("threshold")
    # A check that is 0 or 1 passes any bar above 0 exactly when it is 1: no threshold is needed.
    binary = term.steps == 1 and "jury" not in check and (bar is None or 0 < bar <= 1)
    check.pop("threshold", None)
    return {
        "id": id_,
        **check,
        **({"threshold": _to_number(bar)} if bar is not None and not binary else {}),
        **({"negate": True} if negate else {}),
    }


def _make_ids(leaves: Sequence[Term]) -> Iterator[str]:
    names = UniqueLabels()
    for term in leaves:
        word = make_slug(term.name) or str((term.check or {}).get("kind"))
        yield names.claim(word if word[0].isalpha() else f"n_{word}")


def _make_draft(value: dict[str, Any], pointer: Pointer, name: str = "") -> ArtifactDraft:
    first = value["checks"][0]
    words = name or str(first.get("id", first["kind"]))
    return draft_rubric(value, words, pointer)


def _make_exact_weights(weights: Sequence[Fraction]) -> list[int | Decimal]:
    """Return weights as exact decimals; if one has none, all are scaled to whole numbers, which keeps every score."""
    # lcm with 10^12 tells whether a fraction ends within 12 decimals.
    if any(lcm(10**12, weight.denominator) != 10**12 for weight in weights):
        unit = lcm(*[weight.denominator for weight in weights])
        weights = [weight * unit for weight in weights]
    return [_to_number(weight) for weight in weights]


def _to_number(value: Fraction) -> int | Decimal:
    return int(value) if value.denominator == 1 else (Decimal(value.numerator) / value.denominator).normalize()
