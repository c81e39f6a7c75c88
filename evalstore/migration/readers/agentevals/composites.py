"""Reads groups of evaluators by their aggregator.

Aggregators are averages, counts of passes, minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.migration.artifact_names import make_check_ids
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.readers.agentevals.grading import (
    AVERAGE,
    PASSES,
    GradingTerms,
    SuitePart,
    Term,
    join_gradings,
    parse_bar,
    parse_number,
)
from evalstore.migration.readers.agentevals.rubrics import make_exact_weights
from evalstore.migration.remainder import encode_value
from evalstore.migration.shared_rubrics import ask_about_each
from evalstore.text import make_excerpt

ReadMembers = Callable[[SuitePart], GradingTerms]
_LISTS = ("assertions", "assert", "evaluators")
_POINT = "criterion"  # the variable of a judge that is asked about one point
# Default thresholds of those aggregators in the specification for which a gate or member below one
# makes the group 0.
_BAR = {"safety_gate": Fraction(3, 5), "all_or_nothing": PASSES}
_PAPER = (
    "the runner never knew the aggregator {} and skips the composite; here it is graded as the "
    "specification says: {}"
)
_SAYS = {
    "minimum": "the lowest score of its members",
    "maximum": "the highest score of its members",
    "safety_gate": "0 if a gate is below {bar}, else the mean of all",
    "all_or_nothing": "0 if a member is below {bar}, else the mean of all",
}
_LENIENT = (
    "the program passes a member between 0.6 and 0.8 in one place and fails it in another; here it "
    "fails"
)


def read_composite(part: SuitePart, read_members: ReadMembers) -> GradingTerms:
    """Read a composite by its aggregator.

    The runner skips a composite with an unknown aggregator.
    """
    aggregator = part.enter("aggregator")
    kind = aggregator.get("type")
    if not isinstance(kind, str):
        return part.skip("it has no aggregator")
    if kind.replace("-", "_").startswith(("code_", "llm_")):
        return part.set_aside(
            f"the aggregator {make_excerpt(kind)} decides by a program or a model of its own"
        )
    if kind not in _AGGREGATORS:
        return part.skip(f"the aggregator {make_excerpt(kind)} is unknown")
    if kind == "threshold" and parse_bar(aggregator.get("threshold")) is None:
        return part.skip("the threshold of its aggregator is not a number from 0 to 1")
    key, *hidden = [key for key in _LISTS if part.get(key) is not None] or [""]
    inner = read_members(part.enter(key)) if key else GradingTerms()
    if not inner.terms:
        return _read_empty_group(part, inner)
    judges = {draft.ref: draft for draft in inner.judges}
    folded = [_fold_points(term, judges) if kind in _SAYS else (term, None) for term in inner.terms]
    members = tuple(term for term, _ in folded)
    group = Term(part.name, part.pointer, members=members, steps=0, unmapped=inner.unmapped)
    grading = _AGGREGATORS[kind](group, aggregator)
    if isinstance(grading, str):
        return part.set_aside(grading)
    inner = replace(inner, judges=(*inner.judges, *(judge for _, judge in folded if judge)))
    ignored = [part.enter(name).ignore(f"{key} comes first") for name in hidden]
    key_notes = aggregator.check_keys("aggregator", kind)
    return join_gradings([grading, replace(inner, terms=(), unmapped=()), key_notes, *ignored])


def read_assert_set(part: SuitePart, read_members: ReadMembers) -> GradingTerms:
    """Read an assert-set: the weighted mean of its members, each with its own weight."""
    inner = read_members(part.enter("assert"))
    if not inner.terms:
        return _read_empty_group(part, inner)
    bar = parse_bar(part.get("threshold"))
    passes = PASSES if bar is None else bar
    group = Term(
        part.name,
        part.pointer,
        members=inner.terms,
        passes=passes,
        steps=0,
        unmapped=inner.unmapped,
    )
    return replace(inner, terms=(group,), unmapped=())


def _is_point(member: Term) -> bool:
    """Whether a member only asks a judge about one point."""
    check = member.check or {}
    if check.keys() != {"kind", "judge_prompt_ref", "variables"}:
        return False
    is_counted = member.gate is None and not member.negate
    return is_counted and check["variables"].keys() == {_POINT}


def _fold_points(
    term: Term, judges: Mapping[str, ArtifactDraft]
) -> tuple[Term, ArtifactDraft | None]:
    """Return a group of points as one check that asks about each, and its judge.

    If that is impossible, it is the term as it is. So such a group can be a member of something
    other than a plain average.
    """
    checks = [member.check or {} for member in term.members]
    refs = {str(check.get("judge_prompt_ref")) for check in checks}
    is_plain = term.combine == AVERAGE and term.gate is None and not term.unmapped
    is_of_points = all(map(_is_point, term.members))
    judge = ask_about_each(judges.get(next(iter(refs), "")), _POINT)
    if not checks or len(refs) > 1 or not is_plain or not is_of_points or judge is None:
        return term, None
    value = {key: item for key, item in judge.value.items() if not key.startswith("x_")}
    judge = replace(judge, value=value)
    members = enumerate(term.members, start=1)
    ids = make_check_ids((member.name, f"point_{number}") for number, member in members)
    weights = make_exact_weights([member.weight for member in term.members])
    each: list[dict[str, Any]] = []
    for id_, check, weight in zip(ids, checks, weights, strict=True):
        own = {} if weight == 1 else {"weight": weight}
        each.append({"id": id_, "text": check["variables"][_POINT], **own})
    check = {"kind": "llm_judge", "judge_prompt_ref": judge.ref, "each": each}
    return replace(term, check=check, members=(), steps=0), judge


def _read_empty_group(part: SuitePart, inner: GradingTerms) -> GradingTerms:
    """Return a group without an expressible member.

    The runner skips a group all of whose members it skips.
    """
    if not inner.unmapped:
        return GradingTerms(notes=inner.notes) + part.skip("it has no members that count")
    kept = {"reason": "none of its members can be said", "raw": encode_value(part.raw)}
    return GradingTerms(notes=inner.notes, unmapped=(kept,))


def _average_members(group: Term, aggregator: SuitePart) -> GradingTerms:
    at = aggregator.enter("weights")
    weights = at.raw if isinstance(at.raw, dict) else {}

    def weigh(member: Term) -> Term:
        part = replace(at, raw={"weight": weights.get(member.name)})
        return replace(member, weight=part.weight)

    members = tuple(map(weigh, group.members))
    gradings = [GradingTerms((replace(group, members=members),))]
    if at.raw and not weights:
        gradings.append(at.ignore("it is not a mapping of names to weights"))
    names = {member.name for member in members}
    unknown = [at.enter(name) for name in weights if name not in names]
    gradings += [part.ignore("no member that counts has this name") for part in unknown]
    return join_gradings(gradings)


def _count_passing(group: Term, aggregator: SuitePart) -> GradingTerms | str:
    bar = parse_number(aggregator.get("threshold")) or Fraction(0)
    members = [_make_binary(member) for member in group.members]
    if None in members:
        return "a member passes or fails by a score that no check can turn into one of the two"
    lenient = (_LENIENT,) if aggregator.scope.dialect.name in {"D0", "D1", "D2", "D2s"} else ()
    binary = tuple(member for member in members if member)
    losses = lenient if any(member.check and "jury" in member.check for member in binary) else ()
    return GradingTerms((replace(group, members=binary, passes=bar),), losses)


def _make_binary(member: Term) -> Term | None:
    """Return a member as pass or fail at a score of 0.8; None if no check expresses that."""
    check = member.check
    if check is None or (check["kind"] == "tool_usage" and not 0 < member.steps < 1 / (1 - PASSES)):
        return None
    # A jury of one with a majority turns a continuous judge score into pass or fail at the
    # threshold.
    if check["kind"] == "llm_judge" and member.steps == 0:
        rest = {key: item for key, item in check.items() if key not in {"kind", "judge_prompt_ref"}}
        jury = {
            "members": [{"judge_prompt_ref": check["judge_prompt_ref"]}],
            "aggregate": "majority",
        }
        return replace(
            member, check={"kind": "llm_judge", "jury": jury, **rest, "threshold": PASSES}, steps=1
        )
    return replace(
        member, check={key: item for key, item in check.items() if key != "partial"}, steps=1
    )


def _apply_specification(group: Term, aggregator: SuitePart) -> GradingTerms | str:
    """Read an aggregator that the specification has and the runner never knew."""
    kind = aggregator.raw["type"]
    threshold = parse_number(aggregator.get("threshold"))
    bar = _BAR.get(kind) if threshold is None else threshold
    loss = _PAPER.format(kind, _SAYS[kind].format(bar=float(bar or 0)))
    if bar is None or kind in {"minimum", "maximum"}:
        return GradingTerms((replace(group, combine=kind[:3]),), (loss,))
    if not 0 <= bar <= 1:
        return "its threshold is not a number from 0 to 1"
    grading = _average_members(group, aggregator)
    members = [one.name for one in grading.terms[0].members]
    required = aggregator.get("required")
    # Without a list of names, every member of a safety gate is required.
    names = map(str, required) if isinstance(required, list) and kind == "safety_gate" else members
    gated = _gate_members(grading.terms[0].members, set(names), bar)
    if any(member.gate is not None and member.check is None for member in gated):
        return "a gate of it is a group itself, and groups go one level deep"
    term = replace(group, members=gated, combine=AVERAGE)
    return replace(grading, terms=(term,), lossy=(loss,))


def _gate_members(
    members: Sequence[Term], names: Collection[str], bar: Fraction
) -> tuple[Term, ...]:
    """Return members, those with these names having to reach the bar."""
    return tuple(replace(one, gate=bar) if one.name in names else one for one in members)


_AGGREGATORS: Mapping[str, Callable[[Term, SuitePart], GradingTerms | str]] = {
    "weighted_average": _average_members,
    "threshold": _count_passing,
    "minimum": _apply_specification,
    "maximum": _apply_specification,
    "safety_gate": _apply_specification,
    "all_or_nothing": _apply_specification,
}
