"""Finds the changes in which judges a check asks: the members, their weights, the aggregate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq
from typing import Any, NamedTuple

from evalstore.checks.votes import WEIGHTED_AGGREGATES
from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import EditScript, Paths, set_param
from evalstore.diff.deciders.juries import SINGLE_JUDGE_AGGREGATE, find_aggregation_key, read_jury
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import pair_items
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import Pointer

Edits = Iterator[Change]
_SINGLE, _JURY = "judge_prompt_ref", "jury"
_MEMBER_KEYS, _JURY_KEYS = frozenset({_SINGLE, "weight"}), frozenset({"members", "aggregate"})
_SAME_JUDGES = {"asks": "asks the same judges, written differently"}

Member = Mapping[str, Any]


class _PlacedMember(NamedTuple):
    """A member of the current jury, with its index in the old jury and in the new one."""

    entry: Member
    old: int | None
    new: int | None

    @property
    def ref(self) -> str:
        return str(self.entry[_SINGLE])


def find_jury_changes(script: EditScript, token: str) -> Edits:
    """Yield the edits of who judges a check; a single judge counts as a jury of one."""
    check, goal = script.current[token], script.goal[token]
    if all(is_same(check.params[name], goal.params[name]) for name in (_SINGLE, _JURY)):
        return
    panels = [read_jury(side.params) for side in (check, goal)]
    # A jury that scoring would refuse, or a very large one, is compared as a whole.
    if any(panel is None or len(panel.members) > COMPARED.items for panel in panels):
        old, new = (
            {name: side.params[name] for name in (_SINGLE, _JURY)} for side in (check, goal)
        )
        yield script.edit_check(
            "unclassified-change", _JURY, _replace_judges(check, goal.params), old=old, new=new
        )
    elif check.params[_JURY] is goal.params[_JURY] is None:
        edited = set_param(check, _SINGLE, goal.params[_SINGLE])
        yield script.edit_check(
            "judge-ref-changed",
            _SINGLE,
            edited,
            old=check.params[_SINGLE],
            new=goal.params[_SINGLE],
        )
    else:
        yield from _JuryEdits(script, check, goal).find_changes()


@dataclass(slots=True)
class _JuryEdits:
    """The edits from one jury to another; `members` and `aggregate` are the current ones."""

    script: EditScript
    start: CheckState
    goal: CheckState
    members: tuple[_PlacedMember, ...] = ()
    aggregate: str = SINGLE_JUDGE_AGGREGATE

    def find_changes(self) -> Edits:
        old, new = _get_jury(self.start.params), _get_jury(self.goal.params)
        pairs = _pair_members(_list_refs(old["members"]), _list_refs(new["members"]))
        self.members = tuple(
            _PlacedMember(member, at, pairs.get(at)) for at, member in enumerate(old["members"])
        )
        self.aggregate = old["aggregate"]
        edits = [
            *self._move_references(new["members"]),
            *self._edit_notes(old, new),
            *self._change_members(new),
        ]
        # There is no edit if one judge becomes a jury of one, or the other way round. That is
        # reported as a change of the aggregate.
        yield from edits or [self._edit_aggregate(new["aggregate"])]
        self.script.adopt_check(
            _replace_judges(self.script.current[self.goal.token], self.goal.params)
        )

    def _move_references(self, goal_members: Sequence[Member]) -> Edits:
        for place, member in enumerate(self.members):
            if member.new is not None and member.ref != (ref := goal_members[member.new][_SINGLE]):
                moved = member._replace(entry={**member.entry, _SINGLE: ref})
                members = (*self.members[:place], moved, *self.members[place + 1 :])
                yield self._edit_jury(
                    "judge-ref-changed",
                    members,
                    old=member.ref,
                    new=ref,
                    at=self._locate_member(member, _SINGLE),
                )

    def _edit_notes(self, old: Member, new: Member) -> Edits:
        token = self.goal.token
        yield from self.script.edit_extra_keys(
            token, (old, new), at=((_JURY,), (_JURY,)), known=_JURY_KEYS
        )
        for member in self.members:
            if member.new is not None:
                sides = (member.entry, new["members"][member.new])
                yield from self.script.edit_extra_keys(
                    token, sides, at=self._locate_member(member), known=_MEMBER_KEYS
                )

    def _change_members(self, new: Member) -> Edits:
        old_refs, new_refs = (
            sorted(member.ref for member in self.members),
            sorted(_list_refs(new["members"])),
        )
        final = tuple(_PlacedMember(member, None, at) for at, member in enumerate(new["members"]))
        if old_refs != new_refs and self._is_equivalent(final, new["aggregate"]):
            yield self._edit_jury(
                "jury-member-changed",
                final,
                new["aggregate"],
                old=old_refs,
                new=new_refs,
                words=_SAME_JUDGES,
            )
            return
        # The aggregate changes while there are fewer members: with one judge, all aggregates give
        # the same score.
        if len(old_refs) < len(new_refs):
            yield from self._change_aggregation(new)
        known = [member.new for member in self.members]
        yield from self._add_members([member for member in final if member.new not in known])
        yield from self._remove_members()
        yield from self._change_aggregation(new)
        yield from self._reorder_members()

    def _change_aggregation(self, new: Member) -> Edits:
        # Weights change under an aggregate that does not read them, if either side has one.
        if self.aggregate not in WEIGHTED_AGGREGATES:
            yield from self._edit_weights(new["members"])
        if self.aggregate != new["aggregate"] and not self._adopt_if_equivalent(
            self.members, new["aggregate"]
        ):
            yield self._edit_aggregate(new["aggregate"])
        yield from self._edit_weights(new["members"])

    def _edit_aggregate(self, aggregate: str) -> Change:
        old = "no jury" if self.start.params[_JURY] is None else self.aggregate
        new = "no jury" if self.goal.params[_JURY] is None else aggregate
        at = self._locate_key("aggregate")
        return self._edit_jury(
            "jury-aggregation-changed", self.members, aggregate, old=old, new=new, at=at
        )

    def _edit_weights(self, members: Sequence[Member]) -> Edits:
        after = tuple(_adopt_weight(member, members) for member in self.members)
        moved = [pair for pair in zip(self.members, after, strict=True) if pair[0] != pair[1]]
        if not moved or self._adopt_if_equivalent(after, self.aggregate):
            return
        old = {member.ref: member.entry["weight"] for member, _ in moved}
        new = {member.ref: member.entry["weight"] for _, member in moved}
        lone = moved[0][0] if len(moved) == 1 else None
        at = self._locate_member(lone, "weight") if lone else self._locate_key("members")
        yield self._edit_jury("jury-weight-changed", after, old=old, new=new, at=at)

    def _add_members(self, members: list[_PlacedMember]) -> Edits:
        # Members are added before others are removed, so that the jury is never empty.
        for member in members:
            at = (None, self._locate_member(member)[1])
            yield self._edit_jury(
                "jury-member-changed",
                (*self.members, member),
                new=dict(member.entry),
                at=at,
                words=_describe_member(member),
            )

    def _remove_members(self) -> Edits:
        for member in self.members:
            if member.new is None:
                left = tuple(other for other in self.members if other is not member)
                at = (self._locate_member(member)[0], None)
                yield self._edit_jury(
                    "jury-member-changed",
                    left,
                    old=dict(member.entry),
                    at=at,
                    words=_describe_member(member),
                )

    def _reorder_members(self) -> Edits:
        order = tuple(sorted(self.members, key=lambda member: member.new or 0))
        old = [member.ref for member in self.members if member.old is not None]
        new = [member.ref for member in order if member.old is not None]
        if old != new:
            at, words = self._locate_key("members"), {"where": "the jury"}
            yield self._edit_jury("list-reordered", order, old=old, new=new, at=at, words=words)

    def _edit_jury(
        self, rule: str, members: tuple[_PlacedMember, ...], aggregate: str = "", **facts: Any
    ) -> Change:
        edited = self._seat_members(members, aggregate or self.aggregate)
        return self.script.edit_check(
            rule, _JURY, edited, **{"at": self._locate_key("members"), **facts}
        )

    def _seat_members(self, members: tuple[_PlacedMember, ...], aggregate: str) -> CheckState:
        """Make another jury the current one, and return the current check with it."""
        self.members, self.aggregate = members, aggregate
        return _replace_judges(
            self.script.current[self.goal.token], _build_params(members, aggregate)
        )

    def _is_equivalent(self, members: tuple[_PlacedMember, ...], aggregate: str) -> bool:
        before, after = (
            self._find_key(self.members, self.aggregate),
            self._find_key(members, aggregate),
        )
        return before is not None and before == after

    def _find_key(
        self, members: tuple[_PlacedMember, ...], aggregate: str
    ) -> tuple[Any, ...] | None:
        params = self.script.current[self.goal.token].params
        jury = read_jury({**params, **_build_params(members, aggregate)})
        return jury and find_aggregation_key(jury)

    def _adopt_if_equivalent(self, members: tuple[_PlacedMember, ...], aggregate: str) -> bool:
        """Adopt a jury without a change, if one side has no jury and all scores stay equal."""
        written = self.start.params[_JURY] is not None and self.goal.params[_JURY] is not None
        if written or not self._is_equivalent(members, aggregate):
            return False
        self.script.adopt_check(self._seat_members(members, aggregate))
        return True

    def _locate_member(self, member: _PlacedMember, *path: str) -> Paths:
        return self._locate(
            ("members", member.old or 0, *path), ("members", member.new or 0, *path)
        )

    def _locate_key(self, key: str) -> Paths:
        return self._locate((key,), (key,))

    def _locate(self, old: Pointer, new: Pointer) -> Paths:
        """Return where these parts of both juries are; for a single judge, where it is named."""
        sides = ((self.start, old), (self.goal, new))
        before, after = (
            (_SINGLE,) if side.params[_JURY] is None else (_JURY, *path) for side, path in sides
        )
        return before, after


def _replace_judges(check: CheckState, params: Mapping[str, Any]) -> CheckState:
    return replace(check, params={**check.params, _SINGLE: params[_SINGLE], _JURY: params[_JURY]})


def _build_params(members: Sequence[_PlacedMember], aggregate: str) -> dict[str, Any]:
    return {
        _SINGLE: None,
        _JURY: {"members": [dict(member.entry) for member in members], "aggregate": aggregate},
    }


def _get_jury(params: Mapping[str, Any]) -> Member:
    jury: Member | None = params[_JURY]
    return jury or {
        "members": [{_SINGLE: params[_SINGLE], "weight": 1}],
        "aggregate": SINGLE_JUDGE_AGGREGATE,
    }


def _list_refs(members: Sequence[Member]) -> list[str]:
    return [member[_SINGLE] for member in members]


def _describe_member(member: _PlacedMember) -> dict[str, str]:
    return {"asks": f"{'no longer' if member.new is None else 'also'} asks {member.ref}"}


def _adopt_weight(member: _PlacedMember, members: Sequence[Member]) -> _PlacedMember:
    """Return a member with its new weight; a member that is removed keeps its old weight."""
    if member.new is None:
        return member
    return member._replace(entry={**member.entry, "weight": members[member.new]["weight"]})


def _pair_members(old: list[str], new: list[str]) -> dict[int, int]:
    """Return new indices of members by old ones.

    Members pair by reference, then by judge. If one on each side is left, these two pair as well.
    """
    found = pair_items(old, new, eq, _has_same_judge)
    removed = sorted({*range(len(old))} - {*found})
    added = sorted({*range(len(new))} - {*found.values()})
    return {**found, removed[0]: added[0]} if len(removed) == len(added) == 1 else found


def _has_same_judge(one: str, other: str) -> bool:
    return one.partition("@")[0] == other.partition("@")[0]
