"""Turns values into plain data with exact numbers, compares such data, and lists what differs within two trees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import islice, product
from operator import attrgetter
from typing import Any, TypeVar

from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import COMPARED
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import Pointer, format_json_pointer, write_canonical
from evalstore.documents.document import DEPTH_LIMIT, DIGIT_LIMIT
from evalstore.errors import LoadError
from evalstore.text import SHORT_EXCERPT, make_excerpt

_BITS = int(DIGIT_LIMIT * math.log2(10))
_SURROGATE = re.compile("[\ud800-\udfff]")


def make_plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as dicts, lists and exact numbers; raises `LoadError` for what no file can hold."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise LoadError("a string contains half of a surrogate pair")
        return str(value)
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise LoadError(f"a number has more than {DIGIT_LIMIT} digits")
    if value is None or isinstance(value, int):
        return value
    if depth > DEPTH_LIMIT:
        raise LoadError(f"the mapping is nested deeper than {DEPTH_LIMIT} levels")
    if isinstance(value, Mapping):
        if unnamed := [key for key in value if not isinstance(key, str)]:
            raise LoadError(f"the key {unnamed[0]!r} is not text")
        return {make_plain(key): make_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item, depth + 1) for item in value]
    # A float is read as its shortest decimal, the one that somebody wrote.
    if isinstance(value, float | Decimal):
        number = Decimal(str(value))
        if not number.is_finite() or abs(number.adjusted()) > DIGIT_LIMIT:
            raise LoadError(f"{value} is not a finite number")
        return number
    raise LoadError(f"an artifact cannot contain a value of type {type(value).__name__}")


def is_same(old: Any, new: Any) -> bool:
    """Whether two plain values are equal: 1.0 is 1, but True is not; stops at the first difference."""
    if old is new:
        return True
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            is_same(item, new[key]) for key, item in old.items()
        )
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)


def is_short(value: Any, limit: int) -> bool:
    """Whether a plain value has at most `limit` characters and parts; a longer one is not read to its end."""
    parts = [value]
    while parts and limit >= 0:
        part = parts.pop()
        limit -= 1 + (len(part) if isinstance(part, str | dict | list) else 0)
        if limit >= 0 and isinstance(part, dict | list):
            parts += [*part, *part.values()] if isinstance(part, dict) else part
    return limit >= 0


def describe_value(value: Any) -> str:
    """Return a value as text for a sentence: shortened, and safe to print."""
    if value is None:
        return "unset"
    if isinstance(value, dict):
        return make_excerpt(
            ", ".join(
                f"{key} {describe_value(item)}"
                for key, item in islice(value.items(), SHORT_EXCERPT)
            )
            or "{}",
            SHORT_EXCERPT,
        )
    if isinstance(value, list):
        value = value[:SHORT_EXCERPT]
    return make_excerpt(value if isinstance(value, str) else write_canonical(value), SHORT_EXCERPT)


def list_differences(old: Any, new: Any) -> str:
    """Return the pointers that differ within two plain values, as text; for changes that no rule classifies."""
    if not is_short([old, new], COMPARED.deepdiff_parts):
        return "too much to list"
    # Sorted, because deepdiff finds them in sets, whose order differs from process to process.
    found = [
        format_json_pointer(path) or "the whole value"
        for path in sorted(set(_find_differences(old, new)))
    ]
    more = (
        f" and {len(found) - COMPARED.listed_paths} more"
        if len(found) > COMPARED.listed_paths
        else ""
    )
    return ", ".join(found[: COMPARED.listed_paths]) + more


def _find_differences(old: Any, new: Any) -> Iterator[Pointer]:
    from deepdiff import DeepDiff

    # Never `ignore_order`: nested lists make it exponential.
    tree = DeepDiff(
        _canonicalise_leaves(old), _canonicalise_leaves(new), view="tree", verbose_level=0
    )
    return (tuple(level.path(output_format="list")) for levels in tree.values() for level in levels)


def _canonicalise_leaves(value: Any) -> Any:
    # deepdiff takes 1 for True, and 1.0 for another type than 1; their canonical texts differ as
    # they should.
    if isinstance(value, dict):
        return {key: _canonicalise_leaves(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonicalise_leaves(item) for item in value]
    return write_canonical(value)


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
    checks = tuple(
        replace(check, token=tokens.get(check.index, f"n{check.index}")) for check in new.checks
    )
    return replace(new, checks=checks)


def pair_items(
    old: Sequence[Item], new: Sequence[Item], *stages: Callable[[Item, Item], bool]
) -> dict[int, int]:
    """Return new indices of items by old ones; each stage is a criterion for two items to pair, the surest first."""
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


def _match_equal(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    # Two that differ do so early, mostly; as canonical JSON all of both would be written.
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


def _match_nearest(left: list[CheckState], right: list[CheckState]) -> CheckPairs:
    """Yield checks that ask judges nearly the same, the nearest first; of two as near, those of one id."""
    judged = [
        [check for check in side if KINDS[check.kind].asks_judges(check.params)]
        for side in (left, right)
    ]
    if len(judged[0]) * len(judged[1]) > COMPARED.near_pairs:
        return
    near = sorted(
        (-likeness, check.id != other.id, check.index, other.index)
        for check, other in product(*judged)
        if check.kind == other.kind and (likeness := _compare_words(check, other)) >= _NEAR
    )
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


# The share of their words that two checks have in common when one is the other, reworded.
_NEAR = 0.6
# The surest first: what says the same is the same check, whatever its id, and was renamed where
# that differs.
_STAGES: tuple[PairingStage, ...] = (
    _match_unchanged,
    _match_equal,
    _match_nearest,
    *(partial(_match_by_key, key) for key in (attrgetter("id"), _key_by_index)),
)
