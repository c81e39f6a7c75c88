"""Merges the texts of an artifact.

Each part is as the side that changed it has it, and the comments are those of both.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalstore.documents import Document
from evalstore.documents.regions import (
    Region,
    RegionEntry,
    RegionPieces,
    cut_region,
    get_region,
    join_pieces,
)
from evalstore.migration.merging.part_merge import PartNode, merge_order
from evalstore.store.repository.text_merge import merge_texts


class TextClashError(Exception):
    """Both sides wrote something different in one place, such as a comment each after one value."""


class _TextPart(NamedTuple):
    """A part of one side: its text, and its value with labels; without a node it is not a part."""

    region: Region
    node: PartNode | None

    @property
    def text(self) -> str:
        return self.region.text

    @property
    def children(self) -> Mapping[str, PartNode] | None:
        """Its own parts; None if it is a whole, of which only the text is in pieces."""
        return self.node.children if self.node else None


class _CutPart(NamedTuple):
    """A part whose text is in pieces."""

    part: _TextPart
    pieces: RegionPieces

    def list_entries(self) -> dict[str, RegionEntry]:
        """Return the pieces of its text by the label of the part."""
        names = [str(entry.name) for entry in self.pieces.entries]
        if self.part.node and self.part.node.is_list:
            names = list(self.part.children or {})
        return dict(zip(names, self.pieces.entries, strict=True))

    def get_part(self, label: str, entry: RegionEntry) -> _TextPart:
        """Return one of its parts."""
        return _TextPart(entry.value, (self.part.children or {}).get(label))


_Sides = tuple[_TextPart | None, _TextPart, _TextPart]
_CutSides = tuple[_CutPart | None, _CutPart, _CutPart]


def merge_regions(
    documents: Sequence[Document], nodes: Sequence[PartNode], merged: PartNode
) -> str:
    """Return the text of `merged`, made from a base and both sides. Raises `TextClashError`.

    The caller checks that it says what it should and has every comment: a layout can defeat this.
    """
    base, ours, theirs = (
        _TextPart(get_region(one), node) for one, node in zip(documents, nodes, strict=True)
    )
    return _merge_value(merged, (base, ours, theirs))


def _merge_value(merged: PartNode | None, sides: _Sides) -> str:
    base, ours, theirs = sides
    if ours.text == theirs.text or (base and base.text == theirs.text):
        return ours.text
    if base and base.text == ours.text:
        return theirs.text
    if cut := _cut_alike(sides):
        return _merge_parts(merged.children if merged else None, cut)
    return _merge_whole(merged, sides)


def _cut_alike(sides: _Sides) -> _CutSides | None:
    """Return the sides in pieces; None if they are not cut alike and cannot be joined.

    The items of a list that is a whole are identified only by their places.
    """
    cut = [_CutPart(side, pieces) for side in sides if side and (pieces := cut_region(side.region))]
    if (
        len(cut) < sum(side is not None for side in sides)
        or len({one.pieces.style for one in cut}) > 1
    ):
        return None
    with_parts = sum(one.part.children is not None for one in cut)
    names = [[entry.name for entry in one.pieces.entries] for one in cut]
    has_places = any(isinstance(name, int) for one in names for name in one)
    if with_parts not in {0, len(cut)} or (
        not with_parts and has_places and len({*map(len, names)}) > 1
    ):
        return None
    *base, ours, theirs = cut
    return (base[0] if base else None), ours, theirs


def _merge_whole(merged: PartNode | None, sides: _Sides) -> str:
    """Merge the text of one value: by its lines, or as the side has it whose value it is."""
    base, ours, theirs = sides
    if base and any("\n" in side.text for side in (base, ours, theirs)):
        text = merge_texts(base.text, ours.text, theirs.text)
        if text is not None:
            return text
    for side in (ours, theirs):
        if merged and side.node and merged.build_value() == side.node.build_value():
            return side.text
    raise TextClashError


def _merge_parts(children: Mapping[str, PartNode] | None, sides: _CutSides) -> str:
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
    head = _merge_between(*(side.pieces.head if side else None for side in sides))
    tail = _merge_between(*(side.pieces.tail if side else None for side in sides))
    return join_pieces(sides[1].pieces.style, head, texts, tail)


def _is_part(label: str, sides: _CutSides) -> bool:
    """Whether a side has a part with that label; the origin of an item is not a part."""
    return any(side and label in (side.part.children or {}) for side in sides)


def _is_removed(
    base: RegionEntry | None, ours: RegionEntry | None, theirs: RegionEntry | None
) -> bool:
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
    sides: _CutSides,
) -> str:
    base, ours, theirs = entries
    if ours is None or theirs is None:
        return "".join(entry.text for entry in (ours, theirs) if entry)
    above = _merge_between(base.above if base else "", ours.above, theirs.above)
    key = _merge_between(base.key if base else None, ours.key, theirs.key)
    rest = _merge_rest(base, ours, theirs)
    old = sides[0].get_part(label, base) if sides[0] and base else None
    value = _merge_value(
        merged, (old, sides[1].get_part(label, ours), sides[2].get_part(label, theirs))
    )
    return f"{above}{key}{value}{rest}"


def _merge_rest(*entries: RegionEntry | None) -> str:
    """Merge what follows a value: the end of its line, then the lines below."""
    pairs = [("", "") if entry is None else _split_rest(entry) for entry in entries]
    lines, below = zip(*pairs, strict=True)
    return _merge_between(*lines) + _merge_between(*below)


def _split_rest(entry: RegionEntry) -> tuple[str, str]:
    if not entry.value.text or entry.value.text.endswith("\n"):
        return "", entry.rest
    line, end, below = entry.rest.partition("\n")
    return line + end, below


def _merge_between(base: str | None, ours: str | None, theirs: str | None) -> str:
    """Merge comments, keys and white space; lines that both added stay, ours first."""
    base, ours, theirs = base or "", ours or "", theirs or ""
    if theirs in {base, ours}:
        return ours
    if ours == base or not ours.split():  # white space may come from either side
        return theirs
    if not theirs.split():
        return ours
    if all(not text or text.endswith("\n") for text in (base, ours, theirs)):
        merged = _add_lines(*(text.splitlines(keepends=True) for text in (base, ours, theirs)))
        if merged is not None:
            return "".join(merged)
    raise TextClashError


def _add_lines(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Return a base with the lines that each side added; None if one changed or removed some."""
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
    """Return the added lines by the line of the base that follows them.

    Returns None if other lines differ.
    """
    added: dict[int, list[str]] = {}
    for tag, start, _, new, new_stop in difflib.SequenceMatcher(
        None, base, side, autojunk=False
    ).get_opcodes():
        if tag == "insert":
            added[start] = side[new:new_stop]
        elif tag != "equal":
            return None
    return added
