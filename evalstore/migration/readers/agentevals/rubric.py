"""From terms to a rubric: one level of inner rubrics for groups, deeper averages flattened exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

from evalstore.documents import Pointer, digest
from evalstore.migration.artifact_names import UniqueLabels, make_slug
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.said import AVERAGE, Check, Term
from evalstore.model import Kind

_COUNTED = {"missing": "zero", "errors": "zero"}  # a grader that stops counts 0, and keeps its weight
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
_DEEP = "a group in a group that is no plain average cannot be said; groups go one level deep"


@dataclass(frozen=True, slots=True)
class CompiledRubric:
    """A rubric with the inner ones that it refers to, and what could not be said in them."""

    rubric: ArtifactDraft
    inner: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()


def compile_rubric(
    terms: Sequence[Term], unmapped: Sequence[Mapping[str, Any]], passes: Fraction, pointer: Pointer
) -> CompiledRubric:
    """Return the rubric that averages these terms and passes from `passes` on."""
    aside = list(unmapped)
    top = list(_spread(_hoisted(terms, aside), aside))
    too_deep = [term for term in top if term.check is None and _is_deep(term)]
    aside += [{"reason": _DEEP, "raw": term.name} for term in too_deep]
    notes = tuple(MigrationNote(term.pointer, MigrationOutcome.UNMAPPED, _DEEP) for term in too_deep)
    inner: list[ArtifactDraft] = []
    leaves = [_referring(term, inner) if term.check is None else term for term in top if term not in too_deep]
    if not leaves:
        value: dict[str, Any] = {"checks": [_UNSCORED if aside else _ANYTHING], "scoring": {"combine": AVERAGE}}
    else:
        value = _value(leaves, AVERAGE, passes)
    value |= {"x_unmapped": aside} if aside else {}
    return CompiledRubric(_draft(value, pointer), tuple(inner), notes)


def _hoisted(terms: Sequence[Term], aside: list[Mapping[str, Any]]) -> Sequence[Term]:
    """Return the members of a plain group that is all there is, in its place."""
    while len(terms) == 1 and terms[0].weight and _is_plain(terms[0]):
        aside += terms[0].unmapped
        terms = terms[0].members
    return terms


def _spread(terms: Iterable[Term], aside: list[Mapping[str, Any]]) -> Iterator[Term]:
    """Yield terms at the top, where a plain group with groups that are none is replaced by its members."""
    for term in terms:
        flat = term if term.check is not None else replace(term, members=tuple(_flat(term)))
        if flat.check is None and _is_plain(flat) and _is_deep(flat):
            aside += flat.unmapped if any(member.weight for member in flat.members) else _unsaid(flat)
            yield from _spread(_scaled(flat), aside)
        else:
            yield flat


def _flat(group: Term) -> Iterator[Term]:
    """Yield the members of a group, plain groups among them as their own members."""
    for member in group.members:
        if member.check is None and group.combine == AVERAGE and _is_plain(member) and not _unsaid(member):
            yield from _flat(replace(member, members=tuple(_scaled(member))))
        else:
            yield member


def _unsaid(group: Term) -> list[Mapping[str, Any]]:
    """Return what could not be said of a group and of all within."""
    return [*group.unmapped, *(item for member in group.members for item in _unsaid(member))]


def _scaled(group: Term) -> Iterator[Term]:
    total = sum((member.weight for member in group.members), Fraction(0))
    if not total:
        yield Term(group.name, group.pointer, dict(_NEVER), weight=group.weight)
    for member in group.members if total else ():
        yield replace(member, weight=group.weight * member.weight / total)


def _is_plain(term: Term) -> bool:
    gated = term.gate is not None or any(member.gate is not None for member in term.members)
    return term.check is None and term.combine == AVERAGE and not gated and not term.negate


def _is_deep(term: Term) -> bool:
    return any(member.check is None for member in term.members)


def _referring(group: Term, inner: list[ArtifactDraft]) -> Term:
    """Return a group as the check that refers to its rubric."""
    value = _value(group.members, group.combine, group.passes)
    value |= {"x_unmapped": list(group.unmapped)} if group.unmapped else {}
    draft = _draft(value, group.pointer)
    inner.append(draft)
    return replace(group, check={"kind": "composite", "rubric_ref": draft.ref}, members=())


def _value(leaves: Sequence[Term], combine: str, passes: Fraction) -> dict[str, Any]:
    weighs = combine == AVERAGE
    if weighs and not any(term.weight for term in leaves):
        return {
            "checks": [{"id": "no_weight", **_NEVER}],
            "scoring": {"combine": combine, "threshold": _written(passes)},
        }
    ids = list(_ids(leaves))
    weights = dict(zip(ids, _numbers([term.weight for term in leaves]), strict=True)) if weighs else {}
    equal = len(set(weights.values())) == 1
    given = {} if equal else {id_: weight for id_, weight in weights.items() if weight != 1}
    required = [id_ for id_, term in zip(ids, leaves, strict=True) if term.gate is not None]
    scoring = {
        "combine": combine,
        **({"weights": given} if given else {}),
        **({"required": required} if required else {}),
        "threshold": _written(passes),
        **_COUNTED,
    }
    return {"checks": [_check(id_, term) for id_, term in zip(ids, leaves, strict=True)], "scoring": scoring}


def _check(id_: str, term: Term) -> Check:
    check = dict(term.check or {})
    negate = term.negate
    if negate and check["kind"] == "must_contain_any" and "min_matches" not in check:
        check, negate = {**check, "kind": "must_not_contain"}, False
    bar = term.gate if term.gate is not None else check.get("threshold")
    binary = term.steps == 1 and "jury" not in check and (bar is None or 0 < bar <= 1)
    check.pop("threshold", None)
    return {
        "id": id_,
        **check,
        **({"threshold": _written(bar)} if bar is not None and not binary else {}),
        **({"negate": True} if negate else {}),
    }


def _ids(leaves: Sequence[Term]) -> Iterator[str]:
    names = UniqueLabels()
    for term in leaves:
        word = make_slug(term.name) or str((term.check or {}).get("kind"))
        yield names.claim(word if word[0].isalpha() else f"n_{word}")


def _draft(value: dict[str, Any], pointer: Pointer) -> ArtifactDraft:
    first = value["checks"][0]
    return ArtifactDraft(Kind.RUBRIC, f"{first.get('id', first['kind'])}_{digest(value)[:8]}", value, pointer)


def _numbers(weights: Sequence[Fraction]) -> list[int | Decimal]:
    """Return weights as they are where all have a decimal, else all times what makes them whole: nothing moves."""
    if any(lcm(10**12, weight.denominator) != 10**12 for weight in weights):
        unit = lcm(*[weight.denominator for weight in weights])
        weights = [weight * unit for weight in weights]
    return [_written(weight) for weight in weights]


def _written(value: Fraction) -> int | Decimal:
    return int(value) if value.denominator == 1 else (Decimal(value.numerator) / value.denominator).normalize()
