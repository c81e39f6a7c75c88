"""Merges the texts of an artifact by its parts: each part as the side wrote it that changed it, comments of both."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalstore.documents import Document
from evalstore.documents.regions import Region, RegionEntry, cut_regions, join_region
from evalstore.migration.merging.part_merge import PartNode, merge_order
from evalstore.store.scratch import merge_texts


class TextClashError(Exception):
    """Both sides wrote something else in one place of the text, as a comment each behind one value."""


class _TextPart(NamedTuple):
    """A part of one side: its text, and its value with the labels of its parts; no node for what is no part."""

    region: Region
    node: PartNode | None

    @property
    def text(self) -> str:
        return self.region.text

    @property
    def children(self) -> Mapping[str, PartNode] | None:
        """Its own parts; None where it is a whole, of which only the text is in pieces."""
        return self.node.children if self.node else None

    def list_entries(self) -> dict[str, RegionEntry]:
        """Return the pieces of its text by the label of the part."""
        names = [str(entry.name) for entry in self.region.entries]
        if self.node and self.node.is_list:
            names = list(self.children or {})
        return dict(zip(names, self.region.entries, strict=True))

    def get_part(self, label: str, entry: RegionEntry) -> _TextPart:
        """Return one of its parts."""
        return _TextPart(entry.value, (self.children or {}).get(label))


_Sides = tuple[_TextPart | None, _TextPart, _TextPart]


def merge_regions(documents: Sequence[Document], nodes: Sequence[PartNode], merged: PartNode) -> str:
    """Return the text of `merged`, made of the texts of a base and both sides. Raises `TextClashError`.

    That it says what it should, and has every comment, is for the caller to check: a layout can defeat this.
    """
    base, ours, theirs = (_TextPart(cut_regions(one), node) for one, node in zip(documents, nodes, strict=True))
    return _merge_value(merged, (base, ours, theirs))


def _merge_value(merged: PartNode | None, sides: _Sides) -> str:
    base, ours, theirs = sides
    if ours.text == theirs.text or (base and base.text == theirs.text):
        return ours.text
    if base and base.text == ours.text:
        return theirs.text
    if _can_be_joined([side for side in sides if side]):
        return _merge_parts(merged.children if merged else None, sides)
    return _merge_whole(merged, sides)


def _can_be_joined(sides: Sequence[_TextPart]) -> bool:
    """Whether all sides are cut alike; the items of a list that is a whole are known by place alone."""
    first = sides[0].region
    if not first.style or any(side.region.style != first.style for side in sides):
        return False
    if any(side.children is not None for side in sides):
        return all(side.children is not None for side in sides)
    counts = {len(side.region.entries) for side in sides}
    has_keys = all(isinstance(entry.name, str) for entry in first.entries)
    return has_keys or len(counts) == 1


def _merge_whole(merged: PartNode | None, sides: _Sides) -> str:
    """Merge the text of what is one value: by its lines, or as the side has it whose value it is."""
    base, ours, theirs = sides
    if base and any("\n" in side.text for side in (base, ours, theirs)):
        text = merge_texts(base.text, ours.text, theirs.text)
        if text is not None:
            return text
    for side in (ours, theirs):
        if merged and side.node and merged.build_value() == side.node.build_value():
            return side.text
    raise TextClashError


def _merge_parts(children: Mapping[str, PartNode] | None, sides: _Sides) -> str:
    base, ours, theirs = ({} if side is None else side.list_entries() for side in sides)
    texts = []
    for label in merge_order(list(base), list(ours), list(theirs)):
        entries = base.get(label), ours.get(label), theirs.get(label)
        if children is not None and _is_part(label, sides):
            if label not in children:
                continue  # a side removed it
        elif _is_removed(*entries):
            continue
        texts.append(_merge_entry(label, (children or {}).get(label), entries, sides))
    regions = [side.region if side else None for side in sides]
    head = _merge_between(*(region.head if region else None for region in regions))
    tail = _merge_between(*(region.tail if region else None for region in regions))
    return join_region(head, texts, tail, sides[1].region.style)


def _is_part(label: str, sides: _Sides) -> bool:
    """Whether a side has a part of that label; where an item is from is none."""
    return any(side and label in (side.children or {}) for side in sides)


def _is_removed(base: RegionEntry | None, ours: RegionEntry | None, theirs: RegionEntry | None) -> bool:
    """Whether a side removed a key that the other left as it was."""
    if base is None or (ours and theirs):
        return False
    left = ours or theirs
    if left and left.text != base.text:
        raise TextClashError
    return True


def _merge_entry(
    label: str,
    merged: PartNode | None,
    entries: tuple[RegionEntry | None, RegionEntry | None, RegionEntry | None],
    sides: _Sides,
) -> str:
    base, ours, theirs = entries
    if ours is None or theirs is None:
        return "".join(entry.text for entry in (ours, theirs) if entry)
    above = _merge_between(base.above if base else "", ours.above, theirs.above)
    key = _merge_between(base.key if base else None, ours.key, theirs.key)
    rest = _merge_rest(base, ours, theirs)
    old = sides[0].get_part(label, base) if sides[0] and base else None
    value = _merge_value(merged, (old, sides[1].get_part(label, ours), sides[2].get_part(label, theirs)))
    return f"{above}{key}{value}{rest}"


def _merge_rest(*entries: RegionEntry | None) -> str:
    """Merge what is behind a value: the end of its line, where both may have put a comment, and the lines below."""
    pairs = [("", "") if entry is None else _split_rest(entry) for entry in entries]
    lines, below = zip(*pairs, strict=True)
    return _merge_between(*lines) + _merge_between(*below)


def _split_rest(entry: RegionEntry) -> tuple[str, str]:
    if not entry.value.text or entry.value.text.endswith("\n"):
        return "", entry.rest
    line, end, below = entry.rest.partition("\n")
    return line + end, below


def _merge_between(base: str | None, ours: str | None, theirs: str | None) -> str:
    """Merge what is around values: comments, keys and white space; lines that both added stay, ours first."""
    base, ours, theirs = base or "", ours or "", theirs or ""
    if theirs in {base, ours}:
        return ours
    if ours == base or not ours.split():  # of white space, anybody's is good
        return theirs
    if not theirs.split():
        return ours
    if all(not text or text.endswith("\n") for text in (base, ours, theirs)):
        merged = _add_lines(*(text.splitlines(keepends=True) for text in (base, ours, theirs)))
        if merged is not None:
            return "".join(merged)
    raise TextClashError


def _add_lines(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Return the lines of a base with those that each side added; None where a side changed or removed some."""
    added = [_list_added(base, side) for side in (ours, theirs)]
    if added[0] is None or added[1] is None:
        return None
    merged: list[str] = []
    for place in range(len(base) + 1):
        here, there = added[0].get(place, []), added[1].get(place, [])
        merged += here if here == there else [*here, *there]
        merged += base[place : place + 1]
    return merged


def _list_added(base: list[str], side: list[str]) -> dict[int, list[str]] | None:
    """Return the lines that a side added, by the line of the base that they are above; None where others differ."""
    added: dict[int, list[str]] = {}
    for tag, start, _, new, new_stop in difflib.SequenceMatcher(None, base, side, autojunk=False).get_opcodes():
        if tag == "insert":
            added[start] = side[new:new_stop]
        elif tag != "equal":
            return None
    return added
