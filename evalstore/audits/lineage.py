"""Which check of one version is which of the next: a check keeps its first name through renames; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from evalstore.documents import canonical
from evalstore.model import Check, Rubric, is_cosmetic

# A check's id in one version -> its name along the way.
Names = Mapping[str, str]
OWN = frozenset({"id", "threshold", "negate"})  # what a check holds besides its parameters


def names_along(versions: Sequence[Rubric]) -> Iterator[Names]:
    """Yield for each version its checks' ids as the names that they keep along the way."""
    before: Names = {check.id: check.id for check in versions[0].checks}
    yield before
    for old, new in pairwise(versions):
        now = {after: before[earlier] for earlier, after in _match_checks(old.checks, new.checks)}
        for check in new.checks:
            if check.id not in now:
                now[check.id] = _make_fresh_name(check.id, {*before.values(), *now.values()})
        yield now
        before = now


def content_of(check: Check) -> str:
    """Return what a check demands as one text, whatever its id, title and layout."""
    params = {key: value for key, value in check.params.items() if key not in OWN and not is_cosmetic(key)}
    return canonical([check.kind, params, str(check.threshold), check.negate])


def _match_checks(old: Sequence[Check], new: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the ids of the checks that are the same in both; ids that come from the order say less than the content."""
    before, after = list(old), list(new)
    for alike in _MATCHERS:
        for check in tuple(before):
            if (twin := next((other for other in after if alike(check, other)), None)) is not None:
                before.remove(check)
                after.remove(twin)
                yield check.id, twin.id


def _has_equal_content(old: Check, new: Check) -> bool:
    return content_of(old) == content_of(new)


def _has_same_id(old: Check, new: Check) -> bool:
    return old.id == new.id


_MATCHERS: tuple[Callable[[Check, Check], bool], ...] = (
    lambda old, new: _has_same_id(old, new) and _has_equal_content(old, new),
    lambda old, new: "id" not in old.params and "id" not in new.params and _has_equal_content(old, new),
    _has_same_id,
    _has_equal_content,
)


def _make_fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
