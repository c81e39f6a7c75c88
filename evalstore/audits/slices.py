"""Breaks an audit down by tag, group or check, with p-values adjusted for their number; pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from evalstore.model import Question
from evalstore.runs import GradedRow
from evalstore.statistics import ExactMean, compute_holm_p_values, compute_sign_flip_p, count_units

_SAMPLED = frozenset({"outputs", "input"})
_NONE = "(none)"  # the name for questions without a tag or a group


class SliceKind(StrEnum):
    """What questions are sliced by."""

    TAG = "tag"
    GROUP = "group"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class AuditSlice:
    """One slice: how many questions are compared, and the change of their mean score.

    `shares` are those of each factor in it. `scored_a` and `scored_b` count the questions that
    either run scored: if they differ, some are behind a line. For a check, everything is about the
    check itself: its mean score over the questions on which both runs graded it (None if there are
    none), and on how many each did; there are no shares. `p` is the sign-flip mid-p of what the
    outputs did, `p_holm` the same adjusted for the number of slices; None if they changed nothing,
    or their share is estimated.
    """

    name: str
    questions: int
    scored_a: int
    scored_b: int
    change: Fraction | None
    shares: Mapping[str, Fraction]
    p: float | None = None
    p_holm: float | None = None


@dataclass(slots=True)
class Slicer:
    """Slices the questions of an audit `by` a tag, group or check."""

    by: SliceKind
    _questions: int = 0
    # By label the places of its questions, by check the change of its score.
    _places: dict[str, array[int]] = field(default_factory=dict)
    _changes: dict[str, ExactMean] = field(default_factory=dict)
    # By label or check, on how many questions run A and run B have a score.
    _scored: dict[str, list[int]] = field(default_factory=dict)

    @property
    def has_places(self) -> bool:
        """Whether slices identify their questions by place."""
        return self.by is not SliceKind.CHECK

    def add_question(
        self,
        rows: tuple[GradedRow | None, GradedRow | None],
        asked: Mapping[str, Any],
        *,
        is_compared: bool,
    ) -> None:
        """Add one question, as each run has it.

        `asked` is its row in the dataset of B, or else of A.
        """
        if self.by is SliceKind.CHECK:
            self._add_checks(rows)
        else:
            for name in self._list_labels(rows, asked):
                for side, row in enumerate(rows):
                    scored = self._scored.setdefault(name, [0, 0])
                    scored[side] += row is not None and row.score is not None
                places = self._places.setdefault(name, array("L"))
                if is_compared:
                    places.append(self._questions)
        self._questions += is_compared

    def _list_labels(
        self, rows: tuple[GradedRow | None, GradedRow | None], asked: Mapping[str, Any]
    ) -> list[str]:
        if self.by is SliceKind.TAG:
            return read_tags(asked) or [_NONE]
        return [next((row.group for row in rows[::-1] if row is not None and row.group), _NONE)]

    def list_slices(
        self,
        shares: Mapping[str, Mapping[int, Fraction]],
        groups: Sequence[str | None],
        *,
        is_estimated: bool,
    ) -> tuple[AuditSlice, ...]:
        """Return the slices; those of checks are as recorded.

        `shares` are by factor, then question, without zeros. What is estimated from all anchors has
        no separate test in a slice.
        """
        if self.by is SliceKind.CHECK:
            return tuple(self._list_check_slices())
        groups_of = sorted(self._places.items())
        slices = (
            _sum_slice(name, at, self._scored[name], shares, groups) for name, at in groups_of
        )
        return _adjust_p_values([replace(one, p=None) if is_estimated else one for one in slices])

    def _list_check_slices(self) -> Iterator[AuditSlice]:
        for id_, mean in sorted(self._changes.items()):
            old, new = self._scored[id_]
            yield AuditSlice(id_, mean.count, old, new, mean.compute_mean(), {})

    def _add_checks(self, rows: tuple[GradedRow | None, GradedRow | None]) -> None:
        before, after = (
            {check.id: check.score for check in row.checks} if row else {} for row in rows
        )
        for id_ in {**before, **after}:
            old, new = before.get(id_), after.get(id_)
            scored, change = (
                self._scored.setdefault(id_, [0, 0]),
                self._changes.setdefault(id_, ExactMean()),
            )
            scored[0] += old is not None
            scored[1] += new is not None
            if old is not None and new is not None:
                change.add(new - old)


def read_tags(row: Mapping[str, Any]) -> list[str]:
    """Return the tags of a question's row."""
    tags = row.get("tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def map_tags(questions: Iterable[Question]) -> dict[str, tuple[str, ...]]:
    """Return the tags of questions by id, for those that have any."""
    found = ((question.id, tuple(read_tags(question.row))) for question in questions)
    return {id_: tags for id_, tags in found if tags}


def _sum_slice(
    name: str,
    places: Sequence[int],
    scored: Sequence[int],
    shares: Mapping[str, Mapping[int, Fraction]],
    groups: Sequence[str | None],
) -> AuditSlice:
    zero = Fraction(0)
    if not places:
        return AuditSlice(name, 0, scored[0], scored[1], None, {})
    sums = {name: sum((held.get(at, zero) for at in places), zero) for name, held in shares.items()}
    means = {factor: total / len(places) for factor, total in sums.items() if total}
    own = [sum(moves, zero) for moves in zip(*_list_own(places, shares), strict=True)]
    p = (
        compute_sign_flip_p(count_units(own, [groups[place] for place in places]))
        if any(own)
        else None
    )
    change = sum(means.values(), zero)
    return AuditSlice(name, len(places), scored[0], scored[1], change, means, p)


def _list_own(
    places: Sequence[int], shares: Mapping[str, Mapping[int, Fraction]]
) -> Iterator[list[Fraction]]:
    yield [Fraction(0)] * len(places)
    for factor, held in shares.items():
        if factor in _SAMPLED:
            yield [held.get(place, Fraction(0)) for place in places]


def _adjust_p_values(slices: Sequence[AuditSlice]) -> tuple[AuditSlice, ...]:
    tested = [one.p for one in slices if one.p is not None]
    adjusted = iter(compute_holm_p_values(tested))
    return tuple(one if one.p is None else replace(one, p_holm=next(adjusted)) for one in slices)
