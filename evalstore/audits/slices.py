"""Sums an audit up by slices of its questions: by tag, by group, or by check; with p-values for their number; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from evalstore.runs import GradedRow
from evalstore.statistics import compute_holm_p_values, compute_sign_flip_p

_SAMPLED = frozenset({"outputs", "input"})
_NONE = "(none)"  # of questions without a tag or a group


class SliceKind(StrEnum):
    """By what questions are sliced."""

    TAG = "tag"
    GROUP = "group"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class AuditSlice:
    """One slice: how many questions, the change of their mean score, and each factor's share in it.

    Of a check it is the change of the check's own mean score, and there are no shares. `p` is the sign-flip mid-p of
    what the outputs did, `p_holm` the same adjusted for the number of slices; None where outputs changed nothing.
    """

    name: str
    questions: int
    change: Fraction
    shares: Mapping[str, Fraction]
    p: float | None = None
    p_holm: float | None = None


def slice_by_labels(
    labels: Sequence[Sequence[str]], shares: Mapping[str, Mapping[int, Fraction]], groups: Sequence[str | None]
) -> tuple[AuditSlice, ...]:
    """Return a slice for each label; `labels` are by question, `shares` by factor, then question, without zeros."""
    places: dict[str, list[int]] = {}
    for place, names in enumerate(labels):
        for name in names or [_NONE]:
            places.setdefault(name, []).append(place)
    slices = (_sum_slice(name, places[name], shares, groups) for name in sorted(places))
    return _adjust_p_values([*slices])


def slice_by_check(pairs: Sequence[tuple[GradedRow, GradedRow]]) -> tuple[AuditSlice, ...]:
    """Return a slice for each check that both runs graded, from what they recorded."""
    changes: dict[str, list[Fraction]] = {}
    for old, new in pairs:
        before = {check.id: check.score for check in old.checks}
        for check in new.checks:
            if check.score is not None and (score := before.get(check.id)) is not None:
                changes.setdefault(check.id, []).append(check.score - score)
    return tuple(
        AuditSlice(id_, len(moves), sum(moves, Fraction(0)) / len(moves), {}) for id_, moves in sorted(changes.items())
    )


def _sum_slice(
    name: str, places: Sequence[int], shares: Mapping[str, Mapping[int, Fraction]], groups: Sequence[str | None]
) -> AuditSlice:
    zero = Fraction(0)
    sums = {factor: sum((held.get(place, zero) for place in places), zero) for factor, held in shares.items()}
    means = {factor: total / len(places) for factor, total in sums.items() if total}
    own = [sum(moves, zero) for moves in zip(*_list_own(places, shares), strict=True)]
    p = compute_sign_flip_p(own, [groups[place] for place in places]) if any(own) else None
    return AuditSlice(name, len(places), sum(means.values(), zero), means, p)


def _list_own(places: Sequence[int], shares: Mapping[str, Mapping[int, Fraction]]) -> Iterator[list[Fraction]]:
    yield [Fraction(0)] * len(places)
    for factor, held in shares.items():
        if factor in _SAMPLED:
            yield [held.get(place, Fraction(0)) for place in places]


def _adjust_p_values(slices: Sequence[AuditSlice]) -> tuple[AuditSlice, ...]:
    tested = [one.p for one in slices if one.p is not None]
    adjusted = iter(compute_holm_p_values(tested))
    return tuple(one if one.p is None else replace(one, p_holm=next(adjusted)) for one in slices)
