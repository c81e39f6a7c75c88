"""Groups of evaluators: composites by their aggregator, and sets; their members come read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.readers.agentevals.judged import read_weight
from evalstore.migration.readers.agentevals.keys import check_keys
from evalstore.migration.readers.agentevals.said import (
    AVERAGE,
    PASSES,
    CaseScope,
    Grading,
    Term,
    ignored,
    joined,
    name_of,
    number,
    skipped,
    unmapped,
)
from evalstore.migration.remainder import encode_keys
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
Members = Callable[[Any, Pointer], Grading]
_LISTS = ("assertions", "assert", "evaluators")
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
_LENIENT = "whether a member between 0.6 and 0.8 counts as passed is told in two ways; here it does not"


def read_composite(raw: Raw, pointer: Pointer, scope: CaseScope, members: Members) -> Grading:
    """Read a composite by its aggregator; the runner skips one whose aggregator it does not know."""
    aggregator = raw.get("aggregator")
    how = aggregator.get("type") if isinstance(aggregator, dict) else None
    if not isinstance(aggregator, dict) or not isinstance(how, str):
        return skipped(pointer, "it has no aggregator")
    if how.replace("-", "_").startswith(("code_", "llm_")):
        return unmapped(raw, pointer, f"the aggregator {make_excerpt(how)} decides by a program or a model of its own")
    if how not in _AGGREGATORS:
        return skipped(pointer, f"the aggregator {make_excerpt(how)} is unknown")
    if how == "threshold" and not _is_bar(aggregator.get("threshold")):
        return skipped(pointer, "the threshold of its aggregator is no number from 0 to 1")
    key, *hidden = [key for key in _LISTS if raw.get(key) is not None] or [""]
    said = members(raw.get(key), (*pointer, key)) if key else Grading()
    if not said.terms:
        return _empty(raw, pointer, said)
    group = Term(name_of(raw), pointer, members=said.terms, steps=0, unmapped=said.unmapped)
    found = _AGGREGATORS[how](group, aggregator, scope)
    if isinstance(found, str):
        return unmapped(raw, pointer, found)
    unread = [ignored((*pointer, name), f"{key} comes first") for name in hidden]
    odd = check_keys(aggregator, (*pointer, "aggregator"), scope, "aggregator", how)
    return joined([found, replace(said, terms=(), unmapped=()), odd, *unread])


def read_assert_set(raw: Raw, pointer: Pointer, _: CaseScope, members: Members) -> Grading:
    """Read a set: the weighted mean of its members, each with its own weight."""
    said = members(raw.get("assert"), (*pointer, "assert"))
    if not said.terms:
        return _empty(raw, pointer, said)
    bar = number(raw.get("threshold"))
    passes = bar if bar is not None and 0 <= bar <= 1 else PASSES
    group = Term(name_of(raw), pointer, members=said.terms, passes=passes, steps=0, unmapped=said.unmapped)
    return replace(said, terms=(group,), unmapped=())


def _empty(raw: Raw, pointer: Pointer, said: Grading) -> Grading:
    """Return a group of which no member can be said; the runner skips one of which it knows none."""
    if not said.unmapped:
        return joined([Grading(notes=said.notes), skipped(pointer, "it has no members that count")])
    return Grading(notes=said.notes, unmapped=({"reason": "none of its members can be said", "raw": encode_keys(raw)},))


def _average(group: Term, aggregator: Raw, _: CaseScope) -> Grading:
    given, at = aggregator.get("weights"), (*group.pointer, "aggregator", "weights")
    weights = given if isinstance(given, dict) else {}
    members = tuple(
        replace(member, weight=read_weight({"weight": weights.get(member.name)}, at)) for member in group.members
    )
    names = {member.name for member in members}
    unread = [ignored((*at, name), "no member that counts has this name") for name in weights if name not in names]
    odd = ignored(at, "it is no mapping of names to weights") if given and not weights else Grading()
    return joined([Grading((replace(group, members=members),)), odd, *unread])


def _is_bar(raw: Any) -> bool:
    bar = number(raw)
    return bar is not None and 0 <= bar <= 1


def _threshold(group: Term, aggregator: Raw, scope: CaseScope) -> Grading | str:
    bar = number(aggregator["threshold"]) or Fraction(0)
    members = [_binary(member) for member in group.members]
    if None in members:
        return "a member passes or fails by a score that no check can turn into one of the two"
    lenient = (_LENIENT,) if scope.dialect.name in {"D0", "D1", "D2", "D2s"} else ()
    binary = tuple(member for member in members if member)
    judged = lenient if any(member.check and "jury" in member.check for member in binary) else ()
    return Grading((replace(group, members=binary, passes=bar),), judged)


def _binary(member: Term) -> Term | None:
    """Return a member that scores 1 when its score reaches 0.8, else 0; None where no check says that."""
    check = member.check
    if check is None or (check["kind"] == "tool_usage" and not 0 < member.steps < 1 / (1 - PASSES)):
        return None
    if check["kind"] == "llm_judge" and member.steps == 0:
        rest = {key: item for key, item in check.items() if key not in {"kind", "judge_prompt_ref"}}
        jury = {"members": [{"judge_prompt_ref": check["judge_prompt_ref"]}], "aggregate": "majority"}
        return replace(member, check={"kind": "llm_judge", "jury": jury, **rest, "threshold": PASSES}, steps=1)
    return replace(member, check={key: item for key, item in check.items() if key != "partial"}, steps=1)


def _paper(group: Term, aggregator: Raw, scope: CaseScope) -> Grading | str:
    """Read an aggregator that exists in the specification only."""
    how = aggregator["type"]
    given = number(aggregator.get("threshold"))
    bar = _BAR.get(how) if given is None else given
    told = _PAPER.format(how, _SAYS[how].format(bar=float(bar or 0)))
    if bar is None or how in {"minimum", "maximum"}:
        return Grading((replace(group, combine=how[:3]),), (told,))
    if not 0 <= bar <= 1:
        return "its threshold is no number from 0 to 1"
    required = aggregator.get("required")
    names = set(map(str, required)) if isinstance(required, list) and how == "safety_gate" else None
    weighted = _average(group, aggregator, scope)
    members = weighted.terms[0].members
    gated = tuple(replace(one, gate=bar) if names is None or one.name in names else one for one in members)
    if any(one.gate is not None and one.check is None for one in gated):
        return "a gate of it is a group itself, and groups go one level deep"
    return replace(weighted, terms=(replace(group, members=gated, combine=AVERAGE),), lossy=(told,))


_AGGREGATORS: Mapping[str, Callable[[Term, Raw, CaseScope], Grading | str]] = {
    "weighted_average": _average,
    "threshold": _threshold,
    "minimum": _paper,
    "maximum": _paper,
    "safety_gate": _paper,
    "all_or_nothing": _paper,
}
