"""Merges two versions of an artifact by parts: keys, items by id, lists of plain values as sets.

The base, with which both began, is a tree of digests: parts are only ever compared with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.model.rubric import list_check_ids

DigestPart = Callable[[Any], str]
_SOURCE = "x_source"
_CHECKS = ("checks",)
# Mappings of settings each of which means something by itself, wherever they are. All others are
# wholes: an answer, a JSON Schema, the record of a measurement.
_BY_KEY = frozenset({"scoring", "weights", "model", "extra", "variables", "defaults", "metadata"})
_IN_ORDER = frozenset({"level_names", "level_scores"})  # lists whose order has a meaning
_SET_MARK = "="  # before the digest of an item in a set


@dataclass(frozen=True, slots=True)
class PartNode:
    """A part of an artifact: its digest, and the parts within it by label, None for a whole.

    `value` is that of a whole, `source` the `x_source` of an item. A base has neither; what an
    older release noted has no digest for a list.
    """

    digest: str | None
    children: Mapping[str, PartNode] | None = None
    value: Any = None
    source: Any = None
    is_list: bool = False

    def is_as(self, base: PartNode | None) -> bool:
        """Whether it equals what the base has."""
        if base is None:
            return False
        if base.digest is not None or self.children is None or base.children is None:
            return self.digest == base.digest
        own = {label: node.digest for label, node in self.children.items()}
        return own == {label: node.digest for label, node in base.children.items()}

    def build_value(self) -> Any:
        """Return the value of a part."""
        if self.children is None:
            return self.value
        values = {label: child.build_value() for label, child in self.children.items()}
        if self.is_list:
            return list(values.values())
        return values | ({} if self.source is None else {_SOURCE: self.source})


def build_parts(
    content: Mapping[str, Any], digest: DigestPart, base: PartNode | None = None
) -> PartNode:
    """Return the parts of an artifact without any `x_source`, which people do not edit.

    Checks without an id are matched by their content in `base`, then by their kind and place there.
    """
    bases = (base.children if base else None) or {}
    own = {key: value for key, value in content.items() if key != _SOURCE}
    parts = {key: _build((key,), value, digest, bases.get(key)) for key, value in own.items()}
    return PartNode(None, parts)


def _remove_source(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {key: part for key, part in item.items() if key != _SOURCE}


def _build(
    place: tuple[str, ...], value: Any, digest: DigestPart, base: PartNode | None = None
) -> PartNode:
    if isinstance(value, list):
        items = list(map(_remove_source, value))
        labels = _label_items(place, items, digest, base)
        if labels is not None:
            nodes: dict[str, PartNode] = {}
            for label, item, plain in zip(labels, value, items, strict=True):
                nodes[label] = _build_item((*place, label), item, plain, digest)
            return PartNode(digest(items), nodes, is_list=True)
    elif isinstance(value, dict) and place[-1] in _BY_KEY:
        nodes = {key: _build((*place, key), item, digest) for key, item in value.items()}
        return PartNode(digest(value), nodes)
    # A reference is compared by its name alone, which its key shows.
    return PartNode(digest(value if len(place) == 1 else {place[-1]: value}), value=value)


def _build_item(place: tuple[str, ...], item: Any, plain: Any, digest: DigestPart) -> PartNode:
    if not isinstance(item, dict):
        return PartNode(digest(item), value=item)
    parts = {key: _build((*place, key), value, digest) for key, value in plain.items()}
    return PartNode(digest(plain), parts, source=item.get(_SOURCE))


def _label_items(
    place: tuple[str, ...], items: Sequence[Any], digest: DigestPart, base: PartNode | None
) -> list[str] | None:
    """Return the labels of a list's items, or None if the list is a whole.

    Labels are ids, or digests of plain values.
    """
    if len(place) == 1 and all(isinstance(item, dict) for item in items):
        ids = [item.get("id") for item in items]
        if place == _CHECKS and all(isinstance(item.get("kind"), str) for item in items):
            ids = _label_checks(items, digest, base)
        texts = [id_ for id_ in ids if isinstance(id_, str)]
        return texts if len(set(texts)) == len(items) else None
    if place[-1] in _IN_ORDER or any(isinstance(item, dict | list) for item in items):
        return None
    counts: Counter[str] = Counter()
    labels = []
    for item in items:
        label = f"{_SET_MARK}{digest(item)}"
        counts[label] += 1
        labels.append(label if counts[label] == 1 else f"{label}#{counts[label]}")
    return labels


def _label_checks(checks: Sequence[Any], digest: DigestPart, base: PartNode | None) -> list[Any]:
    if base is None or base.children is None:
        return list_check_ids(list(checks))
    ids = [check.get("id") for check in checks]
    free = {label: node.digest for label, node in base.children.items() if label not in ids}
    for number, check in enumerate(checks):
        if ids[number] is None and (
            same := next((one for one, text in free.items() if text == digest(check)), None)
        ):
            ids[number] = same
            del free[same]
    for number, check in enumerate(checks):
        if ids[number] is None:
            implied = re.compile(rf"{re.escape(check['kind'])}(?:_\d+)?")
            # A check unlike any in the base is identified by its content alone.
            label = next(filter(implied.fullmatch, free), f"{check['kind']} {digest(check)}")
            ids[number] = label
            free.pop(label, None)
    return ids


def merge_parts(
    base: PartNode, ours: PartNode, theirs: PartNode
) -> tuple[PartNode, list[tuple[str, ...]]]:
    """Return `ours` with what differs between `base` and `theirs`.

    The places that both changed come with it.
    """
    clashes: list[tuple[str, ...]] = []
    return _merge_children((), base.children or {}, ours, theirs, clashes), clashes


def _merge(
    place: tuple[str, ...],
    base: PartNode | None,
    sides: tuple[PartNode | None, PartNode | None],
    clashes: list[tuple[str, ...]],
) -> PartNode | None:
    ours, theirs = sides
    are_lists = bool(ours and theirs and ours.is_list and theirs.is_list)
    children: Mapping[str, PartNode] | None = {} if are_lists else None
    if base:
        children = base.children
    has_parts = ours and theirs and ours.children is not None and theirs.children is not None
    # The items of a list state their origin as the source has it now, whichever side they come
    # from.
    if ours and theirs and has_parts and children is not None and are_lists:
        return _merge_children(place, children, ours, theirs, clashes)
    same_here, same_there = _is_same(ours, base), _is_same(theirs, base)
    if same_here:
        return theirs
    if same_there or (ours and theirs and ours.digest == theirs.digest):
        if ours and theirs and theirs.source is not None:
            return replace(ours, source=theirs.source)
        return ours
    if ours and theirs and has_parts and children is not None:
        return _merge_children(place, children, ours, theirs, clashes)
    clashes.append(place)
    return ours


def _is_same(side: PartNode | None, base: PartNode | None) -> bool:
    return base is None if side is None else side.is_as(base)


def _merge_children(
    place: tuple[str, ...],
    base: Mapping[str, PartNode],
    ours: PartNode,
    theirs: PartNode,
    clashes: list[tuple[str, ...]],
) -> PartNode:
    here, there = ours.children or {}, theirs.children or {}
    merged: dict[str, PartNode] = {}
    for label in merge_order(list(base), list(here), list(there)):
        part = _merge(
            (*place, label), base.get(label), (here.get(label), there.get(label)), clashes
        )
        if part is not None:
            merged[label] = part
    source = theirs.source if theirs.source is not None else ours.source
    return PartNode(None, merged, source=source, is_list=ours.is_list)


def merge_order(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return all labels in the order of the side that moved some.

    Additions follow what they followed.
    """
    there, before = {*ours}, {*base}
    was_reordered = [label for label in base if label in there] != [
        label for label in ours if label in before
    ]
    first, second = (ours, theirs) if was_reordered else (theirs, ours)
    known = {*first}
    followers: dict[str | None, list[str]] = {}
    last: str | None = None
    for label in second:
        if label in known:
            last = label
        else:
            followers.setdefault(last, []).append(label)
    return [
        *followers.get(None, ()),
        *(one for label in first for one in (label, *followers.get(label, ()))),
    ]


def note_tree(node: PartNode, *, deep: bool) -> Any:
    """Return a part's digests as JSON: a text for a whole, else by label, "" for an item's own."""
    if node.children is None or (not deep and not node.is_list and node.digest is not None):
        return node.digest
    notes = {label: note_tree(child, deep=deep) for label, child in node.children.items()}
    return notes if node.is_list or node.digest is None else {"": node.digest, **notes}


def read_tree(notes: Any, *, is_list: bool = False) -> PartNode | None:
    """Return the part that `note_tree` noted; None for anything else."""
    if isinstance(notes, str):
        return PartNode(notes)
    if not isinstance(notes, dict):
        return None
    own = notes.get("")
    children = {label: read_tree(item) for label, item in notes.items() if label}
    known = {label: child for label, child in children.items() if child is not None}
    return PartNode(
        own if isinstance(own, str) else None, known, is_list=is_list or "" not in notes
    )


def count_notes(notes: Any) -> int:
    """Return how many digests some notes have."""
    return sum(map(count_notes, notes.values())) if isinstance(notes, dict) else 1
