"""Merges two edits of an artifact part by part: a key, or in a list whose items have ids, an item.

Of what both sides began from only digests are needed, so that the file itself can tell them where no commit does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

ArtifactPlace = tuple[str, ...]
DigestPart = Callable[[Any], str]
_SOURCE = "x_source"


def list_parts(content: Mapping[str, Any]) -> dict[ArtifactPlace, Any]:
    """Return the parts of an artifact by place, without any `x_source`, which no person edits."""
    parts: dict[ArtifactPlace, Any] = {}
    for key, value in content.items():
        if items := _index_items(value):
            parts |= {(key, id_): _drop_source(item) for id_, item in items.items()}
        elif key != _SOURCE:
            parts[key,] = value
    return parts


def merge_parts(
    base: Mapping[ArtifactPlace, str], ours: Mapping[str, Any], theirs: Mapping[str, Any], digest: DigestPart
) -> dict[str, Any] | None:
    """Return `ours` with what differs between `base` and `theirs`; None where both changed one part.

    `base` has the digests of the parts that both sides began from.
    """
    own, new = list_parts(ours), list_parts(theirs)
    parts: dict[ArtifactPlace, Any] = {}
    for place in _merge_order(list(base), list(own), list(new)):
        before = base.get(place, "")
        here, there = (digest(side[place]) if place in side else "" for side in (own, new))
        if here != there and before not in {here, there}:
            return None
        side = new if here == before else own
        parts |= {place: side[place]} if place in side else {}
    return _join_parts(parts, [ours, theirs])


def _join_parts(parts: Mapping[ArtifactPlace, Any], sides: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the artifact of some parts; where an item is from is what the last side says that has it.

    None where a key is a whole for one side and has items for the other.
    """
    items = [(place, item) for side in sides for place, item in _list_items(side)]
    sources = {place: {_SOURCE: item[_SOURCE]} for place, item in items if _SOURCE in item}
    joined = {place[0]: part for place, part in parts.items() if len(place) == 1}
    if any(len(place) > 1 and place[0] in joined for place in parts):
        return None
    lists: dict[str, list[Any]] = {}
    for place, part in parts.items():
        if len(place) > 1:
            lists.setdefault(place[0], []).append(part | sources.get(place, {}))
    return {key: lists.get(key, joined.get(key)) for key in dict.fromkeys(place[0] for place in parts)}


def _list_items(content: Mapping[str, Any]) -> Iterator[tuple[ArtifactPlace, Mapping[str, Any]]]:
    for key, value in content.items():
        yield from (((key, id_), item) for id_, item in _index_items(value).items())


def _index_items(value: Any) -> dict[str, Mapping[str, Any]]:
    """Return the items of a list by id, if all have one of their own; nothing of any other value."""
    items = value if isinstance(value, list) else []
    found: dict[str, Mapping[str, Any]] = {
        item["id"]: item for item in items if isinstance(item, dict) and isinstance(item.get("id"), str)
    }
    return found if len(found) == len(items) else {}


def _drop_source(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != _SOURCE}


def _merge_order(
    base: Sequence[ArtifactPlace], ours: Sequence[ArtifactPlace], theirs: Sequence[ArtifactPlace]
) -> list[ArtifactPlace]:
    """Return all places, in the order of the side that moved some; what the other added follows what it followed."""
    first, second = (ours, theirs) if _was_reordered(base, ours) else (theirs, ours)
    known = {*first}
    followers: dict[ArtifactPlace | None, list[ArtifactPlace]] = {}
    last: ArtifactPlace | None = None
    for place in second:
        if place in known:
            last = place
        else:
            followers.setdefault(last, []).append(place)
    return [*followers.get(None, ()), *(one for place in first for one in (place, *followers.get(place, ())))]


def _was_reordered(base: Sequence[ArtifactPlace], side: Sequence[ArtifactPlace]) -> bool:
    there, before = {*side}, {*base}
    return [place for place in base if place in there] != [place for place in side if place in before]
