"""Finds a group of checks whose edits change the score one by one, but not together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice

from evalstore.diff.change import Change, Proof, RubricEffect
from evalstore.diff.deciders.unmoved import explain_same_result
from evalstore.diff.effects.edits import find_effects
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import list_demand, make_canonical_demand
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import write_canonical
from evalstore.model import is_cosmetic

_Tokens = tuple[str, ...]


def find_regrouping(old: RubricState, new: RubricState) -> Iterator[Change]:
    """Yield the edit of one group of checks whose edits change the score alone, but not together.

    Nothing is yielded if there is no such group. Paired checks of `old` and `new` share a token.
    """
    edited = _list_edited(old, new)
    if not 1 < len(edited) <= COMPARED.composite_checks or {*old.tokens} == {*new.tokens}:
        return
    singles: list[_Tokens] = [(token,) for token in edited]
    groups = list(islice(_list_groups(edited), COMPARED.composite_groups - len(singles)))
    mixed = {group: _mix_rubrics(old, new, group) for group in (*singles, *groups)}
    effects = dict(
        zip(mixed, find_effects([(old, after) for after in mixed.values()], None), strict=True)
    )
    group = _choose_group(groups, effects)
    if group and (effect := effects[group]):
        yield _build_regrouping(old, mixed[group], group, Proof(explain_same_result(effect)))


def _choose_group(
    groups: Sequence[_Tokens], effects: Mapping[_Tokens, RubricEffect | None]
) -> _Tokens | None:
    """Return the smallest group whose edits change the score alone, but not together.

    Other checks for which this is true as well, in one group with it, are added to it.
    """
    moving = [tokens for tokens, effect in effects.items() if effect is None or effect.moves]
    movers = {tokens[0] for tokens in moving if len(tokens) == 1}
    still = [group for group in groups if (effect := effects[group]) and not effect.moves]
    first = next((group for group in still if not movers.isdisjoint(group)), None)
    if first is None:
        return None
    return max((group for group in still if {*first} <= {*group} <= {*first} | movers), key=len)


def _mix_rubrics(old: RubricState, new: RubricState, tokens: Sequence[str]) -> RubricState:
    """Return the old rubric with these checks as the new one has them.

    They keep their ids, notes and places.
    """
    kept = {token for token in old.tokens if token not in tokens or token in new.tokens}
    order = [token for token in new.tokens if token in kept or token in tokens]
    # The new order is used, so that no later edit has to move a check, unless the checks that stay
    # were reordered too: that is a separate edit.
    if [token for token in order if token in kept] != [
        token for token in old.tokens if token in {*order} & kept
    ]:
        order = [
            *(token for token in old.tokens if token in order),
            *(token for token in order if token not in kept),
        ]
    left = [token for token in old.tokens if token in kept and token not in order]
    return replace(
        old, checks=tuple(_choose_side(old, new, token, tokens) for token in (*left, *order))
    )


def _choose_side(
    old: RubricState, new: RubricState, token: str, tokens: Sequence[str]
) -> CheckState:
    if token not in tokens:
        return old[token]
    if token not in old.tokens:
        return new[token]
    before = old[token]
    return replace(
        new[token], id=before.id, has_id=before.has_id, index=before.index, extras=before.extras
    )


def _list_edited(old: RubricState, new: RubricState) -> list[str]:
    """Return the tokens of checks that were edited, added or removed.

    Added and removed checks with extra keys that something may read are left out.
    """
    paired = [token for token in old.tokens if token in new.tokens]
    edited = [
        token for token in paired if not is_same(list_demand(old[token]), list_demand(new[token]))
    ]
    removed = [check for check in old.checks if check.token not in paired]
    added = [check for check in new.checks if check.token not in paired]
    return [
        *edited,
        *(check.token for check in (*removed, *added) if all(map(is_cosmetic, check.extras))),
    ]


def _list_groups(edited: Sequence[str]) -> Iterator[_Tokens]:
    """Yield groups of limited size, the smallest first, and then the group of all."""
    for size in range(2, min(len(edited), COMPARED.composite_group) + 1):
        yield from combinations(edited, size)
    if len(edited) > COMPARED.composite_group:
        yield tuple(edited)


def _build_regrouping(old: RubricState, after: RubricState, group: _Tokens, proof: Proof) -> Change:
    sides = [[check for check in state.checks if check.token in group] for state in (old, after)]
    names = [[check.id for check in side] for side in sides]
    return Change(
        "checks-regrouped",
        old=names[0],
        new=names[1],
        old_pointer=("checks",),
        new_pointer=("checks",),
        before=old,
        after=after,
        words={"group": ", ".join(names[0]), "checks": ", ".join(names[1])},
        proof=proof,
        discriminator=write_canonical(
            [[make_canonical_demand(check) for check in side] for side in sides]
        ),
    )
