"""Pairs the checks of two rubrics, and items of two lists, before and after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Any, TypeVar

from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import COMPARED
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import write_canonical

Item = TypeVar("Item")
CheckKey = Callable[[CheckState], str | None]
CheckPairs = Iterator[tuple[CheckState, CheckState]]
PairingStage = Callable[[list[CheckState], list[CheckState]], CheckPairs]
# Two checks, or statements, that share at least this part of their words count as one, reworded.
NEAR_WORDS = 0.6


def pair_checks(old: RubricState, new: RubricState) -> RubricState:
    """Return `new`; its checks that pair get the tokens of `old`, and others get new ones.

    An unchanged check is the same object on both sides.
    """
    left, right = list(old.checks), list(new.checks)
    former: dict[int, CheckState] = {}
    # Later stages are less certain, so they see only what is not paired yet.
    for stage in _STAGES:
        if not (left and right):
            break
        matches = {after.index: before for before, after in stage(left, right)}
        paired = {check.token for check in matches.values()}
        left = [check for check in left if check.token not in paired]
        right = [check for check in right if check.index not in matches]
        former |= matches
    checks = tuple(_name_check(check, former.get(check.index)) for check in new.checks)
    return replace(new, checks=checks)


def _name_check(check: CheckState, former: CheckState | None) -> CheckState:
    token = former.token if former else f"n{check.index}"
    named = check if check.token == token else replace(check, token=token)
    is_untouched = former and is_same(_list_facts(former), _list_facts(named))
    return former if former and is_untouched else named


def _list_facts(check: CheckState) -> list[Any]:
    """Return everything about a check: two checks with the same facts are equal."""
    at = check.token, check.index, check.id, check.has_id
    weighed = str(check.weight), check.is_required
    return [*at, *weighed, list_demand(check), dict(check.extras), dict(check.rubrics)]


def pair_items(
    old: Sequence[Item], new: Sequence[Item], *stages: Callable[[Item, Item], bool]
) -> dict[int, int]:
    """Return new indices of items by old ones; each stage is a criterion, the surest first."""
    pairs: dict[int, int] = {}
    for is_match in stages:
        for place in (place for place in range(len(old)) if place not in pairs):
            free = (after for after in range(len(new)) if after not in pairs.values())
            if (
                after := next((after for after in free if is_match(old[place], new[after])), None)
            ) is not None:
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


def _match_moved(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    """Yield equal checks with different ids, if pairing them leaves fewer edits than pairing by id.

    Else yield only those whose ids the other side lacks. A check that keeps its id was then edited
    in place, even if it now says what another check said before.
    """
    old, new = ({check.id for check in side if check.has_id} for side in (left, right))
    alone = [[check for check in side if check.id not in old & new] for side in (left, right)]
    moved, renamed = list(_match_equal(left, right)), list(_match_equal(*alone))
    is_moved_shorter = _count_unpaired(left, right, moved) < _count_unpaired(left, right, renamed)
    yield from moved if is_moved_shorter else renamed


def _count_unpaired(
    left: list[CheckState], right: list[CheckState], pairs: list[tuple[CheckState, CheckState]]
) -> int:
    """Return how many ids are left if these checks pair; each needs at least one edit."""
    old, new = {check.index for check, _ in pairs}, {other.index for _, other in pairs}
    rest = {check.id for check in left if check.index not in old}
    return len(rest | {check.id for check in right if check.index not in new})


def _match_equal(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    # Comparing values is faster than canonical JSON, because most differences are found early. With
    # many checks, comparing every pair would be slower.
    if len(left) * len(right) > COMPARED.near_pairs:
        yield from _match_by_key(make_canonical_demand, left, right)
        return
    free = list(right)
    for check in left:
        found = next(
            (other for other in free if is_same(list_demand(check), list_demand(other))), None
        )
        if found:
            free.remove(found)
            yield check, found


def _match_by_key(key: CheckKey, left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    free: dict[str, list[CheckState]] = {}
    for check in reversed(right):
        if (name := key(check)) is not None:
            free.setdefault(name, []).append(check)
    for check in left:
        if (name := key(check)) is not None and free.get(name):
            yield check, free[name].pop()


def _key_by_index(check: CheckState) -> str | None:
    # Without an id, a check of another kind in the same place is the same check with another kind.
    return None if check.has_id else str(check.index)


def _rank_near_pairs(
    left: list[CheckState], right: list[CheckState]
) -> Iterator[tuple[float, bool, int, int]]:
    """Yield a sort key for each pair of checks with similar words; the most similar sorts first."""
    for check, other in product(left, right):
        if check.kind == other.kind and (likeness := _compare_words(check, other)) >= NEAR_WORDS:
            yield -likeness, check.id != other.id, check.index, other.index


def _list_judged(checks: list[CheckState]) -> list[CheckState]:
    return [check for check in checks if KINDS[check.kind].asks_judges(check.params)]


def _match_nearest(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    """Yield checks that ask judges nearly the same, the most similar first; in a tie, by id."""
    judged = [_list_judged(side) for side in (left, right)]
    if len(judged[0]) * len(judged[1]) > COMPARED.near_pairs:
        return
    near = sorted(_rank_near_pairs(*judged))
    before, after = ({check.index: check for check in side} for side in judged)
    for _, _, old, new in near:
        if old in before and new in after:
            yield before.pop(old), after.pop(new)


def _compare_words(check: CheckState, other: CheckState) -> float:
    from difflib import SequenceMatcher  # checks are seldom paired by their words

    old, new = ([*_list_words(check.params)], [*_list_words(other.params)])
    return SequenceMatcher(None, old, new, autojunk=False).ratio() if old and new else 0


def _list_words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.split()
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _list_words(item)


# The most certain come first: checks that demand the same are the same check, and it was renamed if
# its id differs.
_STAGES: tuple[PairingStage, ...] = (
    _match_unchanged,
    _match_moved,
    _match_nearest,
    *(partial(_match_by_key, key) for key in (attrgetter("id"), _key_by_index)),
)
