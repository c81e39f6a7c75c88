"""Changes of who judges a check: one judge or several, their weights, and how their scores become one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq
from typing import Any, NamedTuple

from evalstore.checks.jury import WEIGHTED_AGGREGATES
from evalstore.diff.change import Change
from evalstore.diff.changes.walk import EditScript, Paths, with_param
from evalstore.diff.deciders.juries import ALONE, panel_of, voice
from evalstore.diff.pair import pair_items
from evalstore.diff.plain import is_same
from evalstore.diff.state import CheckState

Edits = Iterator[Change]
_ONE, _JURY = "judge_prompt_ref", "jury"
_OF_MEMBER, _OF_JURY = frozenset({_ONE, "weight"}), frozenset({"members", "aggregate"})
# Larger juries are not compared one by one.
_MEMBERS = 100
_WRITTEN = {"asks": "asks the same judges, written otherwise"}

Member = Mapping[str, Any]


class _Member(NamedTuple):
    """One member as it is now, with its place in the old jury and in the new one."""

    member: Member
    old: int | None
    new: int | None

    @property
    def ref(self) -> str:
        return str(self.member[_ONE])


def find_jury_changes(walk: EditScript, token: str) -> Edits:
    """Yield the edits of who judges a check; one judge is a jury of one."""
    check, goal = walk.current[token], walk.goal[token]
    if all(is_same(check.params[name], goal.params[name]) for name in (_ONE, _JURY)):
        return
    panels = [panel_of(side.params) for side in (check, goal)]
    if any(panel is None or len(panel.members) > _MEMBERS for panel in panels):
        old, new = ({name: side.params[name] for name in (_ONE, _JURY)} for side in (check, goal))
        yield walk.edit_check("unclassified-change", _JURY, _judged_as(check, goal.params), old=old, new=new)
    elif check.params[_JURY] is goal.params[_JURY] is None:
        done = with_param(check, _ONE, goal.params[_ONE])
        yield walk.edit_check("judge-ref-changed", _ONE, done, old=check.params[_ONE], new=goal.params[_ONE])
    else:
        yield from _JuryEdits(walk, check, goal).changes()


@dataclass(slots=True)
class _JuryEdits:
    """The members on the way from one jury to another."""

    walk: EditScript
    check: CheckState
    goal: CheckState
    seats: tuple[_Member, ...] = ()
    way: str = ALONE

    def changes(self) -> Edits:
        old, new = _jury(self.check.params), _jury(self.goal.params)
        pairs = _pairs(_refs(old["members"]), _refs(new["members"]))
        self.seats = tuple(_Member(member, at, pairs.get(at)) for at, member in enumerate(old["members"]))
        self.way = old["aggregate"]
        edits = [*self._moved(new["members"]), *self._noted(old, new), *self._joined(new)]
        # The same said otherwise: one judge is written as a jury of one, or back.
        yield from edits or [self._aggregate(new["aggregate"])]
        self.walk.adopt_check(_judged_as(self.walk.current[self.goal.token], self.goal.params))

    def _moved(self, members: Sequence[Member]) -> Edits:
        for place, seat in enumerate(self.seats):
            if seat.new is not None and seat.ref != (ref := members[seat.new][_ONE]):
                moved = seat._replace(member={**seat.member, _ONE: ref})
                seats = (*self.seats[:place], moved, *self.seats[place + 1 :])
                yield self._edit("judge-ref-changed", seats, old=seat.ref, new=ref, at=self._places(seat, _ONE))

    def _noted(self, old: Member, new: Member) -> Edits:
        token = self.goal.token
        yield from self.walk.edit_extra_keys(token, (old, new), at=((_JURY,), (_JURY,)), known=_OF_JURY)
        for seat in self.seats:
            if seat.new is not None:
                sides = (seat.member, new["members"][seat.new])
                yield from self.walk.edit_extra_keys(token, sides, at=self._places(seat), known=_OF_MEMBER)

    def _joined(self, new: Member) -> Edits:
        mine, theirs = sorted(seat.ref for seat in self.seats), sorted(_refs(new["members"]))
        final = tuple(_Member(member, None, at) for at, member in enumerate(new["members"]))
        if mine != theirs and self._says_as_much(final, new["aggregate"]):
            yield self._edit("jury-member-changed", final, new["aggregate"], old=mine, new=theirs, words=_WRITTEN)
            return
        # One judge says the same however it is joined, so the way changes where there are fewer.
        if len(mine) < len(theirs):
            yield from self._ways(new)
        known = [seat.new for seat in self.seats]
        yield from self._added([seat for seat in final if seat.new not in known])
        yield from self._removed()
        yield from self._ways(new)
        yield from self._reordered()

    def _ways(self, new: Member) -> Edits:
        # Weights change where they are not read, if there is such a place.
        if self.way not in WEIGHTED_AGGREGATES:
            yield from self._weights(new["members"])
        if self.way != new["aggregate"] and not self._goes_without_saying(self.seats, new["aggregate"]):
            yield self._aggregate(new["aggregate"])
        yield from self._weights(new["members"])

    def _aggregate(self, way: str) -> Change:
        old, new = ("no jury" if side.params[_JURY] is None else its for side, its in self._sides(self.way, way))
        return self._edit("jury-aggregation-changed", self.seats, way, old=old, new=new, at=self._roots("aggregate"))

    def _weights(self, members: Sequence[Member]) -> Edits:
        after = tuple(
            seat if seat.new is None else seat._replace(member={**seat.member, "weight": members[seat.new]["weight"]})
            for seat in self.seats
        )
        moved = [pair for pair in zip(self.seats, after, strict=True) if pair[0] != pair[1]]
        if moved and not self._goes_without_saying(after, self.way):
            old, new = ({seat.ref: seat.member["weight"] for seat in side} for side in zip(*moved, strict=True))
            at = self._places(moved[0][0], "weight") if len(moved) == 1 else self._roots("members")
            yield self._edit("jury-weight-changed", after, old=old, new=new, at=at)

    def _added(self, seats: list[_Member]) -> Edits:
        # What comes is there before what goes, so that there is always somebody to ask.
        for seat in seats:
            at = (None, self._places(seat)[1])
            yield self._edit(
                "jury-member-changed", (*self.seats, seat), new=dict(seat.member), at=at, words=_words(seat)
            )

    def _removed(self) -> Edits:
        for seat in self.seats:
            if seat.new is None:
                left = tuple(other for other in self.seats if other is not seat)
                at = (self._places(seat)[0], None)
                yield self._edit("jury-member-changed", left, old=dict(seat.member), at=at, words=_words(seat))

    def _reordered(self) -> Edits:
        order = tuple(sorted(self.seats, key=lambda seat: seat.new or 0))
        old, new = ([seat.ref for seat in seats if seat.old is not None] for seats in (self.seats, order))
        if old != new:
            yield self._edit(
                "list-reordered", order, old=old, new=new, at=self._roots("members"), words={"where": "the jury"}
            )

    def _edit(self, rule: str, seats: tuple[_Member, ...], way: str = "", **facts: Any) -> Change:
        self.seats, self.way = seats, way or self.way
        done = _judged_as(self.walk.current[self.goal.token], _seated(seats, self.way))
        return self.walk.edit_check(rule, _JURY, done, **{"at": self._roots("members"), **facts})

    def _says_as_much(self, seats: tuple[_Member, ...], way: str) -> bool:
        here = self.walk.current[self.goal.token].params
        before, after = (panel_of({**here, **_seated(*side)}) for side in ((self.seats, self.way), (seats, way)))
        return bool(before and after and (said := voice(before)) and said == voice(after))

    def _goes_without_saying(self, seats: tuple[_Member, ...], way: str) -> bool:
        """Settle what makes no difference to one judge, where one side has no jury to write it in."""
        written = self.check.params[_JURY] is not None and self.goal.params[_JURY] is not None
        if written or not self._says_as_much(seats, way):
            return False
        self.seats, self.way = seats, way
        self.walk.adopt_check(_judged_as(self.walk.current[self.goal.token], _seated(seats, way)))
        return True

    def _sides(self, *values: Any) -> Iterator[tuple[CheckState, Any]]:
        return zip((self.check, self.goal), values, strict=True)

    def _places(self, seat: _Member, *path: str) -> Paths:
        old, new = (
            (_ONE,) if side.params[_JURY] is None else (_JURY, "members", index or 0, *path)
            for side, index in self._sides(seat.old, seat.new)
        )
        return old, new

    def _roots(self, key: str) -> Paths:
        old, new = ((_ONE,) if side.params[_JURY] is None else (_JURY, key) for side in (self.check, self.goal))
        return old, new


def _judged_as(check: CheckState, params: Mapping[str, Any]) -> CheckState:
    return replace(check, params={**check.params, _ONE: params[_ONE], _JURY: params[_JURY]})


def _seated(seats: Sequence[_Member], way: str) -> dict[str, Any]:
    return {_ONE: None, _JURY: {"members": [dict(seat.member) for seat in seats], "aggregate": way}}


def _jury(params: Mapping[str, Any]) -> Member:
    jury: Member | None = params[_JURY]
    return jury or {"members": [{_ONE: params[_ONE], "weight": 1}], "aggregate": ALONE}


def _refs(members: Sequence[Member]) -> list[str]:
    return [member[_ONE] for member in members]


def _words(seat: _Member) -> dict[str, str]:
    return {"asks": f"{'no longer' if seat.new is None else 'also'} asks {seat.ref}"}


def _pairs(old: list[str], new: list[str]) -> dict[int, int]:
    """Return which member is which: by reference, by judge, and the one that takes the place of another."""
    found = pair_items(old, new, eq, _are_of_one_judge)
    gone, come = (sorted({*range(len(side))} - {*known}) for side, known in ((old, found), (new, found.values())))
    return {**found, gone[0]: come[0]} if len(gone) == len(come) == 1 else found


def _are_of_one_judge(one: str, other: str) -> bool:
    return one.partition("@")[0] == other.partition("@")[0]
