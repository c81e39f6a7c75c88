"""Finds which check of one rubric is which of the other: by id, else by equal content, which is a rename."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from evalstore.diff.state import CheckState, RubricState
from evalstore.documents import canonical

Key = Callable[[CheckState], str | None]


def pair(old: RubricState, new: RubricState) -> RubricState:
    """Return `new` with the tokens of `old` on the checks that are the same."""
    left, right = list(old.checks), list(new.checks)
    tokens: dict[int, str] = {}
    for key in _KEYS:
        found = {after.index: before.token for before, after in _matches(left, right, key)}
        left = [check for check in left if check.token not in set(found.values())]
        right = [check for check in right if check.index not in found]
        tokens |= found
    checks = tuple(replace(check, token=tokens.get(check.index, f"n{check.index}")) for check in new.checks)
    return replace(new, checks=checks)


def content(check: CheckState) -> str:
    """Return what a check demands, without its name, weight and notes, as one text."""
    return canonical([check.kind, dict(check.params), str(check.threshold), check.negate])


def _matches(left: list[CheckState], right: list[CheckState], key: Key) -> Iterator[tuple[CheckState, CheckState]]:
    free: dict[str, list[CheckState]] = {}
    for check in reversed(right):
        if (name := key(check)) is not None:
            free.setdefault(name, []).append(check)
    for check in left:
        if (name := key(check)) is not None and free.get(name):
            yield check, free[name].pop()


def _unmoved(check: CheckState) -> str:
    return f"{check.id} {content(check)}"


def _unnamed(check: CheckState) -> str | None:
    # Ids that come from the order shift when a check is put in between; then the content says who is who.
    return None if check.named else content(check)


def _namesake(check: CheckState) -> str:
    return check.id


def _seat(check: CheckState) -> str | None:
    # Without an id, a check of another kind in the same place is the same check with another kind.
    return None if check.named else str(check.index)


# The surest first; a check that only its content identifies was renamed.
_KEYS: tuple[Key, ...] = (_unmoved, _unnamed, _namesake, content, _seat)
