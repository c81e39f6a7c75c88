"""Changes of plain keys: notes for people, extensions, and everything that no rule knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.plain import same
from evalstore.documents import Pointer
from evalstore.model import is_cosmetic

ABSENT: Any = None


def key_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (key, old value, new value) for every key that differs; None stands for an absent key."""
    for key in dict.fromkeys((*old, *new)):
        if (key in old) != (key in new) or not same(old.get(key), new.get(key)):
            yield key, old.get(key, ABSENT), new.get(key, ABSENT)


def loose_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], *, at: tuple[Pointer, Pointer], known: Iterable[str], rule: str
) -> Iterator[Change]:
    """Yield the changes of keys outside `known`: cosmetic ones as metadata, the others as `rule`."""
    skipped = frozenset(known)
    for key, before, after in key_changes(old, new):
        if key not in skipped:
            yield Change(
                "metadata-changed" if is_cosmetic(key) else rule,
                before,
                after,
                (*at[0], key) if key in old else None,
                (*at[1], key) if key in new else None,
                name=key,
            )
