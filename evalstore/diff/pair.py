"""Finds which part of one side is which of the other: checks by id or equal content, items of lists by likeness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from evalstore.diff.plain import same
from evalstore.diff.state import CheckState, RubricState
from evalstore.documents import canonical

Item = TypeVar("Item")
Key = Callable[[CheckState], str | None]
Pairs = Iterator[tuple[CheckState, CheckState]]
Stage = Callable[[list[CheckState], list[CheckState]], Pairs]


def pair(old: RubricState, new: RubricState) -> RubricState:
    """Return `new` with the tokens of `old` on the checks that are the same."""
    left, right = list(old.checks), list(new.checks)
    tokens: dict[int, str] = {}
    for stage in _STAGES:
        found = {after.index: before.token for before, after in stage(left, right)}
        left = [check for check in left if check.token not in set(found.values())]
        right = [check for check in right if check.index not in found]
        tokens |= found
    checks = tuple(replace(check, token=tokens.get(check.index, f"n{check.index}")) for check in new.checks)
    return replace(new, checks=checks)


def paired(old: Sequence[Item], new: Sequence[Item], *stages: Callable[[Item, Item], bool]) -> dict[int, int]:
    """Return new places of items by old ones; each stage pairs what is alike in its way, the surest first."""
    pairs: dict[int, int] = {}
    for alike in stages:
        for place in (place for place in range(len(old)) if place not in pairs):
            free = (after for after in range(len(new)) if after not in pairs.values())
            if (after := next((after for after in free if alike(old[place], new[after])), None)) is not None:
                pairs[place] = after
    return pairs


def content(check: CheckState) -> str:
    """Return what a check demands, as one text."""
    return canonical(demand(check))


def demand(check: CheckState) -> list[Any]:
    """Return what a check demands, without its name, weight and notes."""
    return [check.kind, check.params, str(check.threshold), check.negate]


def _unmoved(left: list[CheckState], right: list[CheckState]) -> Pairs:
    # Most checks are these, so nothing of theirs is written out.
    named = {check.id: check for check in right}
    for check in left:
        if (other := named.get(check.id)) and same(demand(check), demand(other)):
            yield check, other


def _matches(key: Key, left: list[CheckState], right: list[CheckState]) -> Pairs:
    free: dict[str, list[CheckState]] = {}
    for check in reversed(right):
        if (name := key(check)) is not None:
            free.setdefault(name, []).append(check)
    for check in left:
        if (name := key(check)) is not None and free.get(name):
            yield check, free[name].pop()


def _unnamed(check: CheckState) -> str | None:
    # Ids that come from the order shift when a check is put in between; then the content says who is who.
    return None if check.named else content(check)


def _seat(check: CheckState) -> str | None:
    # Without an id, a check of another kind in the same place is the same check with another kind.
    return None if check.named else str(check.index)


# The surest first; a check that only its content identifies was renamed.
_STAGES: tuple[Stage, ...] = (
    _unmoved,
    *(partial(_matches, key) for key in (_unnamed, attrgetter("id"), content, _seat)),
)
