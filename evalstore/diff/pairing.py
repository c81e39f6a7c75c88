"""Pairs the parts of two sides: checks by id or equal content, items of lists by one criterion after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import write_canonical

Item = TypeVar("Item")
CheckKey = Callable[[CheckState], str | None]
CheckPairs = Iterator[tuple[CheckState, CheckState]]
PairingStage = Callable[[list[CheckState], list[CheckState]], CheckPairs]


def pair_checks(old: RubricState, new: RubricState) -> RubricState:
    """Return `new` with the tokens of `old` on the checks that pair; others get a new token."""
    left, right = list(old.checks), list(new.checks)
    tokens: dict[int, str] = {}
    # What one stage paired is out of reach of the later, less certain ones.
    for stage in _STAGES:
        matches = {after.index: before.token for before, after in stage(left, right)}
        left = [check for check in left if check.token not in set(matches.values())]
        right = [check for check in right if check.index not in matches]
        tokens |= matches
    checks = tuple(replace(check, token=tokens.get(check.index, f"n{check.index}")) for check in new.checks)
    return replace(new, checks=checks)


def pair_items(old: Sequence[Item], new: Sequence[Item], *stages: Callable[[Item, Item], bool]) -> dict[int, int]:
    """Return new indices of items by old ones; each stage is a criterion for two items to pair, the surest first."""
    pairs: dict[int, int] = {}
    for is_match in stages:
        for place in (place for place in range(len(old)) if place not in pairs):
            free = (after for after in range(len(new)) if after not in pairs.values())
            if (after := next((after for after in free if is_match(old[place], new[after])), None)) is not None:
                pairs[place] = after
    return pairs


def make_canonical_demand(check: CheckState) -> str:
    """Return what a check demands as canonical JSON."""
    return write_canonical(list_demand(check))


def list_demand(check: CheckState) -> list[Any]:
    """Return what a check demands, without its name, weight and notes."""
    return [check.kind, check.params, str(check.threshold), check.negate]


def _match_unchanged(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    # Most checks are unchanged: comparing values is cheaper than writing them as canonical JSON.
    by_id = {check.id: check for check in right}
    for check in left:
        if (other := by_id.get(check.id)) and is_same(list_demand(check), list_demand(other)):
            yield check, other


def _match_by_key(key: CheckKey, left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    free: dict[str, list[CheckState]] = {}
    for check in reversed(right):
        if (name := key(check)) is not None:
            free.setdefault(name, []).append(check)
    for check in left:
        if (name := key(check)) is not None and free.get(name):
            yield check, free[name].pop()


def _key_by_content(check: CheckState) -> str | None:
    # Ids that are made from the order shift when a check is inserted; content does not.
    return None if check.has_id else make_canonical_demand(check)


def _key_by_index(check: CheckState) -> str | None:
    # Without an id, a check of another kind in the same place is the same check with another kind.
    return None if check.has_id else str(check.index)


# The surest first; a check that pairs by content alone was renamed.
_STAGES: tuple[PairingStage, ...] = (
    _match_unchanged,
    *(partial(_match_by_key, key) for key in (_key_by_content, attrgetter("id"), make_canonical_demand, _key_by_index)),
)
