"""Compiles terms into a rubric.

Groups become inner rubrics, and deeper averages are flattened exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from evalstore.migration.readers.agentevals.grading import AVERAGE, Check, Term

_COUNTED = {
    "missing": "zero",
    "errors": "zero",
}  # a failing grader counts as 0 and keeps its weight
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
    # Rubrics nest one level: plain averages are folded into their parents, which is exact, before
    # groups are counted.
    top = list(_spread_groups(_unwrap_single_group(terms, set_aside), set_aside))
    notes: list[MigrationNote] = []
    leaves: list[Term] = []
    inner: list[ArtifactDraft] = []
    for term in top:
        if term.check is not None:
            leaves.append(term)
        elif _is_deep(term):
            set_aside.append({"reason": _DEEP, "raw": term.name})
            notes.append(MigrationNote(term.pointer, MigrationOutcome.UNMAPPED, _DEEP))
        else:
            leaves.append(_refer_to_inner(term, inner))
    check = _UNSCORED if set_aside else _ANYTHING
    value: dict[str, Any] = {"checks": [check], "scoring": {"combine": AVERAGE}}
    if leaves:
        value = _build_value(leaves, AVERAGE, passes)
    value |= {"x_unmapped": set_aside} if set_aside else {}
    return CompiledRubric(_make_draft(value, pointer), tuple(inner), tuple(notes))


def _unwrap_single_group(
    terms: Sequence[Term], set_aside: list[Mapping[str, Any]]
) -> Sequence[Term]:
    """Return the terms, or the members of a plain group that is the only term."""
    while len(terms) == 1 and terms[0].weight and _is_plain(terms[0]):
        set_aside += terms[0].unmapped
        terms = terms[0].members
    return terms


def _spread_groups(terms: Iterable[Term], set_aside: list[Mapping[str, Any]]) -> Iterator[Term]:
    """Yield the terms of the top level.

    A plain group that contains groups is replaced by its members.
    """
    for term in terms:
        flat = (
            term if term.check is not None else replace(term, members=tuple(_flatten_members(term)))
        )
        if flat.check is None and _is_plain(flat) and _is_deep(flat):
            set_aside += (
                flat.unmapped
                if any(member.weight for member in flat.members)
                else _list_unmapped(flat)
            )
            yield from _spread_groups(_scale_members(flat), set_aside)
        else:
            yield flat


def _flatten_members(group: Term) -> Iterator[Term]:
    """Yield the members of a group; plain groups among them are replaced by their members."""
    for member in group.members:
        if (
            member.check is None
            and group.combine == AVERAGE
            and _is_plain(member)
            and not _list_unmapped(member)
        ):
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
    weights = (
        dict(zip(ids, make_exact_weights([term.weight for term in leaves]), strict=True))
        if weighs
        else {}
    )
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
    return {
        "checks": [_build_check(id_, term) for id_, term in zip(ids, leaves, strict=True)],
        "scoring": scoring,
    }


def _build_check(id_: str, term: Term) -> Check:
    check = dict(term.check or {})
    negate = term.negate
    # The negation of one substring check is a check kind, which reads better.
    if negate and check["kind"] == "must_contain_any" and "min_matches" not in check:
        check, negate = {**check, "kind": "must_not_contain"}, False
    bar = term.gate if term.gate is not None else check.get("threshold")
    # A check that is 0 or 1 passes any bar above 0 exactly if it is 1, so no threshold is needed.
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


def make_exact_weights(weights: Sequence[Fraction]) -> list[int | Decimal]:
    """Return weights as exact decimals.

    If one has none, all are scaled to integers, which keeps the score.
    """
    # lcm with 10^12 tells whether a fraction ends within 12 decimals.
    if any(lcm(10**12, weight.denominator) != 10**12 for weight in weights):
        unit = lcm(*[weight.denominator for weight in weights])
        weights = [weight * unit for weight in weights]
    return [_to_number(weight) for weight in weights]


def _to_number(value: Fraction) -> int | Decimal:
    return (
        int(value)
        if value.denominator == 1
        else (Decimal(value.numerator) / value.denominator).normalize()
    )
