"""Finds the keys that differ between two mappings; those without a rule are metadata or extensions."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.plain_data import is_same
from evalstore.documents import Pointer
from evalstore.model import is_cosmetic


def find_key_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (key, old value, new value) for every key that differs; None stands for an absent key."""
    for key in dict.fromkeys((*old, *new)):
        if (key in old) != (key in new) or not is_same(old.get(key), new.get(key)):
            yield key, old.get(key), new.get(key)


def find_extra_key_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    at: tuple[Pointer, Pointer] = ((), ()),
    known: Container[str] = (),
) -> Iterator[Change]:
    """Yield the changes of keys outside `known`: cosmetic ones as metadata, the others as extensions."""
    for key, before, after in find_key_changes(old, new):
        if key not in known:
            rule = "metadata-changed" if is_cosmetic(key) else "extension-field-changed"
            old_pointer, new_pointer = (*at[0], key) if key in old else None, (*at[1], key) if key in new else None
            yield Change(rule, before, after, old_pointer, new_pointer, name=key)
